#include "served.h"

#include <stdlib.h>

#include "check.h"

int is_served(const struct CallFacts* facts) { return facts->nodes > 1 && !facts->nothing && !facts->is_own; }

/* One blocking call for each plan. */
void agree_on(MPI_Comm comm) {
  const int ranks = size_of(comm);
  int* sent = allocate(sizeof(int) * (uint64_t)ranks);
  int* received = allocate(sizeof(int) * (uint64_t)ranks);
  for (int r = 0; r < ranks; ++r) sent[r] = r;
  MPI_Allreduce(sent, received, ranks, MPI_INT, MPI_SUM, comm);
  MPI_Reduce_scatter_block(sent, received, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allgather(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  free(sent);
  free(received);
}

static int is_counting;
static long counts[collective_count][mode_count];

/* 0 for calls that this libcoll does not know. */
static long count_of(enum Collective collective, enum Mode mode) {
  const long count = served_calls(name_of_call(collective, mode));
  return count < 0 ? 0 : count;
}

void begin_counting(int counted) {
  is_counting = counted;
  for (enum Collective collective = 0; counted && collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) counts[collective][mode] = count_of(collective, mode);
  }
}

void count_call(const struct CallFacts* facts, const char* what) {
  const int served = is_served(facts);
  for (enum Collective collective = 0; is_counting && collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) {
      const long count = count_of(collective, mode);
      const long more = count - counts[collective][mode];
      counts[collective][mode] = count;
      const int is_it = collective == facts->collective && mode == facts->mode;
      CHECK(more == (is_it && served), "%s: %ld calls of %s served", what, more, name_of_call(collective, mode));
    }
  }
}
