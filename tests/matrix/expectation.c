/* A few calls of each collective with right results, of which as said on the command line all or none are served.
 *   expectation allreduce=yes|no allgather=yes|no alltoall=yes|no bcast=yes|no reduce=yes|no */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { calls = 3, count = 257 };

static int is_expected(int argc, char** argv, const char* collective) {
  const size_t length = strlen(collective);
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], collective, length) == 0 && argv[i][length] == '=') return argv[i][length + 1] == 'y';
  }
  CHECK(0, "nothing is said of %s", collective);
}

static void allreduce(int rank, int size, int served) {
  int values[count];
  for (int i = 0; i < count; ++i) values[i] = i * (rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", served, "expectation");
  for (int i = 0; i < count; ++i) CHECK(values[i] == i * (size * (size + 1) / 2), "sum %d", i);
}

static void allgather(int rank, int size, int served) {
  int mine[count];
  int* all = allocate(sizeof mine * (uint64_t)size);
  for (int i = 0; i < count; ++i) mine[i] = rank * 1000 + i;
  MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
  expect_call("allgather", served, "expectation");
  for (int i = 0; i < count * size; ++i) CHECK(all[i] == i / count * 1000 + i % count, "gathered %d", i);
  free(all);
}

static void alltoall(int rank, int size, int served) {
  int* blocks = allocate(sizeof(int) * count * (uint64_t)size);
  int* received = allocate(sizeof(int) * count * (uint64_t)size);
  for (int i = 0; i < count * size; ++i) blocks[i] = rank * 1000000 + i;
  MPI_Alltoall(blocks, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
  expect_call("alltoall", served, "expectation");
  for (int i = 0; i < count * size; ++i) {
    CHECK(received[i] == i / count * 1000000 + rank * count + i % count, "exchanged %d", i);
  }
  free(blocks);
  free(received);
}

static void bcast(int rank, int size, int served) {
  int values[count];
  for (int i = 0; i < count; ++i) values[i] = rank * 1000 + i;
  MPI_Bcast(values, count, MPI_INT, size - 1, MPI_COMM_WORLD);
  expect_call("bcast", served, "expectation");
  for (int i = 0; i < count; ++i) CHECK(values[i] == (size - 1) * 1000 + i, "broadcast %d", i);
}

static void reduce(int rank, int size, int served) {
  int values[count];
  int sums[count];
  for (int i = 0; i < count; ++i) values[i] = i * (rank + 1);
  MPI_Reduce(values, sums, count, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  expect_call("reduce", served, "expectation");
  for (int i = 0; rank == 1 && i < count; ++i) CHECK(sums[i] == i * (size * (size + 1) / 2), "reduced %d", i);
}

int CASE(expectation)(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int call = 0; call < calls; ++call) {
    allreduce(rank, size, is_expected(argc, argv, "allreduce"));
    allgather(rank, size, is_expected(argc, argv, "allgather"));
    alltoall(rank, size, is_expected(argc, argv, "alltoall"));
    bcast(rank, size, is_expected(argc, argv, "bcast"));
    reduce(rank, size, is_expected(argc, argv, "reduce"));
  }
  return 0;
}
