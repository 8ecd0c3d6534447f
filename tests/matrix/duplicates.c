/* Duplicates of communicators that have served calls: of ones that are freed before, of duplicates that nobody has used
 * yet, and several at once whose calls come in another order on every rank. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { most_ranks = 64, copies = 6, rounds = 200, count = 3 };

/* Sums of all ranks' keys, of so many words that some calls go by a plan. */
static void check_sum(MPI_Comm comm, int words, int key, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  long* input = allocate((size_t)words * sizeof *input);
  long* output = allocate((size_t)words * sizeof *output);
  for (int i = 0; i < words; ++i) input[i] = (long)key * rank + i;
  MPI_Allreduce(input, output, words, MPI_LONG, MPI_SUM, comm);
  expect_call("allreduce", 1, what);
  for (int i = 0; i < words; ++i) {
    const long expected = (long)key * size * (size - 1) / 2 + (long)i * size;
    CHECK(output[i] == expected, "%s: word %d is %ld, not %ld", what, i, output[i], expected);
  }
  free(input);
  free(output);
}

static void check_exchange(MPI_Comm comm, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  int input[most_ranks * count];
  int output[most_ranks * count];
  for (int i = 0; i < size * count; ++i) input[i] = rank * 1000 + i;
  MPI_Alltoall(input, count, MPI_INT, output, count, MPI_INT, comm);
  expect_call("alltoall", 1, what);
  for (int i = 0; i < size * count; ++i) {
    const int expected = i / count * 1000 + rank * count + i % count;
    CHECK(output[i] == expected, "%s: element %d is %d, not %d", what, i, output[i], expected);
  }
}

static void check_all(MPI_Comm comm, const char* what) {
  check_sum(comm, 1, 7, what);
  check_sum(comm, 5000, 11, what);
  check_exchange(comm, what);
}

static void check_lives(void) {
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm second = MPI_COMM_NULL;
  MPI_Comm third = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(first, &second);
  MPI_Comm_free(&first);
  check_all(second, "duplicate of an unused duplicate");
  MPI_Comm_dup_with_info(second, MPI_INFO_NULL, &third);
  MPI_Comm_free(&second);
  check_all(third, "duplicate of a communicator that is freed");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(third, &first, &request);
  check_sum(third, 100, 3, "original while it is duplicated");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_all(first, "duplicate that was not waited for");
  MPI_Comm_free(&third);
  check_all(first, "duplicate whose original is gone");
  MPI_Comm_free(&first);
}

/* Each rank begins its calls in an order of its own, which is MPI's to sort out by communicator. */
static void check_disorder(void) {
  MPI_Comm comms[copies];
  MPI_Request requests[copies];
  long inputs[copies];
  long outputs[copies];
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < copies; ++i) {
    MPI_Comm_dup(i == 0 ? MPI_COMM_WORLD : comms[i - 1], &comms[i]);
    check_sum(comms[i], 10, i + 1, "first call of a duplicate");
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < copies; ++i) {
      const int which = (i + rank + round) % copies;
      inputs[which] = 100L * which + rank;
      MPI_Iallreduce(&inputs[which], &outputs[which], 1, MPI_LONG, MPI_SUM, comms[which], &requests[which]);
      add_expected("iallreduce", 1);
    }
    MPI_Waitall(copies, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < copies; ++i) {
      const long expected = 100L * i * size + (long)size * (size - 1) / 2;
      CHECK(outputs[i] == expected, "duplicate %d: %ld, not %ld", i, outputs[i], expected);
    }
  }
  for (int i = 0; i < copies; ++i) MPI_Comm_free(&comms[i]);
}

/* More of them one after the other than there are numbers for at a time. */
static void check_many(void) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    check_sum(copy, 1 + i % 3 * 1000, i, "one of many duplicates");
    MPI_Comm_free(&copy);
  }
}

/* Halves have other ranks than the world, and duplicates of them, too. */
static void check_halves(void) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half);
  check_sum(half, 10, 5, "world in reverse");
  MPI_Comm_dup(half, &copy);
  MPI_Comm_free(&half);
  check_all(copy, "duplicate of the world in reverse");
  MPI_Comm_free(&copy);
}

int CASE(duplicates)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  CHECK(size_of(MPI_COMM_WORLD) <= most_ranks, "%d ranks are too many", size_of(MPI_COMM_WORLD));
  check_sum(MPI_COMM_WORLD, 10, 1, "world");
  check_lives();
  check_disorder();
  check_halves();
  check_many();
  return 0;
}
