/* Calls of ranks that share memory, over and over: of several lengths and communicators in turn, so that what one rank
 * remembers of them is soon forgotten, on each rank at other calls. Results are right bit for bit, sums added up in the
 * order of the world's ranks, and every call is served. "short_calls sums": sums of floating-point numbers alone, in
 * communicators that have the world's order; "short_calls all": all, in communicators of another order, too. "long" and
 * "long_sums" are fewer, with blocks of up to half a megabyte; "rooted" are long calls of every root in turn,
 * "rooted_sums" those of MPI_Reduce alone, "rooted_short" those around the sizes up to which they are short. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { short_rounds = 1500, long_rounds = 480, copies = 2 };

static double value(int rank, int round, int i) { return 1.0 / (1 + rank * 7 + round % 100 * 3 + i * 11); }

/* Of all calls a rank remembers few: these take the places of others. */
static void alone(int rank, int round) {
  int sum = round;
  if ((mixed((uint64_t)rank * short_rounds + (uint64_t)round) & 3) != 0) return;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  CHECK(sum == round, "%d alone", sum);
}

static double sum_of(int size, int round, int i) {
  double sum = value(0, round, i);
  for (int rank = 1; rank < size; ++rank) sum += value(rank, round, i);
  return sum;
}

static void allreduce(MPI_Comm comm, int round, int count) {
  double* values = allocate(sizeof(double) * (uint64_t)count);
  double* sums = allocate(sizeof(double) * (uint64_t)count);
  for (int i = 0; i < count; ++i) values[i] = sums[i] = value(rank_in(MPI_COMM_WORLD), round, i);
  MPI_Allreduce(round % 2 == 0 ? MPI_IN_PLACE : values, sums, count, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) CHECK(sums[i] == sum_of(size_of(comm), round, i), "sum %d, round %d", i, round);
  free(values);
  free(sums);
}

static void reduce_scatter_block(MPI_Comm comm, int round, int count) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  double* values = allocate(sizeof(double) * (uint64_t)(count * size));
  double* sums = allocate(sizeof(double) * (uint64_t)count);
  for (int i = 0; i < count * size; ++i) values[i] = value(rank_in(MPI_COMM_WORLD), round, i);
  double* result = round % 2 == 0 ? values : sums;
  MPI_Reduce_scatter_block(round % 2 == 0 ? MPI_IN_PLACE : values, result, count, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) {
    CHECK(result[i] == sum_of(size, round, rank * count + i), "sum %d, round %d", i, round);
  }
  free(values);
  free(sums);
}

static void allgather(MPI_Comm comm, int round, int count) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  double* mine = allocate(sizeof(double) * (uint64_t)count);
  double* all = allocate(sizeof(double) * (uint64_t)(count * size));
  for (int i = 0; i < count; ++i) mine[i] = all[rank * count + i] = value(rank, round, i);
  MPI_Allgather(round % 2 == 0 ? MPI_IN_PLACE : (void*)mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, comm);
  for (int i = 0; i < count * size; ++i) CHECK(all[i] == value(i / count, round, i % count), "gathered %d", i);
  free(mine);
  free(all);
}

static void alltoall(MPI_Comm comm, int round, int count) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  double* blocks = allocate(sizeof(double) * (uint64_t)(count * size));
  double* received = allocate(sizeof(double) * (uint64_t)(count * size));
  for (int i = 0; i < count * size; ++i) blocks[i] = received[i] = value(rank, round, i);
  MPI_Alltoall(round % 4 == 0 ? MPI_IN_PLACE : (void*)blocks, count, MPI_DOUBLE, received, count, MPI_DOUBLE, comm);
  for (int i = 0; i < count * size; ++i) {
    CHECK(received[i] == value(i / count, round, rank * count + i % count), "exchanged %d", i);
  }
  free(blocks);
  free(received);
}

