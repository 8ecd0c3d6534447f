/* Datatypes of more than 2^31 bytes, whose size an int cannot hold (MPI-4.1, 5.1.5: MPI_Type_size then says
 * MPI_UNDEFINED), and mixes of one such element with many short ones. For two ranks.
 *   huge_types CASE [served]   one (one huge element everywhere), mixed (huge at the root, short ones elsewhere),
 *                              gaps (huge elements with gaps), exchange (MPI_Alltoallw), small (a mix of 8 MiB) */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { units = 2200, unit_bytes = 1 << 20, words_per_unit = unit_bytes / 8 };

static int rank;

static uint64_t word(int source, long i) { return (uint64_t)(source + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i; }

static MPI_Datatype commit(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype row(int count, MPI_Datatype inner) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(count, inner, &type);
  return commit(type);
}

/* `count` elements of `unit` in one, with a word between each two. */
static MPI_Datatype with_gaps(int count, MPI_Datatype unit) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(count, 1, unit_bytes + 8, unit, &type);
  return commit(type);
}

static void check_bcast(int megabytes, int root_is_huge, int others_are_huge, int served) {
  const long words = (long)megabytes * words_per_unit;
  uint64_t* values = allocate(8 * (uint64_t)words);
  for (long i = 0; i < words; ++i) values[i] = rank == 0 ? word(0, i) : 0;
  MPI_Datatype unit = row(unit_bytes, MPI_BYTE);
  MPI_Datatype huge = row(megabytes, unit);
  if (rank == 0 ? root_is_huge : others_are_huge) {
    MPI_Bcast(values, 1, huge, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(values, megabytes, unit, 0, MPI_COMM_WORLD);
  }
  if (served) expect_call("bcast", 1, "a huge type");
  for (long i = 0; i < words; ++i) CHECK(values[i] == word(0, i), "word %ld of %ld", i, words);
  MPI_Type_free(&huge);
  MPI_Type_free(&unit);
  free(values);
}

static void check_gaps(int served) {
  const long stride = words_per_unit + 1;
  const long words = units * stride;
  uint64_t* values = allocate(8 * (uint64_t)words);
  for (long i = 0; i < words; ++i) values[i] = rank == 0 ? word(0, i) : ~(uint64_t)0;
  MPI_Datatype unit = row(unit_bytes, MPI_BYTE);
  MPI_Datatype huge = with_gaps(units, unit);
  MPI_Bcast(values, 1, huge, 0, MPI_COMM_WORLD);
  if (served) expect_call("bcast", 1, "a huge type with gaps");
  for (long i = 0; i < words; ++i) {
    const uint64_t expected = rank != 0 && i % stride == words_per_unit ? ~(uint64_t)0 : word(0, i);
    CHECK(values[i] == expected, "word %ld of %ld", i, words);
  }
  MPI_Type_free(&huge);
  MPI_Type_free(&unit);
  free(values);
}

/* Rank 0 sends one huge element, which rank 1 receives as many short ones; nothing else moves. */
static void check_exchange(int served) {
  const long words = (long)units * words_per_unit;
  uint64_t* values = allocate(8 * (uint64_t)words);
  for (long i = 0; i < words; ++i) values[i] = rank == 0 ? word(0, i) : 0;
  MPI_Datatype unit = row(unit_bytes, MPI_BYTE);
  MPI_Datatype huge = row(units, unit);
  const int none[2] = {0, 0};
  const int send_counts[2] = {0, 1};
  const int receive_counts[2] = {units, 0};
  const MPI_Datatype send_types[2] = {MPI_BYTE, huge};
  const MPI_Datatype receive_types[2] = {unit, MPI_BYTE};
  const MPI_Datatype no_types[2] = {MPI_BYTE, MPI_BYTE};
  if (rank == 0) {
    MPI_Alltoallw(values, send_counts, none, send_types, NULL, none, none, no_types, MPI_COMM_WORLD);
  } else {
    MPI_Alltoallw(NULL, none, none, no_types, values, receive_counts, none, receive_types, MPI_COMM_WORLD);
  }
  if (served) expect_call("alltoallw", 1, "a huge type");
  for (long i = 0; i < words; ++i) CHECK(values[i] == word(0, i), "word %ld of %ld", i, words);
  MPI_Type_free(&huge);
  MPI_Type_free(&unit);
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  CHECK(argc >= 2 && size_of(MPI_COMM_WORLD) == 2, "usage: huge_types one|mixed|gaps|exchange|small [served], 2 ranks");
  const int served = argc > 2;
  if (strcmp(argv[1], "one") == 0) {
    check_bcast(units, 1, 1, served);
  } else if (strcmp(argv[1], "mixed") == 0) {
    check_bcast(units, 1, 0, served);
  } else if (strcmp(argv[1], "gaps") == 0) {
    check_gaps(served);
  } else if (strcmp(argv[1], "exchange") == 0) {
    check_exchange(served);
  } else {
    check_bcast(8, 1, 0, served);
  }
  MPI_Finalize();
  return 0;
}
