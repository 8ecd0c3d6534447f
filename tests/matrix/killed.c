/* A rank is killed in the middle of calls: everybody else gets an error, soon enough.
 *   killed RANK SECONDS [nonblocking] */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { good_calls = 3, count = 100000 };

static int reduce_and_wait(double* values, int nonblocking) {
  if (!nonblocking) return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request request;
  const int code = MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  expect_call("iallreduce", 1, "with the killed");
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(argc == 3 || argc == 4, "usage: killed RANK SECONDS [nonblocking]");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  double* values = allocate(sizeof(double) * count);
  for (int call = 0; call < good_calls; ++call) {
    for (int i = 0; i < count; ++i) values[i] = 1;
    CHECK(reduce_and_wait(values, 0) == MPI_SUCCESS, "call %d", call);
    expect_call("allreduce", 1, "before");
  }
  if (rank == atoi(argv[1])) kill(getpid(), SIGKILL);
  const double begin = MPI_Wtime();
  const int code = reduce_and_wait(values, argc == 4 && strcmp(argv[3], "nonblocking") == 0);
  const double seconds = MPI_Wtime() - begin;
  const int good = code != MPI_SUCCESS && seconds < atof(argv[2]);
  fprintf(stderr, "rank %d: %s after the kill\n", rank, good ? "an error" : "no error, or not soon enough");
  fflush(stderr);
  /* MPI_Finalize would wait for the dead. */
  _exit(good ? 0 : 1);
}
