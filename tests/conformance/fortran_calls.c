/* For conformance.F90: which calls are served is said in one place, served.c. */
#include <string.h>

#include "check.h"
#include "served.h"

static enum Shape shape_named(const char* name) {
  for (enum Shape shape = 0; shape < shape_count; ++shape) {
    if (strcmp(name_of_shape(shape), name) == 0) return shape;
  }
  CHECK(0, "no communicator is called %s", name);
}

static struct CallFacts facts_named(const char* name, const char* shape, int ranks) {
  for (enum Collective collective = 0; collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) {
      if (strcmp(name_of_call(collective, mode), name) != 0) continue;
      return (struct CallFacts){collective, mode, shape_named(shape), ranks, 0, 0};
    }
  }
  CHECK(0, "no call is called %s", name);
}

void begin_fortran_calls(void);
void count_fortran_call(const char* name, const char* shape, int ranks, int is_own, int nothing);
int serves_fortran_call(const char* name, const char* shape, int ranks);

void begin_fortran_calls(void) { begin_counting(1); }

/* `name` as of name_of_call(), `shape` as of name_of_shape(). */
void count_fortran_call(const char* name, const char* shape, int ranks, int is_own, int nothing) {
  struct CallFacts facts = facts_named(name, shape, ranks);
  facts.is_own = is_own;
  facts.nothing = nothing;
  count_call(&facts, name);
}

/* Whether it is not left to MPI. */
int serves_fortran_call(const char* name, const char* shape, int ranks) {
  const struct CallFacts facts = facts_named(name, shape, ranks);
  return is_served(&facts) == yes;
}
