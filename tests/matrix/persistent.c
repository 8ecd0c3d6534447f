/* Persistent collectives (MPI 4.0, section 6.13): started in another order on every rank, completed in every way that
 * MPI has, among messages and requests of other kinds. What each computes is checked by others as well (variants.h).
 *   persistent [timeout | native]: with a limit to the time in which nothing moves; where they are left to MPI */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "jobs.h"
#include "persistent_names.h"

enum { requests_per_kind = 3, outstanding = requests_per_kind * kinds, rounds = 12 };

static const char* const names[kinds] = {
    "allreduce_init",  "allgather_init", "alltoall_init", "reduce_scatter_init", "reduce_scatter_block_init",
    "allgatherv_init", "alltoallv_init", "bcast_init",    "reduce_init"};

static struct Job jobs[outstanding];
static int serves = 1;

static void init(struct Job* job, int kind, int root, MPI_Comm comm) {
  const int size = size_of(comm);
  describe(job, kind, root, comm, serves);
  long* in = job->input;
  long* out = job->output;
  MPI_Request* request = &job->request;
  const int n = per_block;
  const MPI_Datatype type = MPI_LONG;
  const MPI_Info info = MPI_INFO_NULL;
  if (kind == 0) MPIX_Allreduce_init(in, out, n * size, type, MPI_SUM, comm, info, request);
  if (kind == 1) MPIX_Allgather_init(in, n, type, out, n, type, comm, info, request);
  if (kind == 2) MPIX_Alltoall_init(in, n, type, out, n, type, comm, info, request);
  if (kind == 3) MPIX_Reduce_scatter_init(in, out, job->counts, type, MPI_SUM, comm, info, request);
  if (kind == 4) MPIX_Reduce_scatter_block_init(in, out, n, type, MPI_SUM, comm, info, request);
  if (kind == 5) MPIX_Allgatherv_init(in, n, type, out, job->counts, job->places, type, comm, info, request);
  if (kind == 6) {
    MPIX_Alltoallv_init(in, job->counts, job->places, type, out, job->counts, job->places, type, comm, info, request);
  }
  if (kind == 7) MPIX_Bcast_init(out, n, type, job->root, comm, info, request);
  if (kind == 8) MPIX_Reduce_init(in, out, n * size, type, MPI_SUM, job->root, comm, info, request);
  expect_call(names[kind], 0, "init"); /* the starts count */
  CHECK(job->request != MPI_REQUEST_NULL, "no request");
}

static void start(struct Job* job, int salt) {
  const MPI_Request before = job->request;
  fill(job, salt);
  CHECK(MPI_Start(&job->request) == MPI_SUCCESS, "MPI_Start");
  CHECK(job->request == before, "the request has changed");
  expect_call(names[job->kind], job->served, "start");
}

static void check(const struct Job* job) {
  CHECK(is_right(job), "%s %d is wrong%s", names[job->kind], job->salt, job->served ? "" : " (MPI's)");
}

