/* Communicators of ranks that have agreed before: results are right where all ranks know the earlier agreement, where
 * only some do, and where communicators of one group have asked for other collectives. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Twice `orders` are more groups than a process keeps agreements of. */
enum { most_ranks = 64, count = 700, again = 4, alive = 5, permuted = 4, orders = 24 };

static void check_allreduce(MPI_Comm comm, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  long input[count];
  long output[count];
  for (int i = 0; i < count; ++i) input[i] = 5L * rank + i;
  MPI_Allreduce(input, output, count, MPI_LONG, MPI_SUM, comm);
  expect_call("allreduce", nodes_spanned(comm) > 1, what);
  for (int i = 0; i < count; ++i) {
    const long expected = 5L * size * (size - 1) / 2 + (long)i * size;
    CHECK(output[i] == expected, "%s: word %d is %ld, not %ld", what, i, output[i], expected);
  }
}

static void check_alltoall(MPI_Comm comm, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  int input[most_ranks];
  int output[most_ranks];
  for (int i = 0; i < size; ++i) input[i] = rank * 1000 + i;
  MPI_Alltoall(input, 1, MPI_INT, output, 1, MPI_INT, comm);
  expect_call("alltoall", nodes_spanned(comm) > 1, what);
  for (int i = 0; i < size; ++i) CHECK(output[i] == i * 1000 + rank, "%s: block %d is %d", what, i, output[i]);
}

static void check_allgather(MPI_Comm comm, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  int output[most_ranks];
  MPI_Allgather(&rank, 1, MPI_INT, output, 1, MPI_INT, comm);
  expect_call("allgather", nodes_spanned(comm) > 1, what);
  for (int i = 0; i < size; ++i) CHECK(output[i] == i, "%s: block %d is %d", what, i, output[i]);
}

static void check_all(MPI_Comm comm, const char* what) {
  check_allreduce(comm, what);
  check_alltoall(comm, what);
  check_allgather(comm, what);
}

/* One after the other, each freed before the next. */
static void check_splits(int color, int key, const char* what) {
  for (int i = 0; i < again; ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &made);
    if (made == MPI_COMM_NULL) return;
    check_all(made, what);
    MPI_Comm_free(&made);
  }
}

/* What later ones take over is what the last one has agreed on. */
static void check_other_collectives(void) {
  const int reversed = -rank_in(MPI_COMM_WORLD);
  MPI_Comm made[3];
  for (int i = 0; i < 3; ++i) MPI_Comm_split(MPI_COMM_WORLD, 0, reversed, &made[i]);
  check_alltoall(made[0], "first of three");
  check_allgather(made[1], "second of three");
  check_allreduce(made[0], "first of three again");
  check_all(made[2], "last of three");
  check_all(made[1], "second of three again");
  MPI_Comm_free(&made[0]);
  check_all(made[2], "last of three, the first is gone");
  MPI_Comm_free(&made[2]);
  MPI_Comm_free(&made[1]);
}

/* Several at once, whose calls come in another order on every rank. */
static void check_disorder(void) {
  MPI_Comm made[alive];
  MPI_Request requests[alive];
  long inputs[alive];
  long outputs[alive];
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < alive; ++i) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made[i]);
    check_allreduce(made[i], "one of several");
  }
  for (int i = 0; i < alive; ++i) {
    const int which = (i + rank) % alive;
    inputs[which] = 100L * which + rank;
    MPI_Iallreduce(&inputs[which], &outputs[which], 1, MPI_LONG, MPI_SUM, made[which], &requests[which]);
    add_expected("iallreduce", 1);
  }
  MPI_Waitall(alive, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < alive; ++i) {
    const long expected = 100L * i * size + (long)size * (size - 1) / 2;
    CHECK(outputs[i] == expected, "communicator %d: %ld, not %ld", i, outputs[i], expected);
    MPI_Comm_free(&made[i]);
  }
}

static void check_group(MPI_Group world, int ranks, const int* order) {
  MPI_Group group;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group_incl(world, ranks, order, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made);
  if (made != MPI_COMM_NULL) {
    check_allreduce(made, "ranks in some order");
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&group);
}

/* All orders of the first ranks, of all of them and of all but one: those forget what the world has agreed on, and the
 * others do not. */
static void check_orders(void) {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int number = 0; number < orders; ++number) {
    int order[permuted];
    order_ranks(number, permuted, order);
    check_group(world, permuted, order);
    check_group(world, permuted - 1, order);
  }
  MPI_Group_free(&world);
}

int CASE(same_group)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  CHECK(size <= most_ranks, "%d ranks are too many", size);
  CHECK(size > permuted, "%d ranks are too few", size);
  check_all(MPI_COMM_WORLD, "world");
  check_splits(0, rank, "the world's ranks");
  check_splits(0, -rank, "the world's ranks in reverse");
  check_splits(rank < size / 2, rank, "halves");
  check_other_collectives();
  check_disorder();
  check_orders();
  check_splits(0, rank, "the world's ranks, which some know");
  return 0;
}
