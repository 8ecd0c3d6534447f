/* Allgatherv, alltoallv, bcast and alltoallw over counts, displacements, communicators and datatypes, bitwise as MPI's
 * own do it (PMPI). Open MPI 4.1.4's allgatherv picks its algorithm by the size of the rank's own datatype and hangs
 * when ranks pick differently; with a datatype for each rank, its point-to-point messages are the reference. vectors
 * [small] */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "derived.h"

enum { most_ranks = 64, margin = 64 };

/* ---- datatypes -------------------------------------------------------------------------------------------------- */

/* Ways to say "two ints": `per_pair` elements of the type each. Every rank may have its own. */
enum { form_count = 6 };
struct Form {
  MPI_Datatype type;
  int per_pair;
};

static void make_forms(struct Form* forms) {
  const struct Form made[form_count] = {
      {MPI_INT, 2},
      {vector(2, 1), 1},
      {vector(2, 3), 1},
      {resized(vector(2, 1), -8, 24), 1},
      {indexed(2, (const int[]){1, 0}), 1},
      {resized(vector(2, 2), 0, 16), 1},
  };
  for (int i = 0; i < form_count; ++i) {
    forms[i] = made[i];
    if (forms[i].type != MPI_INT) MPI_Type_commit(&forms[i].type);
  }
}

static void free_forms(struct Form* forms) {
  for (int i = 1; i < form_count; ++i) MPI_Type_free(&forms[i].type);
}

static long extent_of(MPI_Datatype type) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower_bound, &extent);
  return (long)extent;
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* One buffer of a call: blocks of some elements of a form, lying in reverse order with an element left between. */
struct Side {
  struct Form form;
  int counts[most_ranks];        /* elements of the type */
  int displacements[most_ranks]; /* elements of the type */
  size_t bytes;                  /* margins included */
};

static struct Side make_side(struct Form form, const int* pairs, int blocks) {
  struct Side side = {form, {0}, {0}, 0};
  int next = 0;
  for (int block = blocks - 1; block >= 0; --block) {
    side.counts[block] = pairs[block] * form.per_pair;
    side.displacements[block] = next;
    next += side.counts[block] + 1;
  }
  side.bytes = 2 * margin + (size_t)(next + 1) * (size_t)extent_of(form.type);
  return side;
}

static unsigned char* make_memory(size_t bytes, int rank, int number) {
  unsigned char* memory = allocate(bytes);
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; ++i, bits >>= 8) {
    if (i % sizeof bits == 0) bits = mixed(((uint64_t)rank << 40) + i * 4 + (uint64_t)number);
    memory[i] = (unsigned char)bits;
  }
  return memory;
}

/* Pairs of ints of a block: few, none, odd numbers of them, many. */
static int pairs_of(int owner, int other, int base) {
  const uint64_t bits = mixed((uint64_t)owner * 1000 + (uint64_t)other * 31 + (uint64_t)base);
  if (base <= 1) return bits % 2 == 0 ? base : 0;
  const int choices[4] = {0, 1, base, base / 2 + (int)(bits / 4 % 3)};
  return choices[bits % 4];
}

/* ---- allgatherv ------------------------------------------------------------------------------------------------- */

/* The rank's block to every rank, each block to its place. */
static void gather_by_messages(const void* sent, int count, MPI_Datatype from, unsigned char* base,
                               const struct Side* receive, MPI_Comm comm) {
  const int size = size_of(comm);
  MPI_Request requests[2 * most_ranks];
  for (int r = 0; r < size; ++r) {
    PMPI_Irecv(base + receive->displacements[r] * extent_of(receive->form.type), receive->counts[r], receive->form.type,
               r, 5, comm, &requests[2 * r]);
    PMPI_Isend(sent, count, from, r, 5, comm, &requests[2 * r + 1]);
  }
  NATIVE(Waitall)(2 * size, requests, MPI_STATUSES_IGNORE);
}

/* `alike`: every rank has the same datatypes. */
static void check_allgatherv(MPI_Comm comm, const int* pairs, struct Form from, struct Form to, int alike, int in_place,
                             int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const struct Side send = make_side(from, pairs + rank, 1);
  const struct Side receive = make_side(to, pairs, size);
  unsigned char* input = make_memory(send.bytes, rank, 0);
  unsigned char* kept = make_memory(send.bytes, rank, 0);
  unsigned char* output = make_memory(receive.bytes, rank, 1);
  unsigned char* expected = make_memory(receive.bytes, rank, 1);
  const void* sent = in_place ? MPI_IN_PLACE : input + margin;
  int total = 0;
  for (int r = 0; r < size; ++r) total += pairs[r];
  if (alike) {
    NATIVE(Allgatherv)
    (sent, send.counts[0], from.type, expected + margin, receive.counts, receive.displacements, to.type, comm);
  } else {
    gather_by_messages(sent, send.counts[0], from.type, expected + margin, &receive, comm);
  }
  MPI_Allgatherv(sent, send.counts[0], from.type, output + margin, receive.counts, receive.displacements, to.type,
                 comm);
  expect_call("allgatherv", served && total > 0, "gathered");
  CHECK(memcmp(output, expected, receive.bytes) == 0, "allgatherv of %d pairs%s", total, in_place ? " in place" : "");
  CHECK(memcmp(input, kept, send.bytes) == 0, "allgatherv changed its input");
  free(input);
  free(kept);
  free(output);
  free(expected);
}

