/* For conformance.F90: which calls are served is said in one place, served.c. */
#include <string.h>

#include "check.h"
#include "served.h"

static struct CallFacts facts_named(const char* name, int ranks) {
  for (enum Collective collective = 0; collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) {
      if (strcmp(name_of_call(collective, mode), name) != 0) continue;
      return (struct CallFacts){collective, mode, ranks, 0, 0}; /* a rank per node */
    }
  }
  CHECK(0, "no call is called %s", name);
}

void begin_fortran_calls(void);
void count_fortran_call(const char* name, int ranks, int is_own, int nothing);
int serves_fortran_call(const char* name, int ranks);

void begin_fortran_calls(void) { begin_counting(1); }

/* `name` as of name_of_call(). */
void count_fortran_call(const char* name, int ranks, int is_own, int nothing) {
  struct CallFacts facts = facts_named(name, ranks);
  facts.is_own = is_own;
  facts.nothing = nothing;
  count_call(&facts, name);
}

/* Whether it is not left to MPI. */
int serves_fortran_call(const char* name, int ranks) {
  const struct CallFacts facts = facts_named(name, ranks);
  return is_served(&facts);
}

/* As MPI_F_SYNC_REG, which MPICH 4.0.2 has only in mpi_f08: the compiler takes it for a change of the variable. */
void sync_registers_(void* variable) { (void)variable; }  // NOLINT(readability-identifier-naming): Fortran's
