/* Broadcasts and reductions from and to every root, of sizes that go by the plan for one root and of smaller ones.
 *   rooted [RANKS]   on the first RANKS, otherwise on all */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

/* By default MPI may have reductions of up to 32 KB, and MPICH 4.0's own crash from about 8 KB on where they are in
 * place at another root than rank 0. */
static const int sizes[] = {100, 40000, 100001, 1 << 20};

static unsigned char byte_of(int root, int i) {
  return (unsigned char)(mixed((uint64_t)root << 32 | (uint64_t)i) & 255);
}

static void fill(unsigned char* data, int bytes, int root, int is_root) {
  for (int i = 0; i < bytes; ++i) data[i] = is_root ? byte_of(root, i) : 0;
}

static void check_broadcast(const unsigned char* data, int bytes, int root, const char* what) {
  for (int i = 0; i < bytes; ++i) {
    CHECK(data[i] == byte_of(root, i), "%s of %d bytes from %d: byte %d", what, bytes, root, i);
  }
}

static void broadcast(MPI_Comm comm, int bytes, int root) {
  const int is_root = rank_in(comm) == root;
  unsigned char* data = allocate((uint64_t)bytes);
  fill(data, bytes, root, is_root);
  MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
  expect_call("bcast", 1, "rooted");
  check_broadcast(data, bytes, root, "bcast");
  fill(data, bytes, root, is_root);
  MPI_Request request;
  MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("ibcast", 1, "rooted");
  check_broadcast(data, bytes, root, "ibcast");
  free(data);
}

/* Sums of whole numbers: the same in every order. */
static double term(int rank, int i) { return (double)((rank + 1) * (i % 1000 - 500)); }

static void check_sum(MPI_Comm comm, const double* sum, int count, int root, const char* what) {
  const int size = size_of(comm);
  if (rank_in(comm) != root) return;
  for (int i = 0; i < count; ++i) {
    const double expected = term(0, i) * size * (size + 1) / 2;
    CHECK(sum[i] == expected, "%s of %d to %d: element %d is %g, not %g", what, count, root, i, sum[i], expected);
  }
}

static void reduction(MPI_Comm comm, int count, int root) {
  const int rank = rank_in(comm);
  double* mine = allocate(sizeof(double) * (uint64_t)count);
  double* sum = allocate(sizeof(double) * (uint64_t)count);
  for (int i = 0; i < count; ++i) mine[i] = term(rank, i);
  MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, root, comm);
  expect_call("reduce", 1, "rooted");
  check_sum(comm, sum, count, root, "reduce");
  MPI_Request request;
  MPI_Ireduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("ireduce", 1, "rooted");
  check_sum(comm, sum, count, root, "ireduce");
  MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, mine, count, MPI_DOUBLE, MPI_SUM, root, comm);
  expect_call("reduce", 1, "rooted, in place");
  check_sum(comm, mine, count, root, "reduce in place");
  free(mine);
  free(sum);
}

static void check_all(MPI_Comm comm) {
  for (int root = 0; root < size_of(comm); ++root) {
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      broadcast(comm, sizes[i], root);
      reduction(comm, sizes[i] / (int)sizeof(double), root);
    }
  }
}

int CASE(rooted)(int argc, char** argv) {
  const int ranks = argc == 2 ? atoi(argv[1]) : size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  if (comm == MPI_COMM_NULL) return 0;
  check_all(comm);
  MPI_Comm again; /* takes over what the other has agreed on */
  MPI_Comm_dup(comm, &again);
  check_all(again);
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
  return 0;
}
