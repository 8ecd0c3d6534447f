/* How much of a nonblocking collective hides behind computation, by OSU's measure (osu_iallreduce, osu_ialltoall).
 *
 *   overlap allreduce|alltoall BYTES CALLS
 *
 * Bytes of the vector of each rank (float, sum), or of what each rank sends to each. The computation takes as long as
 * the call followed by its wait, and no MPI function is called in it. Rank 0 prints, as means over calls and ranks in
 * microseconds:
 *
 *   BYTES  call + wait  computation  call + computation + wait  overlap in percent  calls served by libcoll
 *
 * OSU takes the computation's time from the loop that overlaps. Here it is measured apart, so that processor time that
 * progress takes from the computation counts as not hidden. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_mpi.h"

struct Call {
  int is_alltoall;
  size_t bytes;
  int ranks;
  float* send;
  float* receive;
};

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

static void begin(const struct Call* call, MPI_Request* request) {
  if (call->is_alltoall) {
    MPI_Ialltoall(call->send, (int)call->bytes, MPI_BYTE, call->receive, (int)call->bytes, MPI_BYTE, MPI_COMM_WORLD,
                  request);
  } else {
    MPI_Iallreduce(call->send, call->receive, (int)(call->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                   request);
  }
}

/* Seconds of one of `calls` calls with a computation of `loops` between begin and wait, or of the computation alone. */
static double seconds_of(const struct Call* call, int communicates, long loops, int calls) {
  double seconds = 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Request request = MPI_REQUEST_NULL;
    if (communicates) begin(call, &request);
    compute(loops);
    if (communicates) MPI_Wait(&request, MPI_STATUS_IGNORE);
    seconds += MPI_Wtime() - start;
  }
  seconds /= calls;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return seconds / call->ranks;
}

static int sums_are_right(const struct Call* call) {
  for (size_t i = 0; i < call->bytes / sizeof(float); ++i) {
    float expected = 0;
    for (int rank = 0; rank < call->ranks; ++rank) expected += small_integer(rank, i);
    if (call->receive[i] < expected || call->receive[i] > expected) return 0;
  }
  return 1;
}

static int blocks_are_right(const struct Call* call, int rank) {
  for (int from = 0; from < call->ranks; ++from) {
    if (!block_is((unsigned char*)call->receive + (size_t)from * call->bytes, call->bytes, from, rank)) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  struct Call call = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
  const int calls = argc == 4 ? atoi(argv[3]) : 0;
  if (calls < 1 || (strcmp(argv[1], "allreduce") != 0 && strcmp(argv[1], "alltoall") != 0)) {
    if (rank == 0) fprintf(stderr, "usage: overlap allreduce|alltoall BYTES CALLS\n");
    MPI_Finalize();
    return 2;
  }
  call.is_alltoall = strcmp(argv[1], "alltoall") == 0;
  call.bytes = (size_t)atol(argv[2]) / sizeof(float) * sizeof(float);
  const size_t all = call.bytes * (size_t)(call.is_alltoall ? call.ranks : 1);
  call.send = allocate(all + 1);
  call.receive = allocate(all + 1);
  if (call.is_alltoall) {
    for (int to = 0; to < call.ranks; ++to) {
      fill_block((unsigned char*)call.send + (size_t)to * call.bytes, call.bytes, rank, to);
    }
  } else {
    for (size_t i = 0; i < call.bytes / sizeof(float); ++i) call.send[i] = small_integer(rank, i);
  }
  memset(call.receive, 0, all);

  /* A blocking call first: libcoll's ranks agree in it. */
  MPI_Barrier(MPI_COMM_WORLD);
  seconds_of(&call, 1, 0, calls / 10 + 2);
  const double communication = seconds_of(&call, 1, 0, calls);
  const long trial = 1000000;
  compute(trial);
  const double trial_seconds = seconds_of(&call, 0, trial, 20);
  const long loops = (long)(communication / trial_seconds * (double)trial);
  const double computation = seconds_of(&call, 0, loops, calls);
  const double both = seconds_of(&call, 1, loops, calls);
  int right = call.is_alltoall ? blocks_are_right(&call, rank) : sums_are_right(&call);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  long served = served_calls(call.is_alltoall ? "ialltoall" : "iallreduce"); /* -1: it is not loaded */
  MPI_Allreduce(MPI_IN_PLACE, &served, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    const double hidden = 1 - (both - computation) / communication;
    printf("%zu %.2f %.2f %.2f %.1f %ld\n", call.bytes, communication * 1e6, computation * 1e6, both * 1e6,
           hidden < 0 ? 0 : hidden * 100, served);
    if (!right) fprintf(stderr, "overlap: wrong result\n");
  }
  free(call.send);
  free(call.receive);
  MPI_Finalize();
  return right ? 0 : 1;
}
