/* Every collective in every way of calling it: blocking, nonblocking, persistent; and every way of waiting. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_CALLS_H
#define LIBCOLL_TESTS_CONFORMANCE_CALLS_H

#include <mpi.h>

enum Collective {
  allreduce,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  bcast,
  collective_count
};

enum Mode { blocking, nonblocking, persistent, mode_count };

/* Of a call's arguments, those that it has. Of those of several kinds (`count` or `counts`) MPI's call takes one. */
struct Arguments {
  const void* send;
  void* receive; /* bcast's buffer */
  int send_count;
  int receive_count; /* also of what is reduced */
  const int* send_counts;
  const int* receive_counts;
  const int* send_places;
  const int* receive_places;
  MPI_Datatype send_type;
  MPI_Datatype receive_type; /* also of what is reduced */
  const MPI_Datatype* send_types;
  const MPI_Datatype* receive_types;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};

/* MPI's name for it in lower case: "allreduce", "iallreduce", "allreduce_init". */
const char* name_of_call(enum Collective collective, enum Mode mode);

/* Starts a call: a blocking one is over when this returns. A persistent one is made when `request` is
 * MPI_REQUEST_NULL, and only started otherwise. */
void start_call(enum Collective collective, enum Mode mode, const struct Arguments* arguments, MPI_Request* request);

/* Waits for a call that was started, in one of MPI's ways of waiting, chosen by `way`. */
void finish_call(enum Mode mode, MPI_Request* request, unsigned way);

#endif
