#include "plain_mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t digest_bytes(uint64_t digest, const void* data, size_t bytes) {
  const unsigned char* cursor = data;
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), cursor += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, cursor, sizeof word);
    digest = (digest ^ word) * 0x9fb21c651e98df25u;
    digest ^= digest >> 32;
  }
  uint64_t rest = bytes + 1;
  for (size_t i = 0; i < bytes; ++i) rest = (rest << 8) | cursor[i];
  return mix64(digest ^ rest);
}

uint64_t digest_ranks(uint64_t digest, MPI_Comm communicator) {
  int rank;
  int size;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  uint64_t* all = rank == 0 ? calloc((size_t)size, sizeof *all) : NULL;
  MPI_Gather(&digest, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, communicator);
  const uint64_t combined = rank == 0 ? digest_bytes(0, all, (size_t)size * sizeof *all) : 0;
  free(all);
  return combined;
}

static uint64_t block_key(size_t size, int source, int destination) {
  return mix64(size * 1000003u + (uint64_t)source * 1009u + (uint64_t)destination);
}

void fill_block(unsigned char* block, size_t size, int source, int destination) {
  const uint64_t key = block_key(size, source, destination);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t word = mix64(key + at);
    memcpy(block + at, &word, size - at < sizeof word ? size - at : sizeof word);
  }
}

int block_is(const unsigned char* block, size_t size, int source, int destination) {
  const uint64_t key = block_key(size, source, destination);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t word = mix64(key + at);
    if (memcmp(block + at, &word, size - at < sizeof word ? size - at : sizeof word) != 0) return 0;
  }
  return 1;
}

long served_calls(const char* collective) {
  void* symbol = dlsym(RTLD_DEFAULT, "libcoll_calls_served");
  if (symbol == NULL) return -1;
  long (*calls_served)(const char*);
  memcpy(&calls_served, &symbol, sizeof symbol);
  return calls_served(collective);
}

void print_served(const char* collective, long made, MPI_Comm communicator) {
  const long here = served_calls(collective);
  long least = here;
  int rank;
  MPI_Comm_rank(communicator, &rank);
  MPI_Reduce(&here, &least, 1, MPI_LONG, MPI_MIN, 0, communicator);
  if (rank != 0 || least < 0) return;
  if (made < 0) {
    printf("# Served by libcoll: %ld calls (%s)\n", least, collective);
  } else {
    printf("# Served by libcoll: %ld of %ld calls (%s)\n", least, made, collective);
  }
}
