/* One case as a program of its own. */
#include <mpi.h>

#include "check.h"

int standalone(int argc, char** argv);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = standalone(argc, argv);
  MPI_Finalize();
  return code == 0 && finalized_well() ? 0 : 1;
}
