/* Allreduce, allgather and all-to-all over sizes, communicators and datatypes, with references computed here.
 *   collectives [small] */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "derived.h"

enum { collective_allgather, collective_alltoall };
static const char* const collective_names[] = {"allgather", "alltoall"};
static const int largest_count = 100003;

/* ---- allreduce -------------------------------------------------------------------------------------------------- */

static void check_sum_int(MPI_Comm comm, int count, int in_place, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int* input = allocate(sizeof(int) * (size_t)count);
  int* output = allocate(sizeof(int) * (size_t)count);
  for (int i = 0; i < count; ++i) input[i] = i % 1000 * (rank + 1) - rank;
  if (in_place) memcpy(output, input, sizeof(int) * (size_t)count);
  MPI_Allreduce(in_place ? MPI_IN_PLACE : input, output, count, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", served && count > 0, "int sum");
  for (int i = 0; i < count; ++i) {
    const int expected = i % 1000 * (size * (size + 1) / 2) - size * (size - 1) / 2;
    CHECK(output[i] == expected, "element %d of %d is %d, not %d", i, count, output[i], expected);
    CHECK(in_place || input[i] == i % 1000 * (rank + 1) - rank, "input changed at %d of %d", i, count);
  }
  free(input);
  free(output);
}

static void check_max_double(MPI_Comm comm, int count, int in_place, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  double* input = allocate(sizeof(double) * (size_t)count);
  double* output = allocate(sizeof(double) * (size_t)count);
  /* The greatest value of element i is on rank i mod size. */
  for (int i = 0; i < count; ++i) input[i] = i + 0.5 * (rank == i % size) - 100.0 * (rank != i % size);
  if (in_place) memcpy(output, input, sizeof(double) * (size_t)count);
  MPI_Allreduce(in_place ? MPI_IN_PLACE : input, output, count, MPI_DOUBLE, MPI_MAX, comm);
  expect_call("allreduce", served && count > 0, "double max");
  for (int i = 0; i < count; ++i) CHECK(output[i] == i + 0.5, "element %d of %d is %g", i, count, output[i]);
  free(input);
  free(output);
}

static void check_xor_byte(MPI_Comm comm, int count, int in_place, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  unsigned char* input = allocate((size_t)count);
  unsigned char* output = allocate((size_t)count);
  for (int i = 0; i < count; ++i) input[i] = (unsigned char)mixed((uint64_t)i * 64 + (uint64_t)rank);
  if (in_place) memcpy(output, input, (size_t)count);
  MPI_Allreduce(in_place ? MPI_IN_PLACE : input, output, count, MPI_BYTE, MPI_BXOR, comm);
  expect_call("allreduce", served && count > 0, "byte xor");
  for (int i = 0; i < count; ++i) {
    unsigned char expected = 0;
    for (int r = 0; r < size; ++r) expected ^= (unsigned char)mixed((uint64_t)i * 64 + (uint64_t)r);
    CHECK(output[i] == expected, "element %d of %d is %d, not %d", i, count, output[i], expected);
  }
  free(input);
  free(output);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* The block that `source` has for `destination`; an allgather's does not depend on the destination. */
static void fill(unsigned char* block, size_t bytes, int collective, int source, int destination) {
  const uint64_t key = (uint64_t)source * 1000 + (uint64_t)(collective == collective_alltoall ? destination : 999);
  for (size_t i = 0; i < bytes; ++i) block[i] = (unsigned char)((mixed(key) >> (i % 8 * 7)) + i * 31);
}

static void check_blocks(int collective, MPI_Comm comm, int count, MPI_Datatype type, int in_place, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int element = 0;
  MPI_Type_size(type, &element);
  const size_t block = (size_t)count * (size_t)element;
  const size_t sent_blocks = collective == collective_alltoall ? (size_t)size : 1;
  unsigned char* input = allocate(sent_blocks * block);
  unsigned char* output = allocate((size_t)size * block);
  unsigned char* expected = allocate((size_t)size * block);
  memset(output, 0x5a, (size_t)size * block);
  for (size_t b = 0; b < sent_blocks; ++b) fill(input + b * block, block, collective, rank, (int)b);
  for (int source = 0; source < size; ++source) {
    fill(expected + (size_t)source * block, block, collective, source, rank);
  }
  if (in_place) memcpy(output + (sent_blocks == 1 ? (size_t)rank * block : 0), input, sent_blocks * block);
  const void* send = in_place ? MPI_IN_PLACE : input;
  if (collective == collective_alltoall) {
    MPI_Alltoall(send, count, type, output, count, type, comm);
  } else {
    MPI_Allgather(send, count, type, output, count, type, comm);
  }
  expect_call(collective_names[collective], served && count > 0, in_place ? "in place" : "contiguous");
  CHECK(memcmp(output, expected, (size_t)size * block) == 0, "%s of %d × %d bytes%s: wrong result",
        collective_names[collective], count, element, in_place ? " in place" : "");
  free(input);
  free(output);
  free(expected);
}

static void check_count(MPI_Comm comm, int count, int served) {
  MPI_Datatype text;
  MPI_Type_contiguous(13, MPI_CHAR, &text);
  MPI_Type_commit(&text);
  for (int in_place = 0; in_place < 2; ++in_place) {
    check_sum_int(comm, count, in_place, served);
    check_max_double(comm, count, in_place, served);
    check_xor_byte(comm, count, in_place, served);
    for (int collective = 0; collective < 2; ++collective) {
      check_blocks(collective, comm, count, MPI_INT, in_place, served);
      if (count == largest_count) continue; /* one type of this size is enough */
      check_blocks(collective, comm, count, MPI_DOUBLE, in_place, served);
      check_blocks(collective, comm, count, text, in_place, served);
    }
  }
  MPI_Type_free(&text);
}

/* ---- communicators ---------------------------------------------------------------------------------------------- */

static void check_on_split(int color, int key) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &part);
  const int served = nodes_spanned(part) > 1;
  for (int count = 0; count < 3; ++count) check_count(part, count * 17, served);
  MPI_Comm_free(&part);
}

