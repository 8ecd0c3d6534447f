/* All-to-alls of equal and of unequal blocks and allgathers, short ones and long ones, over and over. Ranks write to
 * their input as soon as a call is over: whoever still reads there gets wrong words. In communicators of the world's
 * order and of the opposite one. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { rounds = 240, most_ranks = 16 };

/* Words of a block, the same on both ranks. */
static int length(int round, int equal, int source, int destination) {
  static const int lengths[] = {3, 700, 9000, 50000, 110000};
  const int most = lengths[mixed((uint64_t)round) % 5];
  if (equal) return most;
  const uint64_t chance = mixed(((uint64_t)round << 16) + ((uint64_t)source << 8) + (uint64_t)destination);
  return chance % 5 == 0 ? 0 : (int)(chance % (uint64_t)(2 * most));
}

static uint32_t word(int round, int source, int destination, int i) {
  return (uint32_t)mixed(((uint64_t)round << 16) + ((uint64_t)source << 8) + (uint64_t)destination) + (uint32_t)i;
}

/* One rank's side: blocks one after the other. */
struct Exchange {
  MPI_Comm comm;
  int round;
  int size;
  int rank;
  int sent_counts[most_ranks];
  int sent_begins[most_ranks];
  int received_counts[most_ranks];
  int received_begins[most_ranks];
  int sent_words;
  int received_words;
  uint32_t* sent;
  uint32_t* received;
};

static struct Exchange prepare(MPI_Comm comm, int round, int equal) {
  struct Exchange made = {.comm = comm, .round = round, .size = size_of(comm), .rank = rank_in(comm)};
  for (int other = 0; other < made.size; ++other) {
    made.sent_begins[other] = made.sent_words;
    made.received_begins[other] = made.received_words;
    made.sent_words += made.sent_counts[other] = length(round, equal, made.rank, other);
    made.received_words += made.received_counts[other] = length(round, equal, other, made.rank);
  }
  made.sent = allocate(sizeof(uint32_t) * (uint64_t)(made.sent_words + 1));
  made.received = allocate(sizeof(uint32_t) * (uint64_t)(made.received_words + 1));
  for (int other = 0; other < made.size; ++other) {
    for (int i = 0; i < made.sent_counts[other]; ++i) {
      made.sent[made.sent_begins[other] + i] = word(round, made.rank, other, i);
    }
  }
  return made;
}

static void finish(const struct Exchange* made) {
  memset(made->sent, 0xff, sizeof(uint32_t) * (size_t)made->sent_words);
  for (int other = 0; other < made->size; ++other) {
    for (int i = 0; i < made->received_counts[other]; ++i) {
      CHECK(made->received[made->received_begins[other] + i] == word(made->round, other, made->rank, i),
            "word %d from rank %d in round %d", i, other, made->round);
    }
  }
  free(made->sent);
  free(made->received);
}

static void equal_blocks(MPI_Comm comm, int round) {
  const struct Exchange made = prepare(comm, round, 1);
  const int count = made.sent_counts[0];
  const int in_place = round % 4 == 0;
  if (in_place) memcpy(made.received, made.sent, sizeof(uint32_t) * (size_t)made.sent_words);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : (void*)made.sent, count, MPI_UINT32_T, made.received, count, MPI_UINT32_T,
               comm);
  finish(&made);
  expect_call("alltoall", 1, "exchanges");
}

static void unequal_blocks(MPI_Comm comm, int round) {
  const struct Exchange made = prepare(comm, round, 0);
  MPI_Alltoallv(made.sent, made.sent_counts, made.sent_begins, MPI_UINT32_T, made.received, made.received_counts,
                made.received_begins, MPI_UINT32_T, comm);
  finish(&made);
  expect_call("alltoallv", 1, "exchanges");
}

static void gathered_blocks(MPI_Comm comm, int round, int equal) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const int in_place = round % 4 == 0;
  int counts[most_ranks];
  int begins[most_ranks];
  int words = 0;
  for (int from = 0; from < size; ++from) {
    begins[from] = words;
    words += counts[from] = length(round, equal, from, from);
    if (from == 0 && counts[0] == 0) words += counts[0] = 1; /* MPI has calls that move nothing */
  }
  const int count = counts[rank];
  const size_t bytes = sizeof(uint32_t) * (size_t)count;
  uint32_t* sent = allocate(bytes + 1);
  uint32_t* received = allocate(sizeof(uint32_t) * (uint64_t)(words + 1));
  uint32_t* own = received + begins[rank];
  const void* input = in_place ? MPI_IN_PLACE : sent;
  for (int i = 0; i < count; ++i) sent[i] = word(round, rank, rank, i);
  if (in_place) memcpy(own, sent, bytes);
  if (equal) {
    MPI_Allgather(input, count, MPI_UINT32_T, received, count, MPI_UINT32_T, comm);
  } else {
    MPI_Allgatherv(input, count, MPI_UINT32_T, received, counts, begins, MPI_UINT32_T, comm);
  }
  memset(in_place ? own : sent, 0xff, bytes);
  for (int from = 0; from < size; ++from) {
    for (int i = 0; i < counts[from] && !(in_place && from == rank); ++i) {
      CHECK(received[begins[from] + i] == word(round, from, from, i), "word %d from rank %d in round %d", i, from,
            round);
    }
  }
  free(sent);
  free(received);
  expect_call(equal ? "allgather" : "allgatherv", 1, "exchanges");
}

/* The next call is under way while the first one's neighbours read, or the other way round. */
static void beside_a_nonblocking_call(MPI_Comm comm, int round) {
  const struct Exchange first = prepare(comm, round, 1);
  const struct Exchange second = prepare(comm, round + 1, 0);
  MPI_Request request;
  MPI_Ialltoall(first.sent, first.sent_counts[0], MPI_UINT32_T, first.received, first.sent_counts[0], MPI_UINT32_T,
                comm, &request);
  MPI_Alltoallv(second.sent, second.sent_counts, second.sent_begins, MPI_UINT32_T, second.received,
                second.received_counts, second.received_begins, MPI_UINT32_T, comm);
  finish(&second);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  finish(&first);
  add_expected("ialltoall", 1);
  expect_call("alltoallv", 1, "exchanges");
}

int CASE(exchanges)(int argc, char** argv) {
  MPI_Comm backwards;
  (void)argc;
  (void)argv;
  CHECK(size_of(MPI_COMM_WORLD) <= most_ranks, "too many ranks");
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &backwards);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = round / 3 % 2 == 0 ? MPI_COMM_WORLD : backwards;
    switch (mixed((uint64_t)round + 7) % 7) {
      case 0:
      case 1:
        equal_blocks(comm, round);
        break;
      case 2:
      case 3:
        unequal_blocks(comm, round);
        break;
      case 4:
      case 5:
        gathered_blocks(comm, round, round % 3 > 0);
        break;
      default:
        beside_a_nonblocking_call(comm, round);
        break;
    }
  }
  MPI_Comm_free(&backwards);
  return 0;
}
