/* All-to-alls whose plan takes too long to make: all go to MPI, before it is given up and after. Allreduces go by a
 * plan that is there at once. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

/* Beyond the limit of LIBCOLL_PLANNING_SECONDS=1 by far. Rank 0 looks after its plan at calls 1, 2, 4, ..., 64. */
enum { count = 33, calls = 70, milliseconds_between = 50, most_seconds = 8 };

static void alltoall(int rank, int size) {
  int* sent = allocate(sizeof(int) * count * (uint64_t)size);
  int* received = allocate(sizeof(int) * count * (uint64_t)size);
  for (int i = 0; i < count * size; ++i) sent[i] = rank * 1000000 + i;
  MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
  expect_call("alltoall", 0, "slow plan");
  for (int i = 0; i < count * size; ++i) {
    CHECK(received[i] == i / count * 1000000 + rank * count + i % count, "exchanged %d", i);
  }
  free(sent);
  free(received);
}

static void allreduce(int rank, int size) {
  int value = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "slow plan");
  CHECK(value == size * (size + 1) / 2, "sum %d", value);
}

int CASE(slow_plan)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  const struct timespec pause = {0, milliseconds_between * 1000000L};
  for (int call = 0; call < calls; ++call) {
    alltoall(rank, size);
    allreduce(rank, size);
    CHECK(call > 0 || MPI_Wtime() - began < most_seconds, "the first calls waited for %g s", MPI_Wtime() - began);
    nanosleep(&pause, NULL);
  }
  return 0;
}
