/* Every collective on communicators of all kinds, against MPI's own results, with what is served asserted.
 *   subcommunicators all DIMENSION…   rows, planes, scattered sets, … of a torus whose nodes are the ranks
 *   subcommunicators nodes            sets of ranks where nodes have several (LIBCOLL_HOST)
 *   subcommunicators reuse            more communicators one after the other than there can be at a time
 *   subcommunicators background       calls fall through until the plan is there */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { most_ranks = 64, most_dimensions = 4 };

/* ---- all collectives on one communicator ---------------------------------------------------------------------------
 */

struct Buffers {
  int* input;
  int* output;
  int* expected;
  size_t ints;
};

static struct Buffers make_buffers(MPI_Comm comm, size_t ints) {
  const struct Buffers buffers = {allocate(ints * sizeof(int)), allocate(ints * sizeof(int)),
                                  allocate(ints * sizeof(int)), ints};
  const uint64_t key = (uint64_t)rank_in(MPI_COMM_WORLD) * 1000003 + (uint64_t)size_of(comm);
  for (size_t i = 0; i < ints; ++i) buffers.input[i] = (int)(mixed(key + i * 131) % 100003);
  memset(buffers.output, 0x5a, ints * sizeof(int));
  memset(buffers.expected, 0x5a, ints * sizeof(int));
  return buffers;
}

static void compare(struct Buffers* buffers, const char* collective, int served, const char* what) {
  expect_call(collective, served, what);
  CHECK(memcmp(buffers->output, buffers->expected, buffers->ints * sizeof(int)) == 0, "%s on %s: wrong result",
        collective, what);
  memset(buffers->output, 0x5a, buffers->ints * sizeof(int));
  memset(buffers->expected, 0x5a, buffers->ints * sizeof(int));
}

static void check_equal(MPI_Comm comm, int count, int served, const char* what) {
  const int size = size_of(comm);
  struct Buffers b = make_buffers(comm, (size_t)count * (size_t)size);
  MPI_Allreduce(b.input, b.output, count, MPI_INT, MPI_SUM, comm);
  NATIVE(Allreduce)(b.input, b.expected, count, MPI_INT, MPI_SUM, comm);
  compare(&b, "allreduce", served, what);
  MPI_Allgather(b.input, count, MPI_INT, b.output, count, MPI_INT, comm);
  NATIVE(Allgather)(b.input, count, MPI_INT, b.expected, count, MPI_INT, comm);
  compare(&b, "allgather", served, what);
  MPI_Alltoall(b.input, count, MPI_INT, b.output, count, MPI_INT, comm);
  NATIVE(Alltoall)(b.input, count, MPI_INT, b.expected, count, MPI_INT, comm);
  compare(&b, "alltoall", served, what);
  MPI_Reduce_scatter_block(b.input, b.output, count, MPI_INT, MPI_MAX, comm);
  NATIVE(Reduce_scatter_block)(b.input, b.expected, count, MPI_INT, MPI_MAX, comm);
  compare(&b, "reduce_scatter_block", served, what);
  free(b.input);
  free(b.output);
  free(b.expected);
}

static void check_unequal(MPI_Comm comm, int count, int served, const char* what) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  int counts[most_ranks];
  int offsets[most_ranks];
  int sent[most_ranks];
  int sent_offsets[most_ranks];
  int received[most_ranks];
  int received_offsets[most_ranks];
  int total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = count + r % 3;
    offsets[r] = total;
    total += counts[r];
    sent[r] = 1 + (rank + 2 * r) % 3;
    received[r] = 1 + (r + 2 * rank) % 3;
    sent_offsets[r] = 3 * r;
    received_offsets[r] = 3 * r;
  }
  struct Buffers b = make_buffers(comm, (size_t)total + 3 * (size_t)size);
  MPI_Allgatherv(b.input, counts[rank], MPI_INT, b.output, counts, offsets, MPI_INT, comm);
  NATIVE(Allgatherv)(b.input, counts[rank], MPI_INT, b.expected, counts, offsets, MPI_INT, comm);
  compare(&b, "allgatherv", served, what);
  MPI_Alltoallv(b.input, sent, sent_offsets, MPI_INT, b.output, received, received_offsets, MPI_INT, comm);
  NATIVE(Alltoallv)(b.input, sent, sent_offsets, MPI_INT, b.expected, received, received_offsets, MPI_INT, comm);
  compare(&b, "alltoallv", served, what);
  MPI_Reduce_scatter(b.input, b.output, counts, MPI_INT, MPI_SUM, comm);
  NATIVE(Reduce_scatter)(b.input, b.expected, counts, MPI_INT, MPI_SUM, comm);
  compare(&b, "reduce_scatter", served, what);
  const int root = size - 1;
  if (rank == root) memcpy(b.output, b.input, (size_t)count * sizeof(int));
  if (rank == root) memcpy(b.expected, b.input, (size_t)count * sizeof(int));
  MPI_Bcast(b.output, count, MPI_INT, root, comm);
  NATIVE(Bcast)(b.expected, count, MPI_INT, root, comm);
  compare(&b, "bcast", served, what);
  MPI_Reduce(b.input, b.output, count, MPI_INT, MPI_BXOR, root, comm);
  NATIVE(Reduce)(b.input, b.expected, count, MPI_INT, MPI_BXOR, root, comm);
  compare(&b, "reduce", served, what);
  free(b.input);
  free(b.output);
  free(b.expected);
}

