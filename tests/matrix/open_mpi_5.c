/* What Open MPI 5 has besides and this machine does not: its version, and persistent collectives by their standard
 * names. Behind them is Open MPI 4. */
#include <mpi.h>
#include <string.h>

#include "persistent_names.h"

int PMPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Open MPI v5.0.3, a stub");
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}

int PMPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
  return PMPIX_Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm, info, request);
}

int MPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  return PMPI_Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm, info, request);
}
