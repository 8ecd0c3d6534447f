/* Calls in which the ranks do not agree of themselves: one has other settings, or no libcoll, one has begun what the
 * others never join, or they disagree on lengths. The program ends where it ends without libcoll, and where it is right
 * its results are. Which calls are served is of no interest.
 *   agreement every                 all collectives, blocking, nonblocking and persistent, first nonblocking ones
 *   agreement begun                 rank 0 begins an igather that nobody joins
 *   agreement lengths CALL MORE     rank 0 calls with so many elements more than the others
 *   agreement later CALL MORE       the same after calls of which they agree
 *   agreement broken                rank 0 loses the connections that calls go over
 *   agreement late SECONDS          the last rank comes late to a collective */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most = 32768, sizes_count = 3 };
static const int sizes[sizes_count] = {1, 300, 20000};
static int input[16 * most];
static int output[16 * most];

static void require(int condition, const char* what, int size) {
  if (condition) return;
  fprintf(stderr, "agreement: %s of %d elements: wrong\n", what, size);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(int size, int value) {
  for (int i = 0; i < size; ++i) {
    input[i] = value;
    output[i] = -1;
  }
}

static int all_are(int size, int value) {
  for (int i = 0; i < size; ++i) {
    if (output[i] != value) return 0;
  }
  return 1;
}

static int blocks_are_ranks(int ranks, int size) {
  for (int i = 0; i < ranks * size; ++i) {
    if (output[i] != i / size) return 0;
  }
  return 1;
}

static void nonblocking(MPI_Comm comm, int size) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  fill(size, 1);
  MPI_Iallreduce(input, output, size, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(all_are(size, ranks), "iallreduce", size);
  fill(size, rank);
  MPI_Iallgather(input, size, MPI_INT, output, size, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(blocks_are_ranks(ranks, size), "iallgather", size);
  fill(ranks * size, rank);
  MPI_Ialltoall(input, size, MPI_INT, output, size, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(blocks_are_ranks(ranks, size), "ialltoall", size);
  fill(size, 7);
  if (rank == 0) memcpy(output, input, (size_t)size * sizeof(int));
  MPI_Ibcast(output, size, MPI_INT, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(all_are(size, 7), "ibcast", size);
  fill(size, 1);
  MPI_Ireduce(input, output, size, MPI_INT, MPI_SUM, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) require(all_are(size, ranks), "ireduce", size);
}

static void blocking(MPI_Comm comm, int size) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  fill(size, 1);
  MPI_Allreduce(input, output, size, MPI_INT, MPI_SUM, comm);
  require(all_are(size, ranks), "allreduce", size);
  fill(size, rank);
  MPI_Allgather(input, size, MPI_INT, output, size, MPI_INT, comm);
  require(blocks_are_ranks(ranks, size), "allgather", size);
  fill(ranks * size, rank);
  MPI_Alltoall(input, size, MPI_INT, output, size, MPI_INT, comm);
  require(blocks_are_ranks(ranks, size), "alltoall", size);
  fill(ranks * size, 1);
  MPI_Reduce_scatter_block(input, output, size, MPI_INT, MPI_SUM, comm);
  require(all_are(size, ranks), "reduce_scatter_block", size);
  fill(size, 7);
  if (rank == 1) memcpy(output, input, (size_t)size * sizeof(int));
  MPI_Bcast(output, size, MPI_INT, 1, comm);
  require(all_are(size, 7), "bcast", size);
  fill(size, 1);
  MPI_Reduce(input, output, size, MPI_INT, MPI_SUM, 1, comm);
  if (rank == 1) require(all_are(size, ranks), "reduce", size);
}

static void every(void) {
  /* Nonblocking calls first, then what waits for all ranks anyway. */
  nonblocking(MPI_COMM_WORLD, sizes[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < sizes_count; ++i) {
    nonblocking(MPI_COMM_WORLD, sizes[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    blocking(MPI_COMM_WORLD, sizes[i]);
  }
  /* Blocking ones first, and parts of the world. */
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm part = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2, 0, &part);
  blocking(copy, sizes[1]);
  nonblocking(copy, sizes[1]);
  if (rank < 2) blocking(part, sizes[1]);
  MPI_Comm_free(&part);
  MPI_Comm_free(&copy);
}

static void begun(void) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static int mine;
  static int all[64];
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Igather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int i = 0; i < sizes_count; ++i) blocking(MPI_COMM_WORLD, sizes[i]);
}

/* Rank 0 has one element more than the others, or one less. */
static void lengths(const char* collective, int more) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < sizes_count; ++i) {
    const int size = sizes[i] + (rank == 0 ? more : 0);
    if (strcmp(collective, "bcast") == 0) MPI_Bcast(output, size, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(collective, "reduce") == 0) MPI_Reduce(input, output, size, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (strcmp(collective, "allreduce") == 0) MPI_Allreduce(input, output, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(collective, "allgather") == 0) {
      MPI_Allgather(input, size, MPI_INT, output, size, MPI_INT, MPI_COMM_WORLD);
    }
    if (strcmp(collective, "alltoall") == 0) {
      MPI_Alltoall(input, size, MPI_INT, output, size, MPI_INT, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

enum { most_descriptors = 1024 };

/* Whether a descriptor is a connection over a network. */
static int is_connection(int descriptor) {
  struct sockaddr_storage peer;
  socklen_t bytes = sizeof peer;
  if (getpeername(descriptor, (struct sockaddr*)&peer, &bytes) != 0) return 0;
  return peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
}

/* Makes the connections that MPI itself sends by. */
static void connect_all(int rank, int ranks) {
  for (int distance = 1; distance < ranks; ++distance) {
    int word = rank;
    MPI_Sendrecv_replace(&word, 1, MPI_INT, (rank + distance) % ranks, 1, (rank - distance + ranks) % ranks, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 loses the connections that were made for the calls. Each rank's calls fail, or come to the right end. By
 * default settings some sizes are MPI's. */
static void broken(void) {
  static char were[most_descriptors];
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  connect_all(rank, ranks);
  for (int each = 0; each < most_descriptors; ++each) were[each] = (char)is_connection(each);
  for (int i = 0; i < sizes_count; ++i) blocking(MPI_COMM_WORLD, sizes[i]);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody is in a call */
  int lost = 0;
  for (int each = 0; rank == 0 && each < most_descriptors; ++each) {
    if (!were[each] && is_connection(each)) lost += shutdown(each, SHUT_RDWR) == 0;
  }
  if (rank == 0) fprintf(stderr, "agreement: %d connections lost\n", lost);
  int failed = 0;
  for (int i = 0; i < sizes_count && !failed; ++i) {
    fill(sizes[i], 1);
    failed = MPI_Allreduce(input, output, sizes[i], MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    if (!failed) require(all_are(sizes[i], ranks), "allreduce", sizes[i]);
  }
  fprintf(stderr, "agreement: a call %s\n", failed ? "failed" : "went on");
}

/* What was begun and never joined would keep MPI_Finalize waiting. */
static void end(void) {
  int rank = 0;
  int ranks = 0;
  int word = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank > 0) MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < ranks; ++i) {
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank > 0) pause();
  fprintf(stderr, "agreement: all ended\n");
  MPI_Abort(MPI_COMM_WORLD, 0);
}

static void late(int seconds) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  blocking(MPI_COMM_WORLD, sizes[1]);
  if (rank == ranks - 1) sleep((unsigned)seconds);
  blocking(MPI_COMM_WORLD, sizes[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "every";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(what, "every") == 0) every();
  if (strcmp(what, "begun") == 0) begun();
  const int has_lengths = (strcmp(what, "lengths") == 0 || strcmp(what, "later") == 0) && argc == 4;
  if (strcmp(what, "later") == 0) blocking(MPI_COMM_WORLD, sizes[0]);
  if (has_lengths) lengths(argv[2], atoi(argv[3]));
  if (strcmp(what, "late") == 0) late(argc > 2 ? atoi(argv[2]) : 1);
  if (strcmp(what, "broken") == 0) broken();
  if (strcmp(what, "broken") == 0 || strcmp(what, "begun") == 0 || has_lengths) end();
  MPI_Finalize();
  return 0;
}
