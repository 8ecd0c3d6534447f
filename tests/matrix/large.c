/* Calls larger than a round and than a segment.
 *   large allreduce BYTES [RANKS] | alltoall BYTES_PER_PAIR [RANKS]   on the first RANKS, otherwise on all */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void check_allreduce(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int* values = allocate(sizeof(int) * (uint64_t)count);
  for (int i = 0; i < count; ++i) values[i] = (i % 65536) * (rank + 1) - i / 65536;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", 1, "large");
  for (int i = 0; i < count; ++i) {
    CHECK(values[i] == (i % 65536) * (size * (size + 1) / 2) - size * (i / 65536), "element %d is %d", i, values[i]);
  }
  free(values);
}

static uint32_t word(int source, int destination, int i) {
  return (uint32_t)(source * 64 + destination) * 0x9e3779b9u + (uint32_t)i;
}

static void check_alltoall(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const uint64_t words = (uint64_t)count * (uint64_t)size;
  uint32_t* sent = allocate(words * sizeof(uint32_t));
  uint32_t* received = allocate(words * sizeof(uint32_t));
  memset(received, 0, words * sizeof(uint32_t));
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) sent[(long)peer * count + i] = word(rank, peer, i);
  }
  MPI_Alltoall(sent, count, MPI_UINT32_T, received, count, MPI_UINT32_T, comm);
  expect_call("alltoall", 1, "large");
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) {
      CHECK(received[(long)peer * count + i] == word(peer, rank, i), "word %d of rank %d", i, peer);
    }
  }
  free(sent);
  free(received);
}

int CASE(large)(int argc, char** argv) {
  CHECK(argc == 3 || argc == 4, "usage: large allreduce|alltoall BYTES [RANKS]");
  const int count = atoi(argv[2]) / 4;
  const int ranks = argc == 4 ? atoi(argv[3]) : size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_WORLD;
  if (ranks < size_of(MPI_COMM_WORLD)) {
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  }
  if (comm == MPI_COMM_NULL) return 0;
  if (strcmp(argv[1], "allreduce") == 0) {
    check_allreduce(comm, count);
  } else {
    check_alltoall(comm, count);
  }
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  return 0;
}
