/* Calls on communicators that are gone when the statistics are written: "copy" of the world, and its halves "lower" and
 * "upper", which exist at the same time on different ranks. */
#include <mpi.h>

#include "check.h"

static void add(void* input, void* in_out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)in_out)[i] += ((int*)input)[i];
}

static void sum(MPI_Comm comm, MPI_Op op) {
  int size = 0;
  int ones = 1;
  int total = 0;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&ones, &total, 1, MPI_INT, op, comm);
  CHECK(total == size, "the sum is %d, not %d", total, size);
}

int CASE(freed)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op user = MPI_OP_NULL;
  MPI_Op_create(&add, 1, &user);

  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  sum(copy, MPI_SUM);
  sum(copy, user);
  MPI_Comm_free(&copy);

  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
  MPI_Comm_set_name(half, rank < size / 2 ? "lower" : "upper");
  sum(half, MPI_SUM);
  MPI_Comm_free(&half);

  MPI_Op_free(&user);
  return 0;
}
