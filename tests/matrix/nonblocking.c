/* Nonblocking collectives: many at once, in any order of completion, among the program's own messages, given up, freed,
 * and beside blocking ones. What each computes is checked by the other programs of this folder (variants.h).
 *   nonblocking [thread | timeout]: with a progress thread, which moves them without any call of the program's; with a
 * limit to the time in which nothing moves */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "jobs.h"

enum { outstanding = 4 * kinds };

static const char* const names[kinds] = {
    "iallreduce",  "iallgather", "ialltoall", "ireduce_scatter", "ireduce_scatter_block",
    "iallgatherv", "ialltoallv", "ibcast",    "ireduce"};

static void start(struct Job* job, int kind, int salt, MPI_Comm comm, int served) {
  const int size = size_of(comm);
  describe(job, kind, salt, comm, served);
  fill(job, salt);
  long* in = job->input;
  long* out = job->output;
  MPI_Request* request = &job->request;
  const int n = per_block;
  const MPI_Datatype type = MPI_LONG;
  if (kind == 0) MPI_Iallreduce(in, out, n * size, type, MPI_SUM, comm, request);
  if (kind == 1) MPI_Iallgather(in, n, type, out, n, type, comm, request);
  if (kind == 2) MPI_Ialltoall(in, n, type, out, n, type, comm, request);
  if (kind == 3) MPI_Ireduce_scatter(in, out, job->counts, type, MPI_SUM, comm, request);
  if (kind == 4) MPI_Ireduce_scatter_block(in, out, n, type, MPI_SUM, comm, request);
  if (kind == 5) MPI_Iallgatherv(in, n, type, out, job->counts, job->places, type, comm, request);
  if (kind == 6) MPI_Ialltoallv(in, job->counts, job->places, type, out, job->counts, job->places, type, comm, request);
  if (kind == 7) MPI_Ibcast(out, n, type, job->root, comm, request);
  if (kind == 8) MPI_Ireduce(in, out, n * size, type, MPI_SUM, job->root, comm, request);
  expect_call(names[kind], served, "begun");
}

/* Looks at memory that another thread writes. */
static int is_right_without_mpi(const struct Job* job) {
  const volatile long* output = job->output;
  for (int i = 0; i < size_of(job->comm) * per_block; ++i) {
    if (output[i] != expected(job, i)) return 0;
  }
  return 1;
}

static void check(const struct Job* job) {
  CHECK(is_right(job), "%s %d is wrong%s", names[job->kind], job->salt, job->served ? "" : " (MPI's)");
}

static struct Job jobs[outstanding];

/* Nobody waits for others in a nonblocking call: the ranks agree at a barrier, or in a blocking collective. */
static MPI_Comm check_agreement(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int kind = 0; kind < kinds; ++kind) {
    start(&jobs[kind], kind, kind, comm, 0);
    MPI_Wait(&jobs[kind].request, MPI_STATUS_IGNORE);
    check(&jobs[kind]);
  }
  MPI_Barrier(comm);
  for (int kind = 0; kind < kinds; ++kind) {
    start(&jobs[kind], kind, kind, comm, 1);
    MPI_Wait(&jobs[kind].request, MPI_STATUS_IGNORE);
    check(&jobs[kind]);
  }
  return comm;
}

static void agree_by_calling(MPI_Comm comm) {
  long one = 1;
  start(&jobs[0], 0, 1, comm, 0);
  start(&jobs[1], 1, 1, comm, 0);
  start(&jobs[2], 2, 1, comm, 0);
  start(&jobs[3], 3, 1, comm, 0);
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_LONG, MPI_SUM, comm);
  expect_call("allreduce", 1, "agreement");
  CHECK(one == size_of(comm), "%ld ranks", one);
  for (int i = 0; i < 4; ++i) {
    MPI_Wait(&jobs[i].request, MPI_STATUS_IGNORE);
    check(&jobs[i]);
  }
}

/* All kinds on two communicators at once; completed by all, one by one in another order on every rank, or as they come,
 * with messages of the program's among them and a blocking collective in between. */