static void check_all_allgatherv(MPI_Comm comm, int base, int served) {
  struct Form forms[form_count];
  make_forms(forms);
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int pairs[most_ranks] = {0};
  for (int kind = 0; kind < 3; ++kind) {
    /* Mixed lengths; one rank alone has something; all the same. */
    for (int r = 0; r < size; ++r) {
      pairs[r] = kind == 0 ? pairs_of(r, 0, base) : kind == 1 ? (r == size - 1 ? base : 0) : base;
    }
    for (int i = 0; i < form_count; ++i) {
      check_allgatherv(comm, pairs, forms[i], forms[(i + kind) % form_count], 1, kind == 2, served);
      /* Open MPI 4.1 has every rank choose an algorithm by its own datatype, and waits for ever where they differ. */
      if (!may_be_native()) {
        check_allgatherv(comm, pairs, forms[(rank + i) % form_count], forms[(3 * rank + i) % form_count], 0, 0, served);
      }
      if (base > 1000) break; /* one of this size is enough */
    }
  }
  free_forms(forms);
}

/* ---- alltoallv -------------------------------------------------------------------------------------------------- */

enum Pattern { pattern_mixed, pattern_from_one, pattern_to_one, pattern_neighbours, pattern_nothing, pattern_count };

static int pairs_between(enum Pattern pattern, int source, int destination, int size, int base, int symmetric) {
  if (symmetric && source > destination) return pairs_between(pattern, destination, source, size, base, 0);
  switch (pattern) {
    case pattern_mixed:
      return pairs_of(source, destination + 1, base);
    case pattern_from_one:
      return source == size - 1 ? base : 0;
    case pattern_to_one:
      return destination == size / 2 ? base + source : 0;
    case pattern_neighbours:
      return (source + 1) % size == destination ? base : 0;
    case pattern_nothing:
    case pattern_count:
      break;
  }
  return 0;
}

static void check_alltoallv(MPI_Comm comm, enum Pattern pattern, int base, struct Form from, struct Form to,
                            int in_place, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int sent_pairs[most_ranks] = {0};
  int received_pairs[most_ranks] = {0};
  for (int r = 0; r < size; ++r) {
    sent_pairs[r] = pairs_between(pattern, rank, r, size, base, in_place);
    received_pairs[r] = pairs_between(pattern, r, rank, size, base, in_place);
  }
  const struct Side send = make_side(from, sent_pairs, size);
  const struct Side receive = make_side(to, received_pairs, size);
  unsigned char* input = make_memory(send.bytes, rank, 0);
  unsigned char* kept = make_memory(send.bytes, rank, 0);
  unsigned char* output = make_memory(receive.bytes, rank, 1);
  unsigned char* expected = make_memory(receive.bytes, rank, 1);
  const void* sent = in_place ? MPI_IN_PLACE : input + margin;
  NATIVE(Alltoallv)
  (sent, send.counts, send.displacements, from.type, expected + margin, receive.counts, receive.displacements, to.type,
   comm);
  MPI_Alltoallv(sent, send.counts, send.displacements, from.type, output + margin, receive.counts,
                receive.displacements, to.type, comm);
  expect_call("alltoallv", served, "exchanged");
  CHECK(memcmp(output, expected, receive.bytes) == 0, "alltoallv, pattern %d of %d pairs%s", (int)pattern, base,
        in_place ? " in place" : "");
  CHECK(memcmp(input, kept, send.bytes) == 0, "alltoallv changed its input");
  free(input);
  free(kept);
  free(output);
  free(expected);
}

static void check_all_alltoallv(MPI_Comm comm, int base, int served) {
  struct Form forms[form_count];
  make_forms(forms);
  const int rank = rank_in(comm);
  for (enum Pattern pattern = pattern_mixed; pattern < pattern_count; ++pattern) {
    for (int i = 0; i < form_count; ++i) {
      const struct Form own = forms[(rank + i) % form_count];
      check_alltoallv(comm, pattern, base, forms[i], forms[(i + 1) % form_count], 0, served);
      check_alltoallv(comm, pattern, base, own, forms[(3 * rank + i) % form_count], 0, served);
      check_alltoallv(comm, pattern, base, forms[i], forms[i], 1, served);
      if (base > 1000) break;
    }
  }
  free_forms(forms);
}

/* ---- bcast ------------------------------------------------------------------------------------------------------ */

