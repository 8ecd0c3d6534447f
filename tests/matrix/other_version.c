/* Linked into a program: the MPI that it runs under is of a version that libcoll does not know. */
#include <mpi.h>
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Open MPI v6.0.0, with\tmore to say\nin a second line");
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}
