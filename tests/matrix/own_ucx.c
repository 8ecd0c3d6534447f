/* A program that brings a UCX of its own: it must run as without libcoll.
 *   own_ucx served|native   what its calls are to be */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

const char* ucp_get_version_string(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(strlen(ucp_get_version_string()) > 0, "no version");
  const int ranks = size_of(MPI_COMM_WORLD);
  const int mine = rank_in(MPI_COMM_WORLD);
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", strcmp(argv[1], "served") == 0, "with a UCX of its own");
  CHECK(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
  MPI_Finalize();
  return 0;
}
