/* Nobody may get stuck: while a rank waits in a collective, the program's own messages have to move. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { large_ints = 1 << 20, rounds = 5 };

static void check_allreduce(int rank, int size) {
  int sum = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "progress");
  CHECK(sum == size * (size + 1) / 2, "sum is %d", sum);
}

/* Rank 0's message is too large to leave before rank 1 asks for it, and rank 1 enters only after it came. */
static void send_across_allreduce(int rank, int size, int round) {
  int* message = allocate(sizeof(int) * large_ints);
  for (int i = 0; i < large_ints; ++i) message[i] = rank == 0 ? i ^ round : -1;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Isend(message, large_ints, MPI_INT, 1, round, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv(message, large_ints, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_allreduce(rank, size);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; rank < 2 && i < large_ints; ++i) CHECK(message[i] == (i ^ round), "message element %d", i);
  free(message);
}

/* A token goes through all ranks first, from the last to rank 0, so that each enters later than the one before. */
static void enter_one_by_one(int rank, int size, int round) {
  int token = round;
  if (rank < size - 1) MPI_Recv(&token, 1, MPI_INT, rank + 1, 1000 + round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(token == round, "token is %d", token);
  if (rank > 0) MPI_Send(&token, 1, MPI_INT, rank - 1, 1000 + round, MPI_COMM_WORLD);
  check_allreduce(rank, size);
}

/* All others wait in an all-to-all while rank 2 first receives large messages from rank 3, which left them behind as
 * requests and went into the all-to-all. */
static void enter_late(int rank, int size, int round) {
  int* message = allocate(sizeof(int) * large_ints);
  int* blocks = allocate(sizeof(int) * (uint64_t)size);
  for (int i = 0; i < large_ints; ++i) message[i] = i + round;
  for (int i = 0; i < size; ++i) blocks[i] = rank * 100 + i;
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int i = 0; i < 3 && rank == 3; ++i) {
    MPI_Isend(message, large_ints, MPI_INT, 2, 2000 + i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < 3 && rank == 2; ++i) {
    MPI_Recv(message, large_ints, MPI_INT, 3, 2000 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, blocks, 1, MPI_INT, MPI_COMM_WORLD);
  expect_call("alltoall", 1, "late rank");
  for (int i = 0; i < size; ++i) CHECK(blocks[i] == i * 100 + rank, "block of rank %d", i);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  free(message);
  free(blocks);
}

int CASE(progress)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    send_across_allreduce(rank, size, round);
    enter_one_by_one(rank, size, round);
    enter_late(rank, size, round);
  }
  return 0;
}
