/* Included before a program of this folder (-include): each of its blocking collectives becomes the nonblocking
 * variant, which is then waited for, in another of MPI's ways every time. What the program says of "allreduce" it then
 * says of "iallreduce". With VARIANT_PERSISTENT it becomes the persistent one, "allreduce_init", which is started once.
 */
#ifndef LIBCOLL_TESTS_VARIANTS_H
#define LIBCOLL_TESTS_VARIANTS_H

#include <mpi.h>
#include <stdio.h>
#ifdef VARIANT_PERSISTENT
#include "persistent_names.h"
#endif

#if defined VARIANT_PERSISTENT
#define CASE(name) p##name
#elif !defined STANDALONE
#define CASE(name) i##name
#endif
#include "check.h"

/* Waits for the request, in the next of many ways. */
void variant_wait(MPI_Request* request);

/* Before the first call of a kind ("allreduce", "allgather", "alltoall", "reduce_scatter") on a communicator: a call
 * that falls through says that the kind is wanted, and a barrier is where the ranks agree on it. */
void variant_agree(MPI_Comm comm, int kind);
enum { variant_allreduce, variant_allgather, variant_alltoall, variant_reduce_scatter, variant_kinds };

/* Waits for a persistent request that was started, and frees it. */
void variant_end(MPI_Request* request);

#ifdef VARIANT_PERSISTENT
#define VARIANT(comm, kind, name, iname, ...)                                                  \
  do {                                                                                         \
    MPI_Request variant_request;                                                               \
    int variant_code = MPIX_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &variant_request); \
    if (variant_code == MPI_SUCCESS) variant_code = MPI_Start(&variant_request);               \
    if (variant_code != MPI_SUCCESS) return variant_code;                                      \
    variant_end(&variant_request);                                                             \
    return MPI_SUCCESS;                                                                        \
  } while (0)
#else
#define VARIANT(comm, kind, name, iname, ...)                                  \
  do {                                                                         \
    MPI_Request variant_request;                                               \
    variant_agree(comm, kind);                                                 \
    const int variant_code = MPI_##iname(__VA_ARGS__, comm, &variant_request); \
    if (variant_code != MPI_SUCCESS) return variant_code;                      \
    variant_wait(&variant_request);                                            \
    return MPI_SUCCESS;                                                        \
  } while (0)
#endif

static inline int variant_of_allreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                                       MPI_Comm comm) {
  VARIANT(comm, variant_allreduce, Allreduce, Iallreduce, input, output, count, type, op);
}
static inline int variant_of_reduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, int root,
                                    MPI_Comm comm) {
  VARIANT(comm, variant_reduce_scatter, Reduce, Ireduce, input, output, count, type, op, root);
}
static inline int variant_of_reduce_scatter(const void* input, void* output, const int* counts, MPI_Datatype type,
                                            MPI_Op op, MPI_Comm comm) {
  VARIANT(comm, variant_reduce_scatter, Reduce_scatter, Ireduce_scatter, input, output, counts, type, op);
}
static inline int variant_of_reduce_scatter_block(const void* input, void* output, int count, MPI_Datatype type,
                                                  MPI_Op op, MPI_Comm comm) {
  VARIANT(comm, variant_reduce_scatter, Reduce_scatter_block, Ireduce_scatter_block, input, output, count, type, op);
}
static inline int variant_of_allgather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                                       MPI_Datatype output_type, MPI_Comm comm) {
  VARIANT(comm, variant_allgather, Allgather, Iallgather, input, count, type, output, output_count, output_type);
}
static inline int variant_of_allgatherv(const void* input, int count, MPI_Datatype type, void* output,
                                        const int* counts, const int* displacements, MPI_Datatype output_type,
                                        MPI_Comm comm) {
  VARIANT(comm, variant_allgather, Allgatherv, Iallgatherv, input, count, type, output, counts, displacements,
          output_type);
}
static inline int variant_of_alltoall(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                                      MPI_Datatype output_type, MPI_Comm comm) {
  VARIANT(comm, variant_alltoall, Alltoall, Ialltoall, input, count, type, output, output_count, output_type);
}
/* A rank with nothing to move in place does not number the call in Open MPI 4.1.4's own, and the communicator's next
 * waits for ever: where libcoll does not serve it, or may not have its plan yet, it is left out. */
static inline int variant_of_alltoallv(const void* input, const int* counts, const int* displacements,
                                       MPI_Datatype type, void* output, const int* output_counts,
                                       const int* output_displacements, MPI_Datatype output_type, MPI_Comm comm) {
  if (input == MPI_IN_PLACE && (may_be_native() || nodes_spanned(comm) == 1)) {
    return NATIVE(Alltoallv)(input, counts, displacements, type, output, output_counts, output_displacements,
                             output_type, comm);
  }
  VARIANT(comm, variant_alltoall, Alltoallv, Ialltoallv, input, counts, displacements, type, output, output_counts,
          output_displacements, output_type);
}
static inline int variant_of_alltoallw(const void* input, const int* counts, const int* displacements,
                                       const MPI_Datatype* types, void* output, const int* output_counts,
                                       const int* output_displacements, const MPI_Datatype* output_types,
                                       MPI_Comm comm) {
  VARIANT(comm, variant_alltoall, Alltoallw, Ialltoallw, input, counts, displacements, types, output, output_counts,
          output_displacements, output_types);
}
static inline int variant_of_bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  VARIANT(comm, variant_allgather, Bcast, Ibcast, buffer, count, type, root);
}

static inline void variant_name(char* name, size_t bytes, const char* collective) {
#ifdef VARIANT_PERSISTENT
  snprintf(name, bytes, "%s_init", collective);
#else
  snprintf(name, bytes, "i%s", collective);
#endif
}
static inline long variant_of_served_calls(const char* collective) {
  char name[64];
  variant_name(name, sizeof name, collective);
  return served_calls(name);
}
static inline void variant_of_expect_call(const char* collective, int served, const char* what) {
  char name[64];
  variant_name(name, sizeof name, collective);
  expect_call(name, served, what);
}

#define MPI_Allreduce variant_of_allreduce
#define MPI_Reduce variant_of_reduce
#define MPI_Reduce_scatter variant_of_reduce_scatter
#define MPI_Reduce_scatter_block variant_of_reduce_scatter_block
#define MPI_Allgather variant_of_allgather
#define MPI_Allgatherv variant_of_allgatherv
#define MPI_Alltoall variant_of_alltoall
#define MPI_Alltoallv variant_of_alltoallv
#define MPI_Alltoallw variant_of_alltoallw
#define MPI_Bcast variant_of_bcast
#define served_calls variant_of_served_calls
#define expect_call variant_of_expect_call

#endif
