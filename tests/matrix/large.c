/* Calls larger than a round and than a segment.
 *   large allreduce BYTES | alltoall BYTES_PER_PAIR */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void check_allreduce(int rank, int size, int count) {
  int* values = allocate(sizeof(int) * (uint64_t)count);
  for (int i = 0; i < count; ++i) values[i] = (i % 65536) * (rank + 1) - i / 65536;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "large");
  for (int i = 0; i < count; ++i) {
    CHECK(values[i] == (i % 65536) * (size * (size + 1) / 2) - size * (i / 65536), "element %d is %d", i, values[i]);
  }
  free(values);
}

static uint32_t word(int source, int destination, int i) {
  return (uint32_t)(source * 64 + destination) * 0x9e3779b9u + (uint32_t)i;
}

static void check_alltoall(int rank, int size, int count) {
  const uint64_t words = (uint64_t)count * (uint64_t)size;
  uint32_t* sent = allocate(words * sizeof(uint32_t));
  uint32_t* received = allocate(words * sizeof(uint32_t));
  memset(received, 0, words * sizeof(uint32_t));
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) sent[(long)peer * count + i] = word(rank, peer, i);
  }
  MPI_Alltoall(sent, count, MPI_UINT32_T, received, count, MPI_UINT32_T, MPI_COMM_WORLD);
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
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 3, "usage: large allreduce|alltoall BYTES");
  const int count = atoi(argv[2]) / 4;
  if (strcmp(argv[1], "allreduce") == 0) {
    check_allreduce(rank, size, count);
  } else {
    check_alltoall(rank, size, count);
  }
  return 0;
}
