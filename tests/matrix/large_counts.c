/* Collectives with large counts (MPI-4.0, section 2.5.8): functions that end in _c are served as the others are. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { most_ranks = 16, per_block = 41 };

static long value(int from, int to, long i) { return from * 100000L + to * 1000L + i; }

static void check_reduction(int rank, int size) {
  long input[per_block];
  long output[per_block];
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < per_block; ++i) input[i] = value(rank, 0, i);
  for (int mode = 0; mode < 3; ++mode) {
    for (int i = 0; i < per_block; ++i) output[i] = -1;
    if (mode == 0) MPI_Allreduce_c(input, output, per_block, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (mode == 1) MPI_Iallreduce_c(input, output, per_block, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    if (mode == 2) {
      MPI_Allreduce_init_c(input, output, per_block, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
    }
    if (mode > 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (mode == 2) MPI_Request_free(&request);
    const char* names[] = {"allreduce", "iallreduce", "allreduce_init"};
    expect_call(names[mode], 1, "large counts");
    for (int i = 0; i < per_block; ++i) {
      const long sum = 100000L * size * (size - 1) / 2 + (long)size * i;
      CHECK(output[i] == sum, "mode %d: sum %d is %ld, not %ld", mode, i, output[i], sum);
    }
  }
}

/* Unequal blocks, which lie in another order than the ranks and with gaps. */
static void check_exchange(int rank, int size) {
  static long sent[most_ranks * per_block];
  static long received[most_ranks * per_block];
  MPI_Count sent_counts[most_ranks] = {0};
  MPI_Count received_counts[most_ranks] = {0};
  MPI_Aint places[most_ranks] = {0};
  for (int peer = 0; peer < size; ++peer) {
    sent_counts[peer] = (rank + 2 * peer) % per_block;
    received_counts[peer] = (peer + 2 * rank) % per_block;
    places[peer] = (MPI_Aint)(size - 1 - peer) * per_block;
    for (long i = 0; i < sent_counts[peer]; ++i) sent[places[peer] + i] = value(rank, peer, i);
  }
  MPI_Alltoallv_c(sent, sent_counts, places, MPI_LONG, received, received_counts, places, MPI_LONG, MPI_COMM_WORLD);
  expect_call("alltoallv", 1, "large counts");
  for (int peer = 0; peer < size; ++peer) {
    for (long i = 0; i < received_counts[peer]; ++i) {
      CHECK(received[places[peer] + i] == value(peer, rank, i), "element %ld of rank %d", i, peer);
    }
  }
  for (int peer = 0; peer < size; ++peer) received_counts[peer] = peer + 1;
  MPI_Allgatherv_c(sent, received_counts[rank], MPI_LONG, received, received_counts, places, MPI_LONG, MPI_COMM_WORLD);
  expect_call("allgatherv", 1, "large counts");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  begin_case();
  check_reduction(rank, size);
  check_exchange(rank, size);
  MPI_Finalize();
  return 0;
}
