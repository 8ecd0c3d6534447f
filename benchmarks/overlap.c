/* How much of a nonblocking or persistent collective hides behind computation, by OSU's measure (osu_iallreduce, ...).
 *
 *   overlap [persistent] COLLECTIVE BYTES CALLS
 *
 * COLLECTIVE: allreduce, reduce, bcast (bytes of the vector), reduce_scatter_block, allgather or alltoall (of a block).
 * Reductions are sums of float, and the root is rank 0. The computation takes as long as the call followed by its wait,
 * and no MPI function is called in it. Rank 0 prints, as means over calls and ranks in microseconds:
 *
 *   BYTES  call + wait  computation  call + computation + wait  overlap in percent  calls served by libcoll
 *
 * OSU takes the computation's time from the loop that overlaps. Here it is measured apart, so that processor time that
 * progress takes from the computation counts as not hidden. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_mpi.h"

struct Collective;

struct Call {
  const struct Collective* collective;
  int is_persistent;
  size_t bytes;
  int rank;
  int ranks;
  float* send;
  float* receive;
  MPI_Request request;
};

/* What a collective does with a call: begins it, or makes its persistent request; `elements` are floats of `bytes`. */
struct Collective {
  const char* name;
  int sends_to_each, receives_from_each, sums;
  void (*begin)(struct Call* call, int elements, int bytes);
  void (*init)(struct Call* call, int elements, int bytes);
};

#define WORLD MPI_COMM_WORLD, &call->request
#define WORLD_INIT MPI_COMM_WORLD, MPI_INFO_NULL, &call->request
#define VECTORS call->send, call->receive
#define BLOCKS call->send, bytes, MPI_BYTE, call->receive, bytes, MPI_BYTE

/* Both forms of a collective: its arguments up to the communicator are the same. */
#define BOTH_FORMS(name, Name, ...)                                      \
  static void begin_##name(struct Call* call, int elements, int bytes) { \
    (void)elements, (void)bytes;                                         \
    MPI_I##name(__VA_ARGS__, WORLD);                                     \
  }                                                                      \
  static void init_##name(struct Call* call, int elements, int bytes) {  \
    (void)elements, (void)bytes;                                         \
    PERSISTENT(Name)(__VA_ARGS__, WORLD_INIT);                           \
  }
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): the caller waits for the request. */
BOTH_FORMS(allreduce, Allreduce, VECTORS, elements, MPI_FLOAT, MPI_SUM)
BOTH_FORMS(reduce, Reduce, VECTORS, elements, MPI_FLOAT, MPI_SUM, 0)
BOTH_FORMS(bcast, Bcast, call->receive, bytes, MPI_BYTE, 0)
BOTH_FORMS(reduce_scatter_block, Reduce_scatter_block, VECTORS, elements, MPI_FLOAT, MPI_SUM)
BOTH_FORMS(allgather, Allgather, BLOCKS)
BOTH_FORMS(alltoall, Alltoall, BLOCKS)
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

#define COLLECTIVE(name, to_each, from_each, sums) \
  { #name, to_each, from_each, sums, begin_##name, init_##name }
static const struct Collective collectives[] = {
    COLLECTIVE(allreduce, 0, 0, 1), COLLECTIVE(reduce, 0, 0, 1),
    COLLECTIVE(bcast, 0, 0, 0),     COLLECTIVE(reduce_scatter_block, 1, 0, 1),
    COLLECTIVE(allgather, 0, 1, 0), COLLECTIVE(alltoall, 1, 1, 0),
};
enum { collective_count = sizeof collectives / sizeof *collectives };
/* As many as UCX's queues between processes of a host have places, whose memory is touched in the first turn. */
enum { warm_up_calls = 64 };

static const struct Collective* find_collective(const char* name) {
  for (int i = 0; i < collective_count; ++i) {
    if (strcmp(collectives[i].name, name) == 0) return &collectives[i];
  }
  return NULL;
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory != NULL) return memory;
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static volatile double sink;

static void compute(long loops) {
  double value = sink;
  for (long i = 0; i < loops; ++i) value = value * 0.999999 + 1e-6;
  sink = value;
}

static void begin(struct Call* call) {
  if (call->is_persistent) {
    MPI_Start(&call->request);
  } else {
    call->collective->begin(call, (int)(call->bytes / sizeof(float)), (int)call->bytes);
  }
}

/* Seconds of one of `calls` calls with a computation of `loops` between begin and wait, or of the computation alone. */
static double seconds_of(struct Call* call, int communicates, long loops, int calls) {
  double seconds = 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (communicates) begin(call);
    compute(loops);
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): begin() makes the request. */
    if (communicates) MPI_Wait(&call->request, MPI_STATUS_IGNORE);
    seconds += MPI_Wtime() - start;
  }
  seconds /= calls;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return seconds / call->ranks;
}