static void check_duplicates(void) {
  MPI_Comm kept;
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  check_count(kept, 5, 1);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm duplicate;
    MPI_Comm_dup(i % 2 == 0 ? MPI_COMM_WORLD : kept, &duplicate);
    check_count(duplicate, 3 + i, 1);
    check_count(kept, 4 + i, 1);
    MPI_Comm_free(&duplicate);
  }
  check_count(MPI_COMM_WORLD, 6, 1);
  MPI_Comm_free(&kept);
}

/* Each group receives the sum of the other. */
static void check_inter_communicator(int rank, int size) {
  const int half = size / 2;
  const int upper = rank >= half;
  MPI_Comm group;
  MPI_Comm between;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, upper ? 0 : half, 7, &between);
  const int mine = 1 << rank;
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
  expect_call("allreduce", 0, "inter-communicator");
  const int lower_sum = (1 << half) - 1;
  const int upper_sum = (1 << size) - 1 - lower_sum;
  CHECK(sum == (upper ? lower_sum : upper_sum), "inter-communicator sum is %d", sum);
  MPI_Comm_free(&between);
  MPI_Comm_free(&group);
}

/* ---- datatypes -------------------------------------------------------------------------------------------------- */

/* Ways to say "four ints". Element e of a buffer begins at e·extent; its ints lie at the given offsets from there. */
enum { ints_per_block = 4, layout_count = 10 };
struct Layout {
  MPI_Datatype type;
  int count;                   /* elements in a block */
  int extent;                  /* bytes */
  int offsets[ints_per_block]; /* bytes, of the ints of one element in the order of the type map */
};

static MPI_Datatype structure(void) {
  MPI_Datatype type;
  const int lengths[3] = {1, 2, 1};
  const MPI_Aint displacements[3] = {0, 8, 20};
  const MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Type_create_struct(3, lengths, displacements, types, &type);
  return type;
}

