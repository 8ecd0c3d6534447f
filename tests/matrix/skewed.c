/* Nonblocking all-to-alls in which some pairs of ranks have much for each other and others nothing, which nobody but
 * the two knows beforehand; many at once, among other calls on the same communicator, nonblocking and blocking ones. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "persistent_names.h"

enum { most_ranks = 64, exchanges = 15, much = 40000, per_vector = 50, turns = 4 };

enum Pattern { one_pair, neighbours, triangle, even, nothing, pattern_count };

static int length(enum Pattern pattern, int source, int destination, int size, int most) {
  switch (pattern) {
    case one_pair:
      return source == 0 && destination == size - 1 ? most : 0;
    case neighbours:
      return (source + 1) % size == destination ? most / 4 : 0;
    case triangle:
      return source < destination ? (destination - source) * most / (size * size) + 1 : 0;
    case even:
      return most / size / 8;
    case nothing:
    case pattern_count:
      break;
  }
  return 0;
}

static int element(int source, int destination, int salt, int i) {
  return (int)mixed(((uint64_t)source << 48) + ((uint64_t)destination << 32) + ((uint64_t)salt << 20) + (uint64_t)i);
}

/* One call; both arrays of blocks lie in reverse order. */
struct Exchange {
  MPI_Request request;
  MPI_Comm comm;
  int salt;
  int sent_counts[most_ranks];
  int sent_places[most_ranks];
  int received_counts[most_ranks];
  int received_places[most_ranks];
  MPI_Datatype types[most_ranks];
  int* sent;
  int* received;
};

static int place(const int* counts, int* places, int size) {
  int next = 0;
  for (int r = size - 1; r >= 0; --r) {
    places[r] = next;
    next += counts[r];
  }
  return next;
}

static void describe(struct Exchange* call, enum Pattern pattern, int salt, MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const int most = much / (1 + salt % 3);
  call->comm = comm;
  call->salt = salt;
  for (int r = 0; r < size; ++r) {
    call->sent_counts[r] = length(pattern, rank, r, size, most);
    call->received_counts[r] = length(pattern, r, rank, size, most);
    call->types[r] = MPI_INT;
  }
  call->sent = allocate(sizeof(int) * (uint64_t)place(call->sent_counts, call->sent_places, size));
  const int total = place(call->received_counts, call->received_places, size);
  call->received = allocate(sizeof(int) * (uint64_t)total);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < call->sent_counts[r]; ++i) {
      call->sent[call->sent_places[r] + i] = element(rank, r, salt, i);
    }
  }
  for (int i = 0; i < total; ++i) call->received[i] = -1;
}

static void begin(struct Exchange* call) {
  MPI_Ialltoallv(call->sent, call->sent_counts, call->sent_places, MPI_INT, call->received, call->received_counts,
                 call->received_places, MPI_INT, call->comm, &call->request);
  expect_call("ialltoallv", 1, "begun");
}

/* With displacements in bytes. */
static void begin_typed(struct Exchange* call) {
  for (int r = 0; r < size_of(call->comm); ++r) {
    call->sent_places[r] *= (int)sizeof(int);
    call->received_places[r] *= (int)sizeof(int);
  }
  MPI_Ialltoallw(call->sent, call->sent_counts, call->sent_places, call->types, call->received, call->received_counts,
                 call->received_places, call->types, call->comm, &call->request);
  expect_call("ialltoallw", 1, "begun");
  for (int r = 0; r < size_of(call->comm); ++r) call->received_places[r] /= (int)sizeof(int);
}

static void run(struct Exchange* call) {
  MPI_Alltoallv(call->sent, call->sent_counts, call->sent_places, MPI_INT, call->received, call->received_counts,
                call->received_places, MPI_INT, call->comm);
  expect_call("alltoallv", 1, "among nonblocking ones");
}

static void check_received(const struct Exchange* call) {
  const int rank = rank_in(call->comm);
  for (int r = 0; r < size_of(call->comm); ++r) {
    for (int i = 0; i < call->received_counts[r]; ++i) {
      const int found = call->received[call->received_places[r] + i];
      CHECK(found == element(r, rank, call->salt, i), "exchange %d: element %d of rank %d is %d", call->salt, i, r,
            found);
    }
  }
}

