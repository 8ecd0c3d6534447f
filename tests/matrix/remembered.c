/* Calls that fall through and that each rank remembers by itself, between calls that are served: what the ranks do
 * together from time to time comes at the same call on all of them. Short sums of floating-point numbers are left to
 * MPI by the sizes alone, whatever the machine. */
#include <mpi.h>

#include "check.h"

enum { rounds = 600, sizes = 4, own_calls = 3, most = 4096 };

static void allreduce(int rank, int size, int count) {
  double values[most];
  for (int i = 0; i < count; ++i) values[i] = i + rank;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const int ranks_sum = size * (size - 1) / 2;
  for (int i = 0; i < count; ++i) CHECK(values[i] == size * i + ranks_sum, "sum %d of %d", i, count);
}

/* A rank remembers few calls. These take the places of others, on each rank of others. */
static void alone(int rank, int round) {
  for (int call = 0; call < own_calls; ++call) {
    if ((mixed((uint64_t)(rank * rounds + round) * own_calls + (uint64_t)call) & 1) == 0) continue;
    int value = call;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    CHECK(value == call, "%d alone", call);
  }
}

int CASE(remembered)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  static const int counts[sizes] = {1, 16, 100, most};
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const long before = served_calls("allreduce");
  for (int round = 0; round < rounds; ++round) {
    for (int each = 0; each < sizes; ++each) {
      allreduce(rank, size, counts[each]);
      expect_call("allreduce", 1, "remembered");
    }
    alone(rank, round);
  }
  const long served = served_calls("allreduce") - before;
  CHECK(served == rounds, "%ld calls were served, not the %d of the longest vector", served, rounds);
  return 0;
}
