/* The job's last call, a persistent one. One rank has a message for the last one only, which starts late and has made
 * progress before: the message lies there when it asks for it, and it has nothing to do with the others afterwards. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "persistent_names.h"

enum { most_ranks = 64, elements = 5000 };

int CASE(late_receiver)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  CHECK(last < most_ranks, "too many ranks");
  int sent_counts[most_ranks] = {0};
  int received_counts[most_ranks] = {0};
  const int places[most_ranks] = {0};
  if (rank == 0) sent_counts[last] = elements;
  if (rank == last) received_counts[0] = elements;
  int* data = allocate(sizeof(int) * elements);
  int* result = allocate(sizeof(int) * elements);
  for (int i = 0; i < elements; ++i) data[i] = rank + i;
  MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "agreement");
  data[0] = rank;
  MPI_Request request;
  MPIX_Alltoallv_init(data, sent_counts, places, MPI_INT, result, received_counts, places, MPI_INT, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &request);
  const int one = 1;
  int sum = 0;
  MPI_Request earlier;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &earlier);
  expect_call("iallreduce", 1, "before");
  if (rank == last) {
    const struct timespec late = {0, 300000000};
    nanosleep(&late, NULL);
    MPI_Wait(&earlier, MPI_STATUS_IGNORE);
  }
  MPI_Start(&request);
  expect_call("alltoallv_init", 1, "late receiver");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&earlier, MPI_STATUS_IGNORE);
  CHECK(sum == last + 1, "the sum is %d", sum);
  for (int i = 0; i < received_counts[0]; ++i) CHECK(result[i] == i, "element %d is %d", i, result[i]);
  MPI_Request_free(&request);
  free(data);
  free(result);
  return 0;
}