/* libcoll-runtime(7) tells what is served where. */
static void check_all(MPI_Comm comm, const char* what) {
  const int nodes = nodes_spanned(comm);
  const int counts[] = {1, 50, 3001};
  for (int i = 0; i < 3; ++i) {
    check_equal(comm, counts[i], nodes > 1, what);
    check_unequal(comm, counts[i], nodes > 1, what);
  }
}

static void check_split(int color, int key, const char* what) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &part);
  if (part == MPI_COMM_NULL) return;
  check_all(part, what);
  MPI_Comm_free(&part);
}

/* ---- a rank per node ------------------------------------------------------------------------------------------------
 */

static void check_grid(int dimensions, const int* lengths) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int wraps[most_dimensions] = {1, 1, 1, 1};
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths, wraps, 0, &grid);
  check_all(grid, "grid");
  int place[most_dimensions];
  MPI_Cart_coords(grid, rank, dimensions, place);
  int parity = 0;
  for (int d = 0; d < dimensions; ++d) {
    int along[most_dimensions] = {0};
    int across[most_dimensions] = {1, 1, 1, 1};
    along[d] = 1;
    across[d] = 0;
    MPI_Comm row;
    MPI_Comm plane;
    MPI_Cart_sub(grid, along, &row);
    MPI_Cart_sub(grid, across, &plane);
    check_all(row, "row");
    check_all(plane, "plane");
    MPI_Comm copy;
    MPI_Comm_dup(row, &copy);
    check_all(copy, "copy of a row");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&row);
    MPI_Comm_free(&plane);
    parity += place[d];
  }
  check_split(parity % 2, rank, "every second node");
  check_split(parity % 2, -rank, "every second node, in reverse");
  MPI_Comm_free(&grid);
}

static void check_group(void) {
  const int size = size_of(MPI_COMM_WORLD);
  const int ranks[] = {size - 1, 0, size / 2};
  MPI_Group world;
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 3, ranks, &group);
  int place = 0;
  MPI_Group_rank(group, &place);
  if (place != MPI_UNDEFINED) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made);
    check_all(made, "group");
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* What else makes communicators of one. */
static void check_other_makers(void) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int before = (rank + size - 1) % size;
  const int after = (rank + 1) % size;
  const int weight = 1;
  MPI_Group world;
  MPI_Group upper;
  MPI_Request request;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[][3]){{size / 2, size - 1, 1}}, &upper);
  MPI_Comm_create(MPI_COMM_WORLD, upper, &made);
  if (made != MPI_COMM_NULL) {
    check_all(made, "created");
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&upper);
  MPI_Group_free(&world);
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_all(made, "duplicate made meanwhile");
  MPI_Comm_free(&made);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made);
  check_all(made, "duplicate with hints");
  MPI_Comm_free(&made);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made);
  check_all(made, "those of a host");
  MPI_Comm_free(&made);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &after, &weight, MPI_INFO_NULL, 0, &made);
  check_all(made, "ring as a graph");
  MPI_Comm_free(&made);
}

/* Several at a time, which share processes: their messages must not mix. */
static void check_many(void) {
  enum { many = 12 };
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm parts[many];
  for (int i = 0; i < many; ++i)
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) / (2 + i % 2), rank * (1 - i % 3), &parts[i]);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < many; ++i) check_equal(parts[i], 10 + i, nodes_spanned(parts[i]) > 1, "one of many");
  }
  for (int i = many - 1; i >= 0; --i) MPI_Comm_free(&parts[i]);
}

