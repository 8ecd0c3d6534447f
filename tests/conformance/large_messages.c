/* One collective with 2^20 elements, and with more than 2^31 bytes in a buffer, most of them in place to save memory;
 * with unequal blocks, one block is as large as that. For few ranks.
 *   large_messages CALL          allreduce, iallreduce, allreduce_init, … */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "served.h"

enum { most_ranks = 8, words_per_unit = 128 };

/* What all ranks have together in a vector or in all blocks, in words of eight bytes. */
struct Size {
  MPI_Datatype type; /* of `words` words */
  int words;
  int count; /* elements of the type in the largest block, or in the vector */
};

static int rank;
static int ranks;
static enum Mode mode;

/* What `source` has for `destination`. */
static uint64_t word(int source, int destination, long i) {
  return ((uint64_t)source * most_ranks + (uint64_t)destination + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i;
}

static void put(uint64_t* at, long number, int source, int destination) {
  for (long i = 0; i < number; ++i) at[i] = word(source, destination, i);
}

static void check_block(const uint64_t* at, long number, int source, int destination) {
  for (long i = 0; i < number; ++i) {
    CHECK(at[i] == word(source, destination, i), "word %ld of %ld of rank %d", i, number, source);
  }
}

static void call(enum Collective collective, const struct Arguments* arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  const struct CallFacts facts = {collective, mode, ranks, 0, 0};
  start_call(collective, mode, arguments, &request);
  count_call(&facts, "large");
  finish_call(mode, &request, 0);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

/* Rank r has factor(r)·(i+1) as element i, so that sums wrap and are known. */
static uint64_t factor(int of_rank) { return mixed((uint64_t)of_rank); }

static void check_reduction(enum Collective collective, int count) {
  enum { root = 0 };
  int counts[most_ranks];
  long total = collective == reduce_scatter_block ? (long)count / ranks * ranks : count;
  long first = 0;
  for (int r = 0; r < ranks; ++r) counts[r] = r == 0 ? (int)total - 7 * (ranks - 1) : 7;
  uint64_t* values = allocate(8 * (uint64_t)total);
  for (long i = 0; i < total; ++i) values[i] = factor(rank) * (uint64_t)(i + 1);
  uint64_t factors = 0;
  for (int r = 0; r < ranks; ++r) factors += factor(r);
  struct Arguments arguments = {.send = MPI_IN_PLACE,
                                .receive = values,
                                .receive_count = (int)total,
                                .receive_counts = counts,
                                .receive_type = MPI_UINT64_T,
                                .op = MPI_SUM,
                                .root = root,
                                .comm = MPI_COMM_WORLD};
  long share = total;
  if (collective == reduce && rank != root) {
    arguments.send = values;
    arguments.receive = NULL;
    share = 0;
  } else if (collective == reduce_scatter) {
    share = counts[rank];
    for (int r = 0; r < rank; ++r) first += counts[r];
  } else if (collective == reduce_scatter_block) {
    share = total / ranks;
    first = share * rank;
    arguments.receive_count = (int)share;
  }
  call(collective, &arguments);
  for (long i = 0; i < share; ++i) {
    CHECK(values[i] == factors * (uint64_t)(first + i + 1), "element %ld of %ld", i, share);
  }
  free(values);
}

/* Blocks in units: equal ones, or one unit for oneself and all the rest for or of the next rank. */
static int units_of(enum Collective collective, int owner, int peer, int count) {
  if (collective == allgather || collective == alltoall) return count / ranks;
  if (collective == allgatherv) return owner == 0 ? count - ranks + 1 : 1;
  return (owner ^ 1) == peer ? count : 1;
}

static void check_blocks(enum Collective collective, const struct Size* size) {
  const int exchanges = collective >= alltoall && collective <= alltoallw;
  const int in_bytes = collective == alltoallw ? size->words * 8 : 1;
  int counts[most_ranks] = {0};
  int places[most_ranks] = {0};
  MPI_Datatype types[most_ranks];
  long total = 0;
  /* The largest block comes last, for places are ints. */
  for (int pass = 0; pass < 2; ++pass) {
    for (int r = 0; r < ranks; ++r) {
      const int units = units_of(collective, exchanges ? rank : r, r, size->count);
      if ((units > size->count / 2) != pass && collective != allgather && collective != alltoall) continue;
      if (pass == 1 && (collective == allgather || collective == alltoall)) continue;
      counts[r] = units;
      places[r] = (int)total * in_bytes;
      types[r] = size->type;
      total += units;
    }
  }
  uint64_t* values = allocate(8 * (uint64_t)total * (uint64_t)size->words);
  memset(values, 0, 8 * (size_t)total * (size_t)size->words);
  for (int r = 0; r < ranks; ++r) {
    if (!exchanges && r != rank) continue;
    put(values + (long)places[r] / in_bytes * size->words, (long)counts[r] * size->words, rank, exchanges ? r : 0);
  }
  const struct Arguments arguments = {.send = MPI_IN_PLACE,
                                      .receive = values,
                                      .receive_count = counts[0],
                                      .send_counts = counts,
                                      .receive_counts = counts,
                                      .send_places = places,
                                      .receive_places = places,
                                      .send_type = size->type,
                                      .receive_type = size->type,
                                      .send_types = types,
                                      .receive_types = types,
                                      .comm = MPI_COMM_WORLD};
  call(collective, &arguments);
  for (int r = 0; r < ranks; ++r) {
    check_block(values + (long)places[r] / in_bytes * size->words, (long)counts[r] * size->words, r,
                exchanges ? rank : 0);
  }
  free(values);
}

static void check_broadcast(const struct Size* size) {
  const long number = (long)size->count * size->words;
  uint64_t* values = allocate(8 * (uint64_t)number);
  const int root = ranks - 1;
  put(values, number, rank, 0);
  const struct Arguments arguments = {.receive = values,
                                      .receive_count = size->count,
                                      .receive_type = size->type,
                                      .root = root,
                                      .comm = MPI_COMM_WORLD};
  call(bcast, &arguments);
  check_block(values, number, root, 0);
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  enum Collective collective = 0;
  while (argc == 2 && collective < collective_count && strcmp(argv[1], name_of_call(collective, mode)) != 0) {
    mode = (mode + 1) % mode_count;
    if (mode == blocking) ++collective;
  }
  CHECK(argc == 2 && collective < collective_count, "usage: large_messages CALL");
  CHECK(ranks > 1 && ranks % 2 == 0 && ranks <= most_ranks, "%d ranks", ranks);
  agree_on(MPI_COMM_WORLD);
  begin_counting(1);
  struct Size sizes[2] = {{MPI_UINT64_T, 1, 1 << 20}, {MPI_UINT64_T, words_per_unit, (1 << 21) + 2}};
  MPI_Type_contiguous(words_per_unit, MPI_UINT64_T, &sizes[1].type);
  MPI_Type_commit(&sizes[1].type);
  for (int i = 0; i < 2; ++i) {
    if (collective <= reduce_scatter_block) {
      check_reduction(collective, i == 0 ? 1 << 20 : (1 << 28) + 10);
    } else if (collective == bcast) {
      check_broadcast(&sizes[i]);
    } else {
      check_blocks(collective, &sizes[i]);
    }
  }
  MPI_Type_free(&sizes[1].type);
  MPI_Finalize();
  return 0;
}
