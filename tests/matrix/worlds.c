/* Processes of two worlds in one communicator: the first world has two ranks, which spawn two more. Ranks of one world
 * say nothing of the other's, so that no two of them are taken for one node. Without host names in the topology such a
 * communicator is left to MPI; each world by itself is served.
 *   worlds TOPOLOGY's nodes are two */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { of_each = 2, count = 1000 };

static void allreduce(MPI_Comm comm, int served, const char* what) {
  const int size = size_of(comm);
  int values[count];
  for (int i = 0; i < count; ++i) values[i] = i * (rank_in(comm) + 1);
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", served, what);
  for (int i = 0; i < count; ++i) CHECK(values[i] == i * (size * (size + 1) / 2), "%s: element %d", what, i);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  const int spawned = parent != MPI_COMM_NULL;
  CHECK(size_of(MPI_COMM_WORLD) == of_each, "not two ranks");
  if (spawned) {
    MPI_Intercomm_merge(parent, 1, &both);
  } else {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, of_each, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, 0, &both);
  }
  CHECK(size_of(both) == 2 * of_each, "not four ranks");
  allreduce(both, 0, "two worlds");
  /* One of each world: the same number in their worlds, and different ones. */
  const int rank = rank_in(both);
  for (int shift = 0; shift < of_each; ++shift) {
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(both, spawned ? (rank + shift) % of_each : rank, rank, &pair);
    CHECK(size_of(pair) == 2, "not a pair");
    allreduce(pair, 0, shift == 0 ? "ranks of one number" : "ranks of two numbers");
    MPI_Comm_free(&pair);
  }
  allreduce(MPI_COMM_WORLD, 1, "one world");
  MPI_Comm_free(&both);
  if (spawned) {
    MPI_Comm_disconnect(&parent);
  } else {
    MPI_Comm_disconnect(&between);
  }
  MPI_Finalize();
  return 0;
}