/* Whom a block is for: nobody in particular where all get the same. */
static int addressee(const struct Call* call, int rank) { return call->collective->sends_to_each ? rank : 0; }

static void fill(struct Call* call) {
  const int blocks = call->collective->sends_to_each ? call->ranks : 1;
  const size_t received = call->bytes * (size_t)(call->collective->receives_from_each ? call->ranks : 1);
  call->send = allocate(call->bytes * (size_t)blocks + 1);
  call->receive = allocate(received + 1);
  memset(call->receive, 0, received);
  if (call->collective->sums) {
    const size_t elements = call->bytes / sizeof(float) * (size_t)blocks;
    for (size_t i = 0; i < elements; ++i) call->send[i] = small_integer(call->rank, i);
    return;
  }
  for (int to = 0; to < blocks; ++to) {
    fill_block((unsigned char*)call->send + (size_t)to * call->bytes, call->bytes, call->rank, to);
  }
  /* A broadcast has one buffer. */
  if (call->collective->begin == begin_bcast && call->rank == 0) memcpy(call->receive, call->send, call->bytes);
}

static int sums_are_right(const struct Call* call) {
  const size_t elements = call->bytes / sizeof(float);
  const size_t first = elements * (size_t)addressee(call, call->rank);
  if (call->collective->begin == begin_reduce && call->rank != 0) return 1;
  for (size_t i = 0; i < elements; ++i) {
    float expected = 0;
    for (int rank = 0; rank < call->ranks; ++rank) expected += small_integer(rank, first + i);
    if (call->receive[i] < expected || call->receive[i] > expected) return 0;
  }
  return 1;
}

static int blocks_are_right(const struct Call* call) {
  const int blocks = call->collective->receives_from_each ? call->ranks : 1;
  for (int from = 0; from < blocks; ++from) {
    const unsigned char* block = (unsigned char*)call->receive + (size_t)from * call->bytes;
    if (!block_is(block, call->bytes, from, addressee(call, call->rank))) return 0;
  }
  return 1;
}

static void measure(struct Call* call, int calls) {
  if (call->is_persistent) call->collective->init(call, (int)(call->bytes / sizeof(float)), (int)call->bytes);
  /* A blocking call first: libcoll's ranks agree in it. */
  MPI_Barrier(MPI_COMM_WORLD);
  seconds_of(call, 1, 0, calls / 10 + warm_up_calls);
  const double communication = seconds_of(call, 1, 0, calls);
  const long trial = 1000000;
  compute(trial);
  const double trial_seconds = seconds_of(call, 0, trial, 20);
  const long loops = (long)(communication / trial_seconds * (double)trial);
  const double computation = seconds_of(call, 0, loops, calls);
  const double both = seconds_of(call, 1, loops, calls);
  if (call->is_persistent) MPI_Request_free(&call->request);
  char name[64];
  snprintf(name, sizeof name, call->is_persistent ? "%s_init" : "i%s", call->collective->name);
  long served = served_calls(name); /* -1: it is not loaded */
  MPI_Allreduce(MPI_IN_PLACE, &served, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (call->rank != 0) return;
  const double hidden = 1 - (both - computation) / communication;
  printf("%zu %.2f %.2f %.2f %.1f %ld\n", call->bytes, communication * 1e6, computation * 1e6, both * 1e6,
         hidden < 0 ? 0 : hidden * 100, served);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct Call call = {.request = MPI_REQUEST_NULL};
  MPI_Comm_rank(MPI_COMM_WORLD, &call.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
  call.is_persistent = argc == 5 && strcmp(argv[1], "persistent") == 0;
  char** words = argv + 1 + call.is_persistent;
  const int is_complete = argc == 4 + call.is_persistent;
  call.collective = is_complete ? find_collective(words[0]) : NULL;
  const int calls = is_complete ? atoi(words[2]) : 0;
  if (call.collective == NULL || calls < 1) {
    if (call.rank == 0) fprintf(stderr, "usage: overlap [persistent] COLLECTIVE BYTES CALLS\n");
    MPI_Finalize();
    return 2;
  }
  call.bytes = (size_t)atol(words[1]) / sizeof(float) * sizeof(float);
  fill(&call);
  measure(&call, calls);
  int right = call.collective->sums ? sums_are_right(&call) : blocks_are_right(&call);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!right && call.rank == 0) fprintf(stderr, "overlap: wrong result\n");
  free(call.send);
  free(call.receive);
  MPI_Finalize();
  return right ? 0 : 1;
}
