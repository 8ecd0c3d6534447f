/* Calls that are alike, again and again, some of which fall through, on handles that come back for other things: by
 * alike.toml, allreduces and broadcasts of up to 64 bytes are left to MPI, and all else is served. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { rounds = 20, most = 4096, few = 2, many = 257 };

static void allreduce(MPI_Comm comm, int count, MPI_Op op, int served, const char* what) {
  static int values[most];
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int i = 0; i < count; ++i) values[i] = i * (rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, op, comm);
  expect_call("allreduce", served, what);
  for (int i = 0; i < count; ++i) CHECK(values[i] == i * (size * (size + 1) / 2), "%s: element %d", what, i);
}

static void bcast(MPI_Comm comm, int ints, int count, MPI_Datatype type, int served, const char* what) {
  static int values[most];
  const int root = size_of(comm) - 1;
  for (int i = 0; i < ints; ++i) values[i] = rank_in(comm) == root ? i + 1 : 0;
  MPI_Bcast(values, count, type, root, comm);
  expect_call("bcast", served, what);
  for (int i = 0; i < ints; ++i) CHECK(values[i] == i + 1, "%s: element %d", what, i);
}

static void add(void* input, void* in_out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)in_out)[i] += ((int*)input)[i];
}

/* The same arguments but for one. */
static void one_after_the_other(MPI_Op user) {
  for (int round = 0; round < rounds; ++round) {
    allreduce(MPI_COMM_WORLD, few, MPI_SUM, 0, "few elements");
    allreduce(MPI_COMM_WORLD, few, MPI_SUM, 0, "few elements again");
    allreduce(MPI_COMM_WORLD, many, MPI_SUM, 1, "many elements");
    allreduce(MPI_COMM_WORLD, many, user, 0, "an operation of the program's");
    allreduce(MPI_COMM_SELF, many, MPI_SUM, 0, "one rank");
    bcast(MPI_COMM_WORLD, few, few, MPI_INT, 0, "few elements");
    bcast(MPI_COMM_WORLD, many, many, MPI_INT, 1, "many elements");
  }
}

/* MPI gives the handle of what was freed to what is made next. */
static void communicators(void) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(round % 2 == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm);
    allreduce(comm, many, MPI_SUM, round % 2, "a copy");
    allreduce(comm, many, MPI_SUM, round % 2, "a copy again");
    MPI_Comm_free(&comm);
  }
}

static void types(void) {
  for (int round = 0; round < rounds; ++round) {
    const int ints = round % 2 == 0 ? few : many;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    bcast(MPI_COMM_WORLD, ints, 1, type, round % 2, "a type of the program's");
    bcast(MPI_COMM_WORLD, ints, 1, type, round % 2, "a type of the program's again");
    MPI_Type_free(&type);
  }
}

static void operations(void) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&add, 1, &op);
    allreduce(MPI_COMM_WORLD, many, op, 0, "an operation of the program's");
    MPI_Op_free(&op);
  }
}

static void iallgather(MPI_Comm comm, int served, const char* what) {
  const int mine = rank_in(comm);
  const int size = size_of(comm);
  int* all = allocate(sizeof(int) * (uint64_t)size);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("iallgather", served, what);
  for (int rank = 0; rank < size; ++rank) CHECK(all[rank] == rank, "%s: rank %d", what, rank);
  free(all);
}

/* What a nonblocking call misses, the ranks agree on in the next blocking one, also in one that falls through as those
 * before it did. */
static void wishes(void) {
  const int size = size_of(MPI_COMM_WORLD);
  int* order = allocate(sizeof(int) * (uint64_t)size);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    order_ranks(round + 1, size, order); /* no order comes twice: the ranks would know what they had agreed on */
    MPI_Comm_split(MPI_COMM_WORLD, 0, order[rank_in(MPI_COMM_WORLD)], &comm);
    allreduce(comm, few, MPI_SUM, 0, "before the wish");
    allreduce(comm, few, MPI_SUM, 0, "before the wish, again");
    iallgather(comm, 0, "not agreed on");
    allreduce(comm, few, MPI_SUM, 0, "with the wish");
    iallgather(comm, 1, "agreed on");
    MPI_Comm_free(&comm);
  }
  free(order);
}

int CASE(alike)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  MPI_Op user = MPI_OP_NULL;
  MPI_Op_create(&add, 1, &user);
  one_after_the_other(user);
  MPI_Op_free(&user);
  communicators();
  types();
  operations();
  wishes();
  return 0;
}