static void check(struct Exchange* call) {
  check_received(call);
  free(call->sent);
  free(call->received);
}

static void check_sum(const int* sums, int salt, int size) {
  for (int i = 0; i < per_vector; ++i) {
    CHECK(sums[i] == size * (salt + i) + size * (size - 1) / 2, "sum %d of %d is %d", i, salt, sums[i]);
  }
}

/* Some ranks come late, others look after their calls now and then only. */
static void dawdle(int rank, int salt) {
  const struct timespec moment = {0, (long)(mixed((uint64_t)rank * 1000 + (uint64_t)salt) % 3) * 1000000};
  nanosleep(&moment, NULL);
}

/* Those of one length are of one round, small ones of blocking calls go from rank to rank. */
static void check_many(MPI_Comm comm, int first_salt) {
  static struct Exchange calls[exchanges];
  static int sums[exchanges][per_vector];
  MPI_Request reductions[exchanges];
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int i = 0; i < exchanges; ++i) {
    const int salt = first_salt + i;
    describe(&calls[i], i % pattern_count, salt, comm);
    if (i % 4 == 3) {
      begin_typed(&calls[i]);
    } else {
      begin(&calls[i]);
    }
    for (int j = 0; j < per_vector; ++j) sums[i][j] = rank + salt + j;
    MPI_Iallreduce(MPI_IN_PLACE, sums[i], per_vector, MPI_INT, MPI_SUM, comm, &reductions[i]);
    expect_call("iallreduce", 1, "begun after an exchange");
    dawdle(rank, salt);
    if (i % 6 == 5) {
      struct Exchange blocking;
      describe(&blocking, (i + 1) % pattern_count, 1000 + salt, comm);
      run(&blocking);
      check(&blocking);
    }
    if (i % 3 == 2) {
      int one = 1;
      MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm);
      expect_call("allreduce", 1, "among nonblocking ones");
      CHECK(one == size, "%d ranks", one);
    }
  }
  MPI_Waitall(exchanges, reductions, MPI_STATUSES_IGNORE);
  for (int i = 0; i < exchanges; ++i) check_sum(sums[i], first_salt + i, size);
  for (int i = exchanges - 1; i >= 0; --i) {
    MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
    check(&calls[i]);
  }
}

/* Its init tells all lengths. */
static void check_persistent(MPI_Comm comm) {
  struct Exchange call;
  describe(&call, one_pair, 0, comm);
  MPIX_Alltoallv_init(call.sent, call.sent_counts, call.sent_places, MPI_INT, call.received, call.received_counts,
                      call.received_places, MPI_INT, comm, MPI_INFO_NULL, &call.request);
  for (int start = 0; start < 2; ++start) {
    for (int r = 0; r < size_of(comm); ++r) {
      for (int i = 0; i < call.received_counts[r]; ++i) call.received[call.received_places[r] + i] = -1;
    }
    MPI_Start(&call.request);
    expect_call("alltoallv_init", 1, "started");
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    check_received(&call);
  }
  MPI_Request_free(&call.request);
  free(call.sent);
  free(call.received);
}

static void agree(MPI_Comm comm) {
  int mine[most_ranks] = {0};
  int theirs[most_ranks];
  MPI_Allreduce(mine, theirs, 1, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", 1, "agreement");
  MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm);
  expect_call("alltoall", 1, "agreement");
}

int CASE(skewed)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  MPI_Comm reversed;
  CHECK(size_of(MPI_COMM_WORLD) <= most_ranks, "too many ranks");
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &reversed);
  agree(MPI_COMM_WORLD);
  agree(reversed);
  for (int turn = 0; turn < turns; ++turn) check_many(turn % 2 == 0 ? MPI_COMM_WORLD : reversed, 100 * turn);
  check_persistent(reversed);
  MPI_Comm_free(&reversed);
  return 0;
}