static void check_many(MPI_Comm first, MPI_Comm second, int way) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  enum { all = outstanding + 2 };
  MPI_Request requests[all];
  MPI_Status statuses[all];
  int indices[all];
  long sent = rank;
  long received = -1;
  for (int i = 0; i < outstanding; ++i) {
    /* The ranks begin the calls of one communicator in one order, those of two as they like. */
    const int place = rank % 2 == 0 ? i : i ^ 1;
    start(&jobs[place], place / 2 % kinds, 100 * way + place, place % 2 == 0 ? first : second, 1);
    requests[place] = jobs[place].request;
    if (i == outstanding / 2) {
      long one = 1;
      MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      expect_call("allreduce", 1, "in between");
      CHECK(one == size, "%ld ranks", one);
    }
  }
  MPI_Irecv(&received, 1, MPI_LONG, (rank + size - 1) % size, 9, MPI_COMM_WORLD, &requests[outstanding]);
  MPI_Isend(&sent, 1, MPI_LONG, (rank + 1) % size, 9, MPI_COMM_WORLD, &requests[outstanding + 1]);
  int left = all;
  if (way == 0) {
    MPI_Waitall(all, requests, statuses);
    left = 0;
  }
  for (int i = 0; way == 1 && i < all; ++i, --left) {
    MPI_Wait(&requests[(i * 5 + rank * 3) % all], MPI_STATUS_IGNORE);
  }
  while (left > 0) {
    int count = 0;
    int done = 0;
    if (way == 2) MPI_Waitsome(all, requests, &count, indices, statuses);
    if (way == 3) MPI_Testsome(all, requests, &count, indices, statuses);
    if (way == 4) {
      MPI_Testany(all, requests, indices, &done, statuses);
      count = done;
    }
    if (way == 5) count = MPI_Waitany(all, requests, indices, statuses) == MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
      if (indices[i] < outstanding) check(&jobs[indices[i]]);
    }
    left -= count;
  }
  for (int i = 0; i < all; ++i) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);
  for (int i = 0; i < outstanding; ++i) check(&jobs[i]);
  CHECK(received == (rank + size - 1) % size, "message %ld", received);
}

/* Calls go on, and complete, although their requests were freed, which MPI does not allow: seen by their results alone.
 */
static void check_freed(MPI_Comm comm) {
  for (int kind = 0; kind < kinds; ++kind) {
    start(&jobs[kind], kind, 7 + kind, comm, 1);
    MPI_Request_free(&jobs[kind].request);
    CHECK(jobs[kind].request == MPI_REQUEST_NULL, "the request is left");
  }
  for (int kind = 0; kind < kinds; ++kind) {
    const double begin = MPI_Wtime();
    while (!is_right(&jobs[kind])) {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 12345, comm, &flag, MPI_STATUS_IGNORE);
      CHECK(MPI_Wtime() - begin < 60, "%s does not complete", names[kind]);
    }
  }
}

/* A rank may begin many calls before the others come to the first, and send them what they wait for. */
static void check_run_ahead(MPI_Comm comm, int calls, int served) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  MPI_Request* requests = allocate(sizeof(MPI_Request) * (uint64_t)calls);
  int* values = allocate(sizeof(int) * (uint64_t)calls);
  int token = 0;
  if (rank != 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 4, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < calls; ++i) {
    values[i] = rank + i;
    MPI_Iallreduce(MPI_IN_PLACE, &values[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
    expect_call("iallreduce", served, "ahead");
  }
  if (rank != size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 4, comm);
  MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < calls; ++i) CHECK(values[i] == size * (size - 1) / 2 + size * i, "call %d: %d", i, values[i]);
  free(requests);
  free(values);
}

/* Others go on while the ranks agree on the plan of one. */
static void check_planned_meanwhile(void) {
  enum { calls = 2 * kinds };
  long sent[most_ranks];
  long received[most_ranks];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  MPI_Allreduce(&size, received, 1, MPI_INT, MPI_SUM, comm);
  expect_call("allreduce", 1, "agreement");
  for (int i = 0; i < calls; ++i) start(&jobs[i], 0, 50 + i, comm, 1);
  for (int to = 0; to < size; ++to) sent[to] = 100L * rank + to;
  MPI_Alltoall(sent, 1, MPI_LONG, received, 1, MPI_LONG, comm);
  expect_call("alltoall", 1, "meanwhile");
  for (int from = 0; from < size; ++from) CHECK(received[from] == 100L * from + rank, "%ld", received[from]);
  for (int i = 0; i < calls; ++i) {
    MPI_Wait(&jobs[i].request, MPI_STATUS_IGNORE);
    check(&jobs[i]);
  }
  MPI_Comm_free(&comm);
}

/* What a call refers to may be freed by the program while it is under way. */
static void check_freed_handles(void) {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm;
  MPI_Datatype pair;
  MPI_Request request;
  int values[most_ranks][4];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  agree_by_calling(comm);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < 4; ++i) values[r][i] = r == rank && i % 2 == 0 ? rank * 10 + i : -1;
  }
  MPI_Datatype spaced;
  MPI_Type_create_resized(pair, 0, sizeof values[0], &spaced);
  MPI_Type_commit(&spaced);
  MPI_Iallgather(MPI_IN_PLACE, 1, spaced, values, 1, spaced, comm, &request);
  expect_call("iallgather", 1, "freed handles");
  MPI_Type_free(&pair);
  MPI_Type_free(&spaced);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < 4; ++i) {
      CHECK(values[r][i] == (i % 2 == 0 ? r * 10 + i : -1), "value %d of rank %d is %d", i, r, values[r][i]);
    }
  }
}