static void wait(struct Job* job) {
  const MPI_Request before = job->request;
  CHECK(MPI_Wait(&job->request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
  CHECK(job->request == before, "the request is not left");
  check(job);
}

static void free_all(void) {
  for (int i = 0; i < outstanding; ++i) {
    MPI_Request_free(&jobs[i].request);
    CHECK(jobs[i].request == MPI_REQUEST_NULL, "the request is left");
  }
}

/* Persistent messages of the program's to its neighbours, and some that are not. */
struct Messages {
  int rank;
  int size;
  long sent[2];
  long received[2];
  MPI_Request requests[4];
};

static void init_messages(struct Messages* messages) {
  messages->rank = rank_in(MPI_COMM_WORLD);
  messages->size = size_of(MPI_COMM_WORLD);
  const int before = (messages->rank + messages->size - 1) % messages->size;
  const int after = (messages->rank + 1) % messages->size;
  MPI_Recv_init(&messages->received[0], 1, MPI_LONG, before, 21, MPI_COMM_WORLD, &messages->requests[0]);
  MPI_Send_init(&messages->sent[0], 1, MPI_LONG, after, 21, MPI_COMM_WORLD, &messages->requests[1]);
}

static void begin_messages(struct Messages* messages, int round) {
  const int before = (messages->rank + messages->size - 1) % messages->size;
  const int after = (messages->rank + 1) % messages->size;
  for (int i = 0; i < 2; ++i) {
    messages->sent[i] = messages->rank * 1000 + round * 2 + i;
    messages->received[i] = -1;
  }
  MPI_Irecv(&messages->received[1], 1, MPI_LONG, before, 22, MPI_COMM_WORLD, &messages->requests[2]);
  MPI_Isend(&messages->sent[1], 1, MPI_LONG, after, 22, MPI_COMM_WORLD, &messages->requests[3]);
}

static void check_messages(const struct Messages* messages, int round) {
  const int before = (messages->rank + messages->size - 1) % messages->size;
  for (int i = 0; i < 2; ++i) {
    CHECK(messages->received[i] == before * 1000 + round * 2 + i, "message %ld", messages->received[i]);
  }
}

/* MPICH 4.0 waits for ever for inactive requests of collectives that are left to it. */
static int inactive_is_known(void) {
#ifdef OPEN_MPI
  return 1;
#else
  return serves && !may_be_native();
#endif
}

/* Completes all in one of MPI's ways. */
static void complete(int all, MPI_Request* requests, int way) {
  MPI_Status statuses[outstanding + 4];
  int indices[outstanding + 4];
  int left = all;
  int flag = 0;
  CHECK(all <= outstanding + 4, "%d requests", all);
  memset(statuses, 0xff, sizeof statuses);
  if (way == 0) {
    CHECK(MPI_Waitall(all, requests, statuses) == MPI_SUCCESS, "MPI_Waitall");
    left = 0;
  }
  if (way == 1) {
    while (!flag) MPI_Testall(all, requests, &flag, MPI_STATUSES_IGNORE);
    left = 0;
  }
  for (int i = 0; way == 2 && i < all; ++i, --left) MPI_Wait(&requests[(i * 5) % all], MPI_STATUS_IGNORE);
  for (int i = 0; way == 3 && i < all; ++i, --left) {
    for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, &statuses[0]);
    for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, &statuses[0]);
  }
  while (left > 0) {
    int count = 0;
    if (way == 4) MPI_Waitsome(all, requests, &count, indices, statuses);
    if (way == 5) MPI_Testsome(all, requests, &count, indices, statuses);
    if (way == 6) {
      MPI_Testany(all, requests, indices, &flag, statuses);
      count = flag;
    }
    if (way == 7) count = MPI_Waitany(all, requests, indices, statuses) == MPI_SUCCESS;
    CHECK(count != MPI_UNDEFINED, "%d requests are lost", left);
    for (int i = 0; i < count; ++i) CHECK(indices[i] >= 0 && indices[i] < all, "index %d", indices[i]);
    left -= count;
  }
  if (!inactive_is_known()) return;
  /* Inactive ones are complete, and there is nothing to wait for. */
  MPI_Waitany(all, requests, indices, statuses);
  CHECK(indices[0] == MPI_UNDEFINED, "index %d of inactive requests", indices[0]);
}

/* Many, several of a kind, started one by one or together, in another order on every rank. */
static void check_many(MPI_Comm comm) {
  struct Messages messages;
  init_messages(&messages);
  for (int i = 0; i < outstanding; ++i) init(&jobs[i], i % kinds, i, comm);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[outstanding + 4];
    const int way = round % 8;
    const int by_one = round % 3 != 0;
    begin_messages(&messages, round);
    for (int i = 0; i < outstanding; ++i) {
      const int place = (i * 8 + messages.rank * (round + 3)) % outstanding; /* 8 and 27 have no common factor */
      if (by_one) start(&jobs[place], 100 * round + place);
      if (!by_one) fill(&jobs[i], 100 * round + i);
    }
    for (int i = 0; i < outstanding; ++i) requests[i] = jobs[i].request;
    memcpy(requests + outstanding, messages.requests, sizeof messages.requests);
    if (by_one) {
      MPI_Startall(2, requests + outstanding);
    } else {
      CHECK(MPI_Startall(outstanding + 2, requests) == MPI_SUCCESS, "MPI_Startall");
      for (int kind = 0; kind < kinds; ++kind) {
        add_expected(names[kind], serves ? requests_per_kind : 0);
      }
      expect_call(names[0], 0, "together");
    }
    complete(outstanding + 4, requests, way);
    for (int i = 0; i < outstanding; ++i) {
      CHECK(requests[i] == jobs[i].request, "request %d has changed, way %d", i, way);
      check(&jobs[i]);
    }
    CHECK(requests[outstanding] == messages.requests[0], "a persistent message's request has changed");
    CHECK(requests[outstanding + 2] == MPI_REQUEST_NULL && requests[outstanding + 3] == MPI_REQUEST_NULL,
          "a message's request is left");
    check_messages(&messages, round);
  }
  free_all();
  MPI_Request_free(&messages.requests[0]);
  MPI_Request_free(&messages.requests[1]);
}