static void reduce(MPI_Comm comm, int round, int count) {
  const int root = round % size_of(comm);
  const int is_root = rank_in(comm) == root;
  double* values = allocate(sizeof(double) * (uint64_t)count);
  double* sums = allocate(sizeof(double) * (uint64_t)count);
  for (int i = 0; i < count; ++i) values[i] = sums[i] = value(rank_in(MPI_COMM_WORLD), round, i);
  MPI_Reduce(is_root && round % 2 == 0 ? MPI_IN_PLACE : values, sums, count, MPI_DOUBLE, MPI_SUM, root, comm);
  for (int i = 0; i < count; ++i) {
    const double expected = is_root ? sum_of(size_of(comm), round, i) : value(rank_in(MPI_COMM_WORLD), round, i);
    CHECK(sums[i] == expected, "sum %d, round %d, root %d", i, round, root);
  }
  free(values);
  free(sums);
}

static void bcast(MPI_Comm comm, int round, int count) {
  const int root = round % size_of(comm);
  double* values = allocate(sizeof(double) * (uint64_t)count);
  for (int i = 0; i < count; ++i) values[i] = rank_in(comm) == root ? value(root, round, i) : -1;
  MPI_Bcast(values, count, MPI_DOUBLE, root, comm);
  for (int i = 0; i < count; ++i) CHECK(values[i] == value(root, round, i), "value %d, round %d", i, round);
  free(values);
}

static void rooted_call(MPI_Comm comm, int round, int count, int kinds) {
  if (mixed((uint64_t)round) / 5 % (uint64_t)kinds == 0) {
    reduce(comm, round, count);
    expect_call("reduce", 1, "short_calls");
  } else {
    bcast(comm, round, count);
    expect_call("bcast", 1, "short_calls");
  }
}

static void call(MPI_Comm comm, int round, const int* counts, int kinds) {
  const uint64_t chance = mixed((uint64_t)round);
  const int count = counts[chance % 5];
  switch (chance / 5 % (uint64_t)kinds) {
    case 0:
      reduce_scatter_block(comm, round, count);
      expect_call("reduce_scatter_block", 1, "short_calls");
      break;
    case 1:
      allreduce(comm, round, count);
      expect_call("allreduce", 1, "short_calls");
      break;
    case 2:
      allgather(comm, round, count);
      expect_call("allgather", 1, "short_calls");
      break;
    case 3:
      alltoall(comm, round, count);
      expect_call("alltoall", 1, "short_calls");
      break;
    case 4:
      bcast(comm, round, count);
      expect_call("bcast", 1, "short_calls");
      break;
    default:
      reduce(comm, round, count);
      expect_call("reduce", 1, "short_calls");
      break;
  }
}

int CASE(short_calls)(int argc, char** argv) {
  static const int short_counts[] = {1, 2, 3, 16, 64};
  static const int long_counts[] = {64, 1024, 1025, 8193, 65539};
  static const int rooted_counts[] = {65537, 65539, 131072, 100003, 262147};
  static const int short_rooted_counts[] = {3, 5456, 5457, 8192, 8193};
  const char* which_calls = argc > 1 ? argv[1] : "";
  const int is_rooted = strncmp(which_calls, "rooted", 6) == 0;
  const int is_long = is_rooted || strncmp(which_calls, "long", 4) == 0;
  const int all = strcmp(which_calls, "long") == 0 || strcmp(which_calls, "all") == 0;
  const int rounds = is_long ? long_rounds : short_rounds;
  const int rooted_kinds = strcmp(which_calls, "rooted_sums") == 0 ? 1 : 2;
  const int* rooted = strcmp(which_calls, "rooted_short") == 0 ? short_rooted_counts : rooted_counts;
  MPI_Comm comms[1 + copies] = {MPI_COMM_WORLD};
  const int key = all ? -rank_in(MPI_COMM_WORLD) : 0;
  for (int i = 1; i <= copies; ++i) MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comms[i]);
  for (int round = 0; round < rounds; ++round) {
    /* The same call some times in a row, then another. */
    const int which = (int)(mixed((uint64_t)(round / 8)) % (1 + copies));
    const int number = round % 8 == 7 ? round : round / 8;
    if (is_rooted) {
      rooted_call(comms[which], number, rooted[number % 5], rooted_kinds);
    } else {
      call(comms[which], number, is_long ? long_counts : short_counts, all ? 6 : 2);
    }
    alone(rank_in(MPI_COMM_WORLD), round);
    if (round % (rounds / 3) != rounds / 3 - 1) continue;
    /* Its handle may come back for another. */
    MPI_Comm_free(&comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  }
  for (int i = 1; i <= copies; ++i) MPI_Comm_free(&comms[i]);
  return 0;
}
