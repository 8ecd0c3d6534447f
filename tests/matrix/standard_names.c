/* Persistent collectives by the names of MPI-4.0, for an Open MPI that has them (open_mpi_5.c). */
#include <mpi.h>

#include "check.h"

int MPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  int one = 1;
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  begin_case();
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "Open MPI 5");
  CHECK(sum == size, "sum %d", sum);
  MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int start = 0; start < 3; ++start) {
    sum = 0;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_call("allreduce_init", 1, "Open MPI 5");
    CHECK(sum == size, "sum %d of start %d", sum, start);
  }
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