static void make_layouts(struct Layout* layouts) {
  const struct Layout made[layout_count] = {
      {MPI_INT, 4, 4, {0}},
      {contiguous(4), 1, 16, {0, 4, 8, 12}},
      {vector(4, 2), 1, 28, {0, 8, 16, 24}},
      {indexed(4, (const int[]){3, 0, 2, 1}), 1, 16, {12, 0, 8, 4}},
      {resized(contiguous(4), -8, 24), 1, 24, {0, 4, 8, 12}},
      {structure(), 1, 24, {0, 8, 12, 20}},
      {resized(vector(2, 3), 0, 24), 2, 24, {0, 12}},
      {indexed(4, (const int[]){-2, 1, -5, 3}), 1, 36, {-8, 4, -20, 12}},
      {duplicate(contiguous(2)), 2, 8, {0, 4}},
      {duplicate(indexed(4, (const int[]){1, 0, 3, 2})), 1, 16, {4, 0, 12, 8}},
  };
  for (int i = 0; i < layout_count; ++i) {
    layouts[i] = made[i];
    if (layouts[i].type == MPI_INT) continue;
    MPI_Type_commit(&layouts[i].type);
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(layouts[i].type, &lower_bound, &extent);
    CHECK(extent == layouts[i].extent, "layout %d has extent %ld", i, (long)extent);
  }
}

/* Address of int k of a block. */
static unsigned char* place(const struct Layout* layout, unsigned char* base, int block, int k) {
  const int per_element = ints_per_block / layout->count;
  const int element = block * layout->count + k / per_element;
  return base + (long)element * layout->extent + layout->offsets[k % per_element];
}

static void put_block(const struct Layout* layout, unsigned char* base, int block, int source, int destination) {
  for (int k = 0; k < ints_per_block; ++k) {
    const int value = (source * 100 + destination) * 10 + k;
    memcpy(place(layout, base, block, k), &value, sizeof value);
  }
}

static void check_layouts(int collective, const struct Layout* from, const struct Layout* to, int in_place) {
  enum { margin = 64, most_ranks = 64, room = 2 * margin + most_ranks * 64 };
  static unsigned char input[room];
  static unsigned char output[room];
  static unsigned char expected[room];
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int all = collective == collective_alltoall;
  memset(input, 0x11, room);
  memset(output, 0x5a, room);
  memset(expected, 0x5a, room); /* what lies in the gaps stays */
  for (int block = 0; block < size; ++block) {
    if (all || block == 0) put_block(from, input + margin, block, rank, all ? block : 99);
    if (in_place && (all || block == rank)) put_block(to, output + margin, block, rank, all ? block : 99);
    put_block(to, expected + margin, block, block, all ? rank : 99);
  }
  const void* send = in_place ? MPI_IN_PLACE : input + margin;
  if (all) {
    MPI_Alltoall(send, from->count, from->type, output + margin, to->count, to->type, MPI_COMM_WORLD);
  } else {
    MPI_Allgather(send, from->count, from->type, output + margin, to->count, to->type, MPI_COMM_WORLD);
  }
  expect_call(collective_names[collective], 1, "layouts");
  CHECK(memcmp(output, expected, room) == 0, "%s, derived datatypes%s", collective_names[collective],
        in_place ? " in place" : "");
}

static void check_datatypes(void) {
  struct Layout layouts[layout_count];
  make_layouts(layouts);
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int collective = 0; collective < 2; ++collective) {
    for (int i = 0; i < layout_count; ++i) {
      const struct Layout* to = &layouts[(rank * 3 + i) % layout_count];
      check_layouts(collective, to, to, 1);
      for (int shift = 0; shift < 3; ++shift) {
        check_layouts(collective, &layouts[(rank + i) % layout_count], &layouts[(rank * 3 + i + shift) % layout_count],
                      0);
        check_layouts(collective, &layouts[i], &layouts[(i + shift) % layout_count], 0);
      }
    }
  }
  for (int i = 1; i < layout_count; ++i) MPI_Type_free(&layouts[i].type);
}

int CASE(collectives)(int argc, char** argv) {
  const int small = argc > 1 && strcmp(argv[1], "small") == 0;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int counts[] = {0, 1, size - 1, size, size + 1, 1000, largest_count};
  for (int i = 0; i < 7 - small; ++i) check_count(MPI_COMM_WORLD, counts[i], 1);
  check_datatypes();
  check_on_split(rank % 2, rank);
  check_on_split(rank, 0);
  check_on_split(0, -rank); /* every node, in reversed order */
  check_count(MPI_COMM_SELF, 10, 0);
  check_duplicates();
  check_inter_communicator(rank, size);
  return 0;
}
