/* A program of one MPI that loads the library of the standard's binary interface besides: libcoll serves neither.
 *   two_mpis LIBRARY */
#include <dlfcn.h>
#include <mpi.h>

#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2 && dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) != NULL, "cannot load it");
  MPI_Init(&argc, &argv);
  int one = 1;
  int sum = 0;
  begin_case();
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 0, "two MPIs");
  CHECK(sum == size_of(MPI_COMM_WORLD), "sum %d", sum);
  MPI_Finalize();
  return 0;
}
