/* Reductions of numbers whose sum depends on the order, from 8 B to 4 MB. Rank 0 says the bits of each result, as a
 * hash by call and size; all calls of one run, and all ranks, have to come to the same. same_bits [LARGEST_BYTES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { repetitions = 3 };

static int rank;
static int ranks;

/* Signs, and exponents from -60 to 3. */
static double hard_value(long i) {
  const uint64_t bits = mixed((uint64_t)rank * 1000003u + (uint64_t)i);
  return (double)(int64_t)bits / (double)(UINT64_C(1) << 62) / (double)(UINT64_C(1) << (bits % 60));
}

static uint64_t hash(const void* data, size_t bytes) {
  const uint64_t* words = data;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes / sizeof *words; ++i) value = mixed(value ^ words[i]);
  return value;
}

static void say(const char* call, long bytes, const uint64_t* hashes) {
  for (int i = 1; i < repetitions; ++i) {
    CHECK(hashes[i] == hashes[0], "%s of %ld bytes: call %d has other bits than call 0", call, bytes, i);
  }
  if (rank == 0) printf("%s %ld %016llx\n", call, bytes, (unsigned long long)hashes[0]);
}

static void check_equal_on_ranks(const char* call, long bytes, uint64_t mine) {
  uint64_t all[64];
  NATIVE(Allgather)(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r) CHECK(all[r] == mine, "%s of %ld bytes: rank %d has other bits", call, bytes, r);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  ranks = size_of(MPI_COMM_WORLD);
  CHECK(ranks <= 64, "too many ranks");
  const long largest = argc > 1 ? atol(argv[1]) : 4L << 20;
  double* input = allocate((uint64_t)largest);
  float* floats = allocate((uint64_t)largest);
  double* output = allocate((uint64_t)largest);
  for (long i = 0; i < largest / 8; ++i) input[i] = hard_value(i);
  for (long i = 0; i < largest / 4; ++i) floats[i] = (float)hard_value(i);
  for (long bytes = 8; bytes <= largest; bytes *= 2) {
    const int count = (int)(bytes / 8);
    const int block = count / ranks;
    uint64_t hashes[repetitions] = {0};
    for (int i = 0; i < repetitions; ++i) {
      MPI_Allreduce(input, output, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      hashes[i] = hash(output, (size_t)bytes);
    }
    check_equal_on_ranks("allreduce", bytes, hashes[0]);
    say("allreduce", bytes, hashes);
    for (int i = 0; i < repetitions; ++i) {
      MPI_Allreduce(floats, output, 2 * count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      hashes[i] = hash(output, (size_t)bytes);
    }
    say("allreduce_of_floats", bytes, hashes);
    for (int i = 0; i < repetitions; ++i) {
      memset(output, 0, (size_t)bytes);
      MPI_Reduce(input, output, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
      hashes[i] = hash(output, (size_t)bytes);
    }
    say("reduce", bytes, hashes);
    for (int i = 0; i < repetitions && block > 0; ++i) {
      MPI_Reduce_scatter_block(input, output, block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      hashes[i] = hash(output, (size_t)block * 8);
    }
    if (block > 0) say("reduce_scatter_block", bytes, hashes);
  }
  CHECK(served_calls("allreduce") > 0, "no allreduce was served");
  MPI_Finalize();
  return 0;
}
