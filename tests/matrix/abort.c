/* One rank aborts with code 42 while the others wait for it in a collective. */
#include <mpi.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "before the abort");
  if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 42);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(0, "an allreduce ended without rank 1");
}
