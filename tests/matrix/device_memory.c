/* Memory of a GPU that is passed to MPI. The library for it is a stub: its memory lies on the host, so that MPI can
 * move it, but it says that the processor cannot read there. It knows the runtime of CUDA or of HIP by its name alone,
 * and is loaded on one rank, for all to see or, as plugins are, for itself. device_memory STUB_LIBRARY [local] */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { count = 500 };

static void* (*allocate_there)(size_t);
static int rank;
static int ranks;

/* `there`: the buffer that lies there on the one rank that has such memory. */
enum Buffer { none, input, output };

static void allreduce(enum Buffer there, int served, const char* what) {
  int on_host[2][count];
  int* buffers[2] = {on_host[0], on_host[1]};
  if (there != none && allocate_there != NULL) buffers[there - 1] = allocate_there(sizeof on_host[0]);
  for (int i = 0; i < count; ++i) buffers[0][i] = i * (rank + 1);
  MPI_Allreduce(buffers[0], buffers[1], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", served, what);
  for (int i = 0; i < count; ++i) {
    CHECK(buffers[1][i] == i * (ranks * (ranks + 1) / 2), "%s: element %d is %d", what, i, buffers[1][i]);
  }
}

static void blocks(enum Buffer there, int served, const char* what) {
  static int on_host[2][64 * count];
  int* buffers[2] = {on_host[0], on_host[1]};
  if (there != none && allocate_there != NULL) buffers[there - 1] = allocate_there(sizeof on_host[0]);
  for (int i = 0; i < ranks * count; ++i) buffers[0][i] = rank * 1000 + i;
  MPI_Alltoall(buffers[0], count, MPI_INT, buffers[1], count, MPI_INT, MPI_COMM_WORLD);
  expect_call("alltoall", served, what);
  for (int r = 0; r < ranks; ++r) {
    CHECK(buffers[1][r * count] == r * 1000 + rank * count, "%s: block of rank %d", what, r);
  }
  for (int i = 0; i < count; ++i) buffers[1][i] = rank == 0 ? i : 0;
  MPI_Bcast(buffers[1], count, MPI_INT, 0, MPI_COMM_WORLD);
  expect_call("bcast", there == output ? 0 : 1, what);
  CHECK(buffers[1][count - 1] == count - 1, "%s: broadcast", what);
}

static void iallreduce(const char* what) {
  int mine = rank + 1;
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("iallreduce", 0, what);
  CHECK(sum == ranks * (ranks + 1) / 2, "%s: %d", what, sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2 || argc == 3, "usage: device_memory STUB_LIBRARY [local]");
  rank = rank_in(MPI_COMM_WORLD);
  ranks = size_of(MPI_COMM_WORLD);
  if (rank == ranks - 1) {
    void* library = dlopen(argv[1], RTLD_NOW | (argc == 3 ? RTLD_LOCAL : RTLD_GLOBAL));
    CHECK(library != NULL, "%s", dlerror());
    *(void**)(&allocate_there) = dlsym(library, "stub_allocate");
    CHECK(allocate_there != NULL, "no stub");
  }
  allreduce(none, 1, "on the host");
  allreduce(input, 0, "input on the GPU");
  allreduce(output, 0, "output on the GPU");
  allreduce(none, 1, "on the host again");
  blocks(none, 1, "blocks on the host");
  blocks(input, 0, "blocks from the GPU");
  blocks(output, 0, "blocks to the GPU");
  iallreduce("nobody waits");
  MPI_Finalize();
  return 0;
}