static void check_bcast(MPI_Comm comm, int pairs, struct Form form, int alike, int root, int served) {
  const int rank = rank_in(comm);
  const struct Side side = make_side(form, &pairs, 1);
  unsigned char* buffer = make_memory(side.bytes, rank, 0);
  unsigned char* expected = make_memory(side.bytes, rank, 0);
  if (alike) {
    NATIVE(Bcast)(expected + margin, side.counts[0], form.type, root, comm);
  } else if (rank == root) {
    for (int r = 0; r < size_of(comm); ++r) {
      if (r != root) PMPI_Send(expected + margin, side.counts[0], form.type, r, 6, comm);
    }
  } else {
    PMPI_Recv(expected + margin, side.counts[0], form.type, root, 6, comm, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(buffer + margin, side.counts[0], form.type, root, comm);
  expect_call("bcast", served && pairs > 0, "broadcast");
  CHECK(memcmp(buffer, expected, side.bytes) == 0, "bcast of %d pairs from %d", pairs, root);
  free(buffer);
  free(expected);
}

/* The root goes ahead of the others as far as it may, past the 4096 calls after which tags come again. */
static void check_bcasts_in_a_row(MPI_Comm comm) {
  enum { calls = 5000 };
  for (int call = 0; call < calls; ++call) {
    int value = rank_in(comm) == 0 ? call : -1;
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    expect_call("bcast", 1, "in a row");
    CHECK(value == call, "call %d brought %d", call, value);
  }
}

static void check_all_bcast(MPI_Comm comm, int base, int served) {
  struct Form forms[form_count];
  make_forms(forms);
  const int rank = rank_in(comm);
  for (int root = 0; root < size_of(comm); ++root) {
    for (int i = 0; i < form_count; ++i) {
      check_bcast(comm, base, forms[i], 1, root, served);
      check_bcast(comm, base + i, forms[(rank + i) % form_count], 0, root, served);
      if (base > 1000) break;
    }
  }
  free_forms(forms);
}

/* A buffer by absolute addresses. */
static void check_bottom(MPI_Comm comm) {
  int values[3] = {rank_in(comm), -1, rank_in(comm) + 100};
  MPI_Aint addresses[2];
  MPI_Get_address(&values[0], &addresses[0]);
  MPI_Get_address(&values[2], &addresses[1]);
  MPI_Datatype type;
  const int lengths[2] = {1, 1};
  MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, &type);
  MPI_Type_commit(&type);
  const int root = size_of(comm) - 1;
  MPI_Bcast(MPI_BOTTOM, 1, type, root, comm);
  expect_call("bcast", 1, "absolute addresses");
  CHECK(values[0] == root && values[1] == -1 && values[2] == root + 100, "%d %d %d", values[0], values[1], values[2]);
  MPI_Type_free(&type);
}

/* ---- alltoallw -------------------------------------------------------------------------------------------------- */

static void check_alltoallw(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int counts[most_ranks];
  int displacements[most_ranks];
  MPI_Datatype types[most_ranks];
  int sent[most_ranks];
  int received[most_ranks];
  for (int r = 0; r < size; ++r) {
    counts[r] = 1;
    displacements[r] = r * (int)sizeof(int);
    types[r] = MPI_INT;
    sent[r] = rank * 100 + r;
  }
  MPI_Alltoallw(sent, counts, displacements, types, received, counts, displacements, types, comm);
  expect_call("alltoallw", 1, "datatype per pair");
  for (int r = 0; r < size; ++r) CHECK(received[r] == r * 100 + rank, "block of %d is %d", r, received[r]);
}

/* ---- communicators ---------------------------------------------------------------------------------------------- */

static void check_all(MPI_Comm comm, int base, int served) {
  check_all_allgatherv(comm, base, served);
  check_all_alltoallv(comm, base, served);
  check_all_bcast(comm, base, served);
}

static void check_on_split(int color, int key) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &part);
  check_all(part, 5, nodes_spanned(part) > 1);
  MPI_Comm_free(&part);
}

static void check_inter_communicator(int rank, int size) {
  const int half = size / 2;
  const int upper = rank >= half;
  MPI_Comm group;
  MPI_Comm between;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, upper ? 0 : half, 7, &between);
  int value = rank == 0 ? 17 : -1;
  const int root = upper ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&value, 1, MPI_INT, root, between);
  expect_call("bcast", 0, "inter-communicator");
  CHECK(value == (upper || rank == 0 ? 17 : -1), "inter-communicator brought %d", value);
  MPI_Comm_free(&between);
  MPI_Comm_free(&group);
}

int CASE(vectors)(int argc, char** argv) {
  const int small = argc > 1 && strcmp(argv[1], "small") == 0;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  CHECK(size <= most_ranks, "too many ranks");
  const int bases[] = {0, 1, 7, 500, 30001};
  for (int i = 0; i < 5 - small; ++i) check_all(MPI_COMM_WORLD, bases[i], 1);
  check_bottom(MPI_COMM_WORLD);
  check_alltoallw(MPI_COMM_WORLD);
  check_bcasts_in_a_row(MPI_COMM_WORLD);
  check_on_split(rank % 2, rank);
  check_on_split(0, -rank); /* every node, in reversed order */
  check_all(MPI_COMM_SELF, 3, 0);
  check_inter_communicator(rank, size);
  return 0;
}
