/* MPI_THREAD_MULTIPLE: threads with a communicator each call collectives at the same time, the first calls included.
 *   threads [parts]   parts: the communicators are halves of the world, cut elsewhere by every thread
 *   threads again     every thread makes more communicators of the same ranks from its own, for some calls each */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { thread_count = 3, calls = 50, most_ranks = 64 };

struct Worker {
  MPI_Comm comm;
  int number;
  int rank;
  int size;
  int calls_each; /* on one communicator; 0: all on the same */
};

static void allreduce(const struct Worker* worker, int call) {
  long values[97];
  for (int i = 0; i < 97; ++i) values[i] = (worker->rank + 1L) * (i + call) + worker->number;
  MPI_Allreduce(MPI_IN_PLACE, values, 97, MPI_LONG, MPI_SUM, worker->comm);
  const long ranks = worker->size;
  for (int i = 0; i < 97; ++i) {
    CHECK(values[i] == ranks * (ranks + 1) / 2 * (i + call) + ranks * worker->number, "thread %d, call %d, element %d",
          worker->number, call, i);
  }
}

static void alltoall(const struct Worker* worker, int call) {
  int sent[most_ranks][3];
  int received[most_ranks][3];
  for (int i = 0; i < worker->size; ++i) {
    for (int k = 0; k < 3; ++k) sent[i][k] = ((worker->number * 100 + worker->rank) * 100 + i) * 100 + call + k;
  }
  MPI_Alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, worker->comm);
  for (int i = 0; i < worker->size; ++i) {
    for (int k = 0; k < 3; ++k) {
      CHECK(received[i][k] == ((worker->number * 100 + i) * 100 + worker->rank) * 100 + call + k,
            "thread %d, call %d, block of %d", worker->number, call, i);
    }
  }
}

static void* work(void* argument) {
  const struct Worker* worker = argument;
  struct Worker current = *worker;
  for (int call = 0; call < calls; ++call) {
    const int changes = worker->calls_each != 0 && call % worker->calls_each == 0;
    if (changes) MPI_Comm_split(worker->comm, 0, worker->rank, &current.comm);
    /* Threads begin with different collectives, so that agreements and plans cross, too. */
    if ((call + worker->number) % 2 == 0) {
      allreduce(&current, call);
    } else {
      alltoall(&current, call);
    }
    if (worker->calls_each != 0 && (call + 1) % worker->calls_each == 0) MPI_Comm_free(&current.comm);
  }
  return NULL;
}

/* A nonblocking call by which a thread asks for an agreement is served, too, where the ranks have agreed before. */
static void check_served(long served, long expected) {
#ifdef LIBCOLL_TESTS_VARIANTS_H
  const long more = thread_count;
#else
  const long more = 0;
#endif
  CHECK(served >= expected && served <= expected + more, "%ld served, not %ld", served, expected);
}

int CASE(threads)(int argc, char** argv) {
  const int parts = argc > 1 && strcmp(argv[1], "parts") == 0;
  const int again = argc > 1 && strcmp(argv[1], "again") == 0;
  int provided = 0;
  MPI_Query_thread(&provided);
  CHECK(provided == MPI_THREAD_MULTIPLE, "the launch has no MPI_THREAD_MULTIPLE (%d)", provided);
  const long allreduces = served_calls("allreduce");
  const long alltoalls = served_calls("alltoall");
  struct Worker workers[thread_count];
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i) {
    workers[i].number = i;
    workers[i].calls_each = again ? 5 : 0;
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= most_ranks, "too many ranks");
    if (parts) {
      MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % size < size / 2, rank, &workers[i].comm);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    MPI_Comm_rank(workers[i].comm, &workers[i].rank);
    MPI_Comm_size(workers[i].comm, &workers[i].size);
  }
  for (int i = 0; i < thread_count; ++i) {
    CHECK(pthread_create(&threads[i], NULL, &work, &workers[i]) == 0, "thread %d", i);
  }
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_free(&workers[i].comm);
  const long half = calls / 2 * thread_count;
  check_served(served_calls("allreduce") - allreduces, half);
  check_served(served_calls("alltoall") - alltoalls, half);
  return 0;
}
