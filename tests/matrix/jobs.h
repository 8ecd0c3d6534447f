/* One collective of any kind that programs of this folder have under way: what it is given, and what it has to give. */
#ifndef LIBCOLL_TESTS_JOBS_H
#define LIBCOLL_TESTS_JOBS_H

#include <mpi.h>
#include <string.h>

#include "check.h"

enum { most_ranks = 16, per_block = 37, kinds = 9 };

/* One call: what it is given, and what it has to give. */
struct Job {
  int kind;
  int salt;
  int root;
  int served;
  MPI_Comm comm;
  MPI_Request request;
  int counts[most_ranks];
  int places[most_ranks];
  long input[most_ranks * per_block];
  long output[most_ranks * per_block];
};

static inline long value(const struct Job* job, int source, int destination, int i) {
  return ((long)job->salt * 100 + source) * 100000 + destination * 1000 + i;
}

/* Sum over all ranks of element i of what they give. */
static inline long sum(const struct Job* job, int size, int i) {
  long total = 0;
  for (int rank = 0; rank < size; ++rank) total += value(job, rank, 0, i);
  return total;
}

/* Gives the job its input; the salt makes calls differ. */
static inline void fill(struct Job* job, int salt) {
  const int rank = rank_in(job->comm);
  const int size = size_of(job->comm);
  const int exchanges = job->kind == 2 || job->kind == 6;
  job->salt = salt;
  for (int i = 0; i < size * per_block; ++i) {
    job->input[i] = exchanges ? value(job, rank, i / per_block, i % per_block) : value(job, rank, 0, i);
    job->output[i] = -1;
  }
  if (job->kind == 7 && rank == job->root) memcpy(job->output, job->input, sizeof(long) * per_block);
}

/* A call of that kind; kinds are in the order of MPI_Iallreduce, _Iallgather, _Ialltoall, _Ireduce_scatter,
 * _Ireduce_scatter_block, _Iallgatherv, _Ialltoallv, _Ibcast, _Ireduce. */
static inline void describe(struct Job* job, int kind, int root, MPI_Comm comm, int served) {
  const int size = size_of(comm);
  job->kind = kind;
  job->root = root % size;
  job->served = served;
  job->comm = comm;
  for (int r = 0; r < size; ++r) {
    job->counts[r] = per_block;
    job->places[r] = r * per_block;
  }
}

static inline long expected(const struct Job* job, int i) {
  const int rank = rank_in(job->comm);
  const int size = size_of(job->comm);
  const int block = i / per_block;
  const int mine = i < per_block;
  switch (job->kind) {
    case 0:
      return sum(job, size, i);
    case 1:
    case 5:
      return value(job, block, 0, i % per_block);
    case 2:
    case 6:
      return value(job, block, rank, i % per_block);
    case 3:
    case 4:
      return mine ? sum(job, size, rank * per_block + i) : -1;
    case 7:
      return mine ? value(job, job->root, 0, i) : -1;
    default:
      return rank == job->root ? sum(job, size, i) : -1;
  }
}

static inline int is_right(const struct Job* job) {
  for (int i = 0; i < size_of(job->comm) * per_block; ++i) {
    if (job->output[i] != expected(job, i)) return 0;
  }
  return 1;
}

#endif