/* Some ranks start before other collectives of the communicator, some after; some wait between them. */
static void check_among_others(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  init(&jobs[0], 0, 0, comm);
  init(&jobs[1], 2, 0, comm);
  for (int round = 0; round < 4; ++round) {
    const int early = (rank + round) % 2 == 0;
    long one = 1;
    long two = 2;
    MPI_Request other;
    if (early) start(&jobs[0], round);
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_LONG, MPI_SUM, comm);
    expect_call("allreduce", 1, "among");
    if (early) start(&jobs[1], round);
    MPI_Iallreduce(MPI_IN_PLACE, &two, 1, MPI_LONG, MPI_SUM, comm, &other);
    expect_call("iallreduce", 1, "among");
    if (!early) start(&jobs[1], round);
    if (!early) start(&jobs[0], round);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    wait(&jobs[0]);
    wait(&jobs[1]);
    CHECK(one == size && two == 2 * size, "sums %ld and %ld", one, two);
  }
  MPI_Request_free(&jobs[0].request);
  MPI_Request_free(&jobs[1].request);
}

/* The root of a broadcast may be many starts ahead of those who come later. */
static void check_run_ahead(MPI_Comm comm) {
  const int rank = rank_in(comm);
  int token = 0;
  init(&jobs[0], 7, 0, comm);
  if (rank != 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 4, comm, MPI_STATUS_IGNORE);
  for (int call = 0; call < 200; ++call) {
    start(&jobs[0], call);
    if (call == 0 && rank + 1 < size_of(comm)) MPI_Send(&token, 1, MPI_INT, rank + 1, 4, comm);
    wait(&jobs[0]);
  }
  MPI_Request_free(&jobs[0].request);
}

/* Inactive requests: what MPI says of them. */
static void check_inactive(MPI_Comm comm) {
  init(&jobs[0], 0, 0, comm);
  for (int round = 0; round < 2; ++round) {
    if (inactive_is_known()) {
      MPI_Status status;
      int flag = 0;
      MPI_Request_get_status(jobs[0].request, &flag, &status);
      CHECK(flag, "an inactive request is not complete");
      CHECK(MPI_Wait(&jobs[0].request, &status) == MPI_SUCCESS && jobs[0].request != MPI_REQUEST_NULL, "MPI_Wait");
      MPI_Test(&jobs[0].request, &flag, &status);
      CHECK(flag && jobs[0].request != MPI_REQUEST_NULL, "MPI_Test");
    }
    start(&jobs[0], round);
    wait(&jobs[0]);
  }
  MPI_Request_free(&jobs[0].request);
}

/* What a call refers to may be freed by the program before its starts. */
static void check_freed_types(MPI_Comm comm) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  MPI_Datatype pair;
  MPI_Datatype spaced;
  MPI_Request request;
  int values[most_ranks][4];
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, sizeof values[0], &spaced);
  MPI_Type_commit(&spaced);
  MPIX_Allgather_init(MPI_IN_PLACE, 1, spaced, values, 1, spaced, comm, MPI_INFO_NULL, &request);
  MPI_Type_free(&pair);
  MPI_Type_free(&spaced);
  for (int round = 0; round < 3; ++round) {
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < 4; ++i) values[r][i] = r == rank && i % 2 == 0 ? rank * 10 + round + i : -1;
    }
    MPI_Start(&request);
    expect_call("allgather_init", serves, "freed types");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < 4; ++i) {
        const int right = i % 2 == 0 ? r * 10 + round + i : -1;
        CHECK(values[r][i] == right, "value %d of rank %d is %d", i, r, values[r][i]);
      }
    }
  }
  MPI_Request_free(&request);
}

