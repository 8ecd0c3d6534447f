/* Under libcoll and a profiling tool (tool.c), in some order of loading: the tool sees every call, and libcoll serves
 * it.
 *   tools TOOL   the tool's name: "tool" or "next" */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "check.h"

enum { rounds = 4 };

static long (*calls)(const char*);

static void expect_seen(const char* name, long times) {
  CHECK(calls(name) == times, "the tool saw %ld times %s, not %ld", calls(name), name, times);
}

int main(int argc, char** argv) {
  char name[64];
  snprintf(name, sizeof name, "%s_calls", argv[1]);
  calls = (long (*)(const char*))(uintptr_t)dlsym(RTLD_DEFAULT, name);
  MPI_Init(&argc, &argv);
  CHECK(calls != NULL, "there is no %s", name);
  const int ranks = size_of(MPI_COMM_WORLD);
  int input[64];
  int output[64];
  for (int i = 0; i < ranks; ++i) input[i] = rank_in(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    MPI_Allreduce(input, output, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_call("allreduce", 1, "under a tool");
    CHECK(output[0] == ranks * (ranks - 1) / 2, "sum %d", output[0]);
    MPI_Alltoall(input, 1, MPI_INT, output, 1, MPI_INT, MPI_COMM_WORLD);
    expect_call("alltoall", 1, "under a tool");
    for (int i = 0; i < ranks; ++i) CHECK(output[i] == i, "block %d is %d", i, output[i]);
    MPI_Request request;
    MPI_Iallreduce(input, output, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_call("iallreduce", 1, "under a tool");
    CHECK(output[0] == ranks * (ranks - 1) / 2, "sum %d", output[0]);
  }
  expect_seen("init", 1);
  expect_seen("allreduce", rounds);
  expect_seen("alltoall", rounds);
  expect_seen("iallreduce", rounds);
  expect_seen("wait", rounds);
  MPI_Finalize();
  return 0;
}