static void check_torus(int dimensions, const int* lengths) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  /* A part first: the world has not been agreed on then. */
  check_split(rank < size / 2, rank, "half");
  check_grid(dimensions, lengths);
  check_split(0, -rank, "world in reverse");
  check_split(0, (rank * 5 + 3) % size, "world in disorder");
  check_split(rank == 0 || rank == size - 1 ? 1 : MPI_UNDEFINED, rank, "two ends");
  check_split(rank % 3 == 0, rank, "every third");
  check_split(rank == 0, rank, "all but one");
  check_group();
  check_other_makers();
  check_many();
}

/* ---- several ranks per node -----------------------------------------------------------------------------------------
 */

static void check_nodes(void) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  /* Who is where only the whole world can tell: what comes before is left to MPI. */
  MPI_Comm early;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &early);
  check_equal(early, 10, 0, "before the world");
  check_all(MPI_COMM_WORLD, "world");
  check_equal(early, 10, 0, "agreed before the world");
  MPI_Comm_free(&early);
  check_split(rank % 2, rank, "every second");
  check_split(rank < size / 2, -rank, "halves");
  check_split(rank == size - 1, rank, "all but one");
  check_split(rank % 3, rank, "every third");
}

/* ---- one after the other --------------------------------------------------------------------------------------------
 */

static void check_reuse(void) {
  enum { warm_up = 500, all = 4200, allowed_kilobytes = 16 * 1024 };
  const int size = size_of(MPI_COMM_WORLD);
  struct rusage usage;
  long before = 0;
  for (int i = 0; i < all; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    expect_call("allreduce", 1, "one of thousands");
    CHECK(sum == size, "sum %d", sum);
    MPI_Comm_free(&copy);
    getrusage(RUSAGE_SELF, &usage);
    if (i == warm_up) before = usage.ru_maxrss;
  }
  CHECK(usage.ru_maxrss - before < allowed_kilobytes, "memory grew by %ld KiB", usage.ru_maxrss - before);
}

/* ---- in the background ----------------------------------------------------------------------------------------------
 */

static void check_background(void) {
  enum { most_calls = 500000 };
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  const MPI_Comm comms[] = {MPI_COMM_WORLD, part};
  for (int c = 0; c < 2; ++c) {
    const int ranks = size_of(comms[c]);
    const long before = served_calls("alltoall");
    int calls = 0;
    while (served_calls("alltoall") == before) {
      int sent[most_ranks];
      int received[most_ranks];
      for (int r = 0; r < ranks; ++r) sent[r] = rank_in(comms[c]) * 100 + r + calls;
      MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comms[c]);
      for (int r = 0; r < ranks; ++r) CHECK(received[r] == r * 100 + rank_in(comms[c]) + calls, "call %d", calls);
      CHECK(++calls < most_calls, "no plan after %d calls", calls);
    }
    /* The switch is in the same call everywhere. The first cannot be it, but where the other half, whose plan is the
     * same, was quicker. */
    int bounds[2] = {calls, -calls};
    NATIVE(Allreduce)(MPI_IN_PLACE, bounds, 2, MPI_INT, MPI_MAX, comms[c]);
    CHECK(bounds[0] == calls && bounds[1] == -calls && (calls > 1 || c > 0), "served from call %d on", calls);
  }
  /* What is quick to plan is served from the first call on. */
  int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
  CHECK(sum == size_of(part) && served_calls("allreduce") == 1, "not served at once");
  MPI_Comm_free(&part);
  CHECK(size > 1, "one rank");
}

int CASE(subcommunicators)(int argc, char** argv) {
  CHECK(argc > 1 && size_of(MPI_COMM_WORLD) <= most_ranks, "wrong usage");
  if (strcmp(argv[1], "all") == 0) {
    int lengths[most_dimensions] = {0};
    for (int d = 0; d < argc - 2; ++d) lengths[d] = atoi(argv[d + 2]);
    check_torus(argc - 2, lengths);
  } else if (strcmp(argv[1], "nodes") == 0) {
    check_nodes();
  } else if (strcmp(argv[1], "reuse") == 0) {
    check_reuse();
  } else {
    check_background();
  }
  return 0;
}