/* The same where every block has a type: columns go to rows. */
static void check_freed_types_of_blocks(MPI_Comm comm) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  MPI_Request request;
  MPI_Datatype sent_types[most_ranks];
  MPI_Datatype received_types[most_ranks];
  int counts[most_ranks];
  int sent_places[most_ranks];
  int received_places[most_ranks];
  int columns[3][most_ranks];
  int rows[most_ranks][3];
  for (int r = 0; r < size; ++r) {
    MPI_Type_vector(3, 1, most_ranks, MPI_INT, &sent_types[r]);
    MPI_Type_contiguous(3, MPI_INT, &received_types[r]);
    MPI_Type_commit(&sent_types[r]);
    MPI_Type_commit(&received_types[r]);
    counts[r] = 1;
    sent_places[r] = r * (int)sizeof(int);
    received_places[r] = r * (int)sizeof rows[0];
  }
  MPIX_Alltoallw_init(columns, counts, sent_places, sent_types, rows, counts, received_places, received_types, comm,
                      MPI_INFO_NULL, &request);
  for (int r = 0; r < size; ++r) {
    MPI_Type_free(&sent_types[r]);
    MPI_Type_free(&received_types[r]);
  }
  for (int round = 0; serves && round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      for (int r = 0; r < size; ++r) columns[i][r] = rank * 1000 + r * 10 + i + round;
    }
    memset(rows, 0xff, sizeof rows);
    MPI_Start(&request);
    expect_call("alltoallw_init", 1, "freed types of blocks");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < 3; ++i) {
        CHECK(rows[r][i] == r * 1000 + rank * 10 + i + round, "value %d of rank %d is %d", i, r, rows[r][i]);
      }
    }
  }
  MPI_Request_free(&request);
}

/* Calls go on, and complete, although their requests were freed: seen by their results alone. */
static void check_freed(MPI_Comm comm) {
  for (int kind = 0; kind < kinds; ++kind) {
    init(&jobs[kind], kind, 1, comm);
    start(&jobs[kind], 7 + kind);
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

/* Nothing to move: left to MPI. User-defined operations, too. */
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void check_fallen_through(MPI_Comm comm) {
  MPI_Request requests[2];
  int mine = rank_in(comm);
  int nothing = -1;
  int total = -1;
  MPI_Op op;
  MPI_Op_create(&add, 1, &op);
  MPIX_Allreduce_init(&mine, &nothing, 0, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
  MPIX_Allreduce_init(&mine, &total, 1, MPI_INT, op, comm, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    total = -1;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_call("allreduce_init", 0, "left to MPI");
    CHECK(nothing == -1 && total == size_of(comm) * (size_of(comm) - 1) / 2, "total %d", total);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Op_free(&op);
}

/* Rank 0 does not come: the others are told, by an error, and keep the request. */
static void check_timeout(MPI_Comm comm) {
  const int rank = rank_in(comm);
  int token = 1;
  init(&jobs[0], 0, 0, comm);
  if (rank == 0) {
    for (int r = 1; r < size_of(comm); ++r) MPI_Recv(&token, 1, MPI_INT, r, 6, comm, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error_class = MPI_SUCCESS;
  int flag = 0;
  start(&jobs[0], 5);
  const int code = MPI_Wait(&jobs[0].request, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_OTHER, "MPI_Wait returns %d", code);
  CHECK(jobs[0].request != MPI_REQUEST_NULL, "the request is not left");
  MPI_Request_get_status(jobs[0].request, &flag, MPI_STATUS_IGNORE);
  CHECK(flag && MPI_Wait(&jobs[0].request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the request is not inactive");
  MPI_Request_free(&jobs[0].request);
  MPI_Send(&token, 1, MPI_INT, 0, 6, comm);
}

int CASE(persistent)(int argc, char** argv) {
  const int limited = argc > 1 && strcmp(argv[1], "timeout") == 0;
  serves = argc < 2 || limited;
  CHECK(size_of(MPI_COMM_WORLD) <= most_ranks, "too many ranks");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check_many(comm);
  if (limited) {
    check_timeout(comm);
    return 0;
  }
  check_inactive(comm);
  check_freed_types(comm);
  check_freed_types_of_blocks(comm);
  if (serves && !may_be_native()) check_among_others(comm); /* else as MPI would have it */
  if (serves) check_run_ahead(comm);
  check_fallen_through(comm);
  if (serves && !may_be_native()) check_freed(comm);
  MPI_Comm_free(&comm);
  return 0;
}
