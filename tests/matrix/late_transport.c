/* Ranks of one node need no transport. Some of them have opened theirs for another communicator: their calls on
 * communicators of their node go on as before, on those made earlier and later. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { count = 3000, most_ranks = 64 };

static void check_calls(MPI_Comm comm, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  int* input = allocate(sizeof(int) * count);
  int* output = allocate(sizeof(int) * count);
  CHECK(size <= most_ranks, "too many ranks");
  for (int i = 0; i < count; ++i) input[i] = rank + i;
  MPI_Allreduce(input, output, count, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", 1, what);
  for (int i = 0; i < count; ++i) {
    CHECK(output[i] == size * i + size * (size - 1) / 2, "%s: word %d is %d", what, i, output[i]);
    output[i] = 0;
  }
  MPI_Request request;
  MPI_Iallreduce(input, output, count, MPI_INT, MPI_MAX, comm, &request);
  expect_call("iallreduce", 1, what);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) CHECK(output[i] == size - 1 + i, "%s: word %d is at most %d", what, i, output[i]);
  const int blocks = count / most_ranks;
  MPI_Alltoall(input, blocks, MPI_INT, output, blocks, MPI_INT, comm);
  expect_call("alltoall", 1, what);
  for (int i = 0; i < blocks * size; ++i) {
    CHECK(output[i] == i / blocks + rank * blocks + i % blocks, "%s: block word %d is %d", what, i, output[i]);
  }
  free(input);
  free(output);
}

int CASE(late_transport)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm node;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &node);
  check_calls(node, "nobody has a transport");
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == 2 ? 0 : MPI_UNDEFINED, rank, &some);
  if (some != MPI_COMM_NULL) check_calls(some, "of two nodes");
  check_calls(node, "one of the node has a transport");
  MPI_Comm again;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &again);
  check_calls(again, "the same ranks");
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &other);
  check_calls(other, "the same ranks in another order");
  check_calls(MPI_COMM_WORLD, "all");
  check_calls(node, "all have a transport");
  check_calls(other, "all have a transport, in another order");
  MPI_Comm_free(&node);
  MPI_Comm_free(&again);
  MPI_Comm_free(&other);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  return 0;
}