/* Nothing to move: left to MPI. User-defined operations, too. */
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void check_fallen_through(MPI_Comm comm) {
  MPI_Request request;
  int mine = rank_in(comm);
  int total = -1;
  MPI_Iallreduce(&mine, &total, 0, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("iallreduce", 0, "nothing");
  CHECK(total == -1, "total %d", total);
  MPI_Op op;
  MPI_Op_create(&add, 1, &op);
  MPI_Iallreduce(&mine, &total, 1, MPI_INT, op, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_call("iallreduce", 0, "user's operation");
  CHECK(total == size_of(comm) * (size_of(comm) - 1) / 2, "total %d", total);
  MPI_Op_free(&op);
}

/* Comes to its result without a call of MPI's: there is a thread for it. */
static void check_thread(MPI_Comm comm) {
  for (int kind = 0; kind < kinds; ++kind) {
    start(&jobs[kind], kind, 3 + kind, comm, 1);
    const double begin = MPI_Wtime();
    while (!is_right_without_mpi(&jobs[kind])) {
      sched_yield();
      CHECK(MPI_Wtime() - begin < 60, "%s does not move by itself", names[kind]);
    }
    MPI_Wait(&jobs[kind].request, MPI_STATUS_IGNORE);
    check(&jobs[kind]);
  }
}

/* Nobody is given up who computes for longer than the limit, as long as nobody waits for it that long. */
static void check_long_computation(MPI_Comm comm) {
  const struct timespec longer = {3, 100000000L * rank_in(comm)};
  start(&jobs[0], 0, 5, comm, 1);
  nanosleep(&longer, NULL);
  MPI_Wait(&jobs[0].request, MPI_STATUS_IGNORE);
  check(&jobs[0]);
}

/* Rank 0 does not come: the others are told, by an error. */
static void check_timeout(MPI_Comm comm) {
  const int rank = rank_in(comm);
  int token = 1;
  if (rank == 0) {
    for (int r = 1; r < size_of(comm); ++r) MPI_Recv(&token, 1, MPI_INT, r, 6, comm, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error_class = MPI_SUCCESS;
  start(&jobs[0], 0, 5, comm, 1);
  const int code = MPI_Wait(&jobs[0].request, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_OTHER, "MPI_Wait returns %d", code);
  if (jobs[0].request != MPI_REQUEST_NULL) MPI_Request_free(&jobs[0].request);
  MPI_Send(&token, 1, MPI_INT, 0, 6, comm);
}

/* Moves while the program computes and looks now and then. */
static void check_overlap(MPI_Comm comm) {
  int done = 0;
  long looks = 0;
  start(&jobs[0], 0, 5, comm, 1);
  while (!done) {
    for (volatile int i = 0; i < 1000; ++i) continue;
    MPI_Test(&jobs[0].request, &done, MPI_STATUS_IGNORE);
    CHECK(++looks < 100000000, "it does not complete");
  }
  check(&jobs[0]);
}

static int last;
static int ranks;
static int last_is_right(void) { return last == ranks * (ranks - 1) / 2; }

int CASE(nonblocking)(int argc, char** argv) {
  CHECK(size_of(MPI_COMM_WORLD) <= most_ranks, "too many ranks");
  const MPI_Comm first = check_agreement();
  MPI_Comm second;
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  agree_by_calling(second);
  for (int way = 0; way < 6; ++way) check_many(first, second, way);
  if (!may_be_native()) check_freed(first);
  check_run_ahead(first, 10, 1);
  check_run_ahead(second, 300, 1); /* more than are under way at a time */
  if (argc > 1 && strcmp(argv[1], "timeout") == 0) {
    check_long_computation(second);
    check_timeout(second);
    return 0;
  }
  MPI_Comm fresh;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  check_run_ahead(fresh, 10, 0);
  check_planned_meanwhile();
  check_freed_handles();
  check_fallen_through(first);
  check_overlap(first);
  if (argc > 1 && strcmp(argv[1], "thread") == 0) check_thread(first);
  MPI_Comm_free(&fresh);
  MPI_Comm_free(&second);
  if (may_be_native()) return 0;
  /* Its end comes in MPI_Finalize at the latest. */
  last = rank_in(first);
  ranks = size_of(first);
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_SUM, first, &request);
  expect_call("iallreduce", 1, "last");
  MPI_Request_free(&request);
  after_finalize(&last_is_right);
  return 0;
}
