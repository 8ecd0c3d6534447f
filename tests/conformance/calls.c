#include "calls.h"

#include "check.h"
#include "persistent_names.h"

/* name, Name, the arguments before the communicator */
#define COLLECTIVES(each)                                                                                             \
  each(allreduce, Allreduce, a->send, a->receive, a->receive_count, a->receive_type, a->op) each(                     \
      reduce, Reduce, a->send, a->receive, a->receive_count, a->receive_type, a->op, a->root)                         \
      each(reduce_scatter, Reduce_scatter, a->send, a->receive, a->receive_counts, a->receive_type, a->op) each(      \
          reduce_scatter_block, Reduce_scatter_block, a->send, a->receive, a->receive_count, a->receive_type, a->op)  \
          each(allgather, Allgather, a->send, a->send_count, a->send_type, a->receive, a->receive_count,              \
               a->receive_type) each(allgatherv, Allgatherv, a->send, a->send_count, a->send_type, a->receive,        \
                                     a->receive_counts, a->receive_places, a->receive_type)                           \
              each(alltoall, Alltoall, a->send, a->send_count, a->send_type, a->receive, a->receive_count,            \
                   a->receive_type) each(alltoallv, Alltoallv, a->send, a->send_counts, a->send_places, a->send_type, \
                                         a->receive, a->receive_counts, a->receive_places, a->receive_type)           \
                  each(alltoallw, Alltoallw, a->send, a->send_counts, a->send_places, a->send_types, a->receive,      \
                       a->receive_counts, a->receive_places, a->receive_types)                                        \
                      each(bcast, Bcast, a->receive, a->receive_count, a->receive_type, a->root)

#define DEFINE(name, Name, ...)                                                    \
  static int call_##name(const struct Arguments* a, MPI_Request* request) {        \
    (void)request;                                                                 \
    return MPI_##Name(__VA_ARGS__, a->comm);                                       \
  }                                                                                \
  static int call_i##name(const struct Arguments* a, MPI_Request* request) {       \
    return MPI_I##name(__VA_ARGS__, a->comm, request);                             \
  }                                                                                \
  static int call_##name##_init(const struct Arguments* a, MPI_Request* request) { \
    return MPIX_##Name##_init(__VA_ARGS__, a->comm, MPI_INFO_NULL, request);       \
  }
COLLECTIVES(DEFINE)

typedef int (*Call)(const struct Arguments*, MPI_Request*);

#define ROW(name, Name, ...) {&call_##name, &call_i##name, &call_##name##_init},
static const Call calls[collective_count][mode_count] = {COLLECTIVES(ROW)};

#define NAMES(name, Name, ...) {#name, "i" #name, #name "_init"},
static const char* const names[collective_count][mode_count] = {COLLECTIVES(NAMES)};

const char* name_of_call(enum Collective collective, enum Mode mode) { return names[collective][mode]; }

void start_call(enum Collective collective, enum Mode mode, const struct Arguments* arguments, MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (mode != persistent || *request == MPI_REQUEST_NULL) code = calls[collective][mode](arguments, request);
  if (code == MPI_SUCCESS && mode == persistent) code = MPI_Start(request);
  CHECK(code == MPI_SUCCESS, "%s returned %d", name_of_call(collective, mode), code);
}

/* ---- ways of waiting -------------------------------------------------------------------------------------------- */

static int wait_alone(MPI_Request* request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }

static int test_until_done(MPI_Request* request) {
  int done = 0;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && !done) code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return code;
}

static int ask_until_done(MPI_Request* request) {
  int done = 0;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && !done) code = MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

/* Beside a message to oneself and a request that is none. */
static int wait_in_company(MPI_Request* request, unsigned way) {
  enum { company = 4 };
  const int sent = (int)way;
  int received = -1;
  MPI_Request requests[company] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  int indices[company];
  int code = MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
  if (code == MPI_SUCCESS) code = MPI_Isend(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[3]);
  for (int left = 3; code == MPI_SUCCESS && left > 0;) {
    int done = 0;
    int index = MPI_UNDEFINED;
    MPI_Status statuses[company];
    switch (way % 6) {
      case 0:
        code = MPI_Waitall(company, requests, statuses);
        done = company;
        break;
      case 1:
        code = MPI_Waitany(company, requests, &index, statuses);
        done = index != MPI_UNDEFINED;
        break;
      case 2:
        code = MPI_Waitsome(company, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
      case 3:
        code = MPI_Testall(company, requests, &done, statuses);
        done *= company;
        break;
      case 4:
        code = MPI_Testany(company, requests, &index, &done, MPI_STATUS_IGNORE);
        break;
      default:
        code = MPI_Testsome(company, requests, &done, indices, statuses);
        break;
    }
    left -= done;
  }
  CHECK(code != MPI_SUCCESS || received == sent, "the message to oneself brought %d, not %d", received, sent);
  *request = requests[2];
  return code;
}

void finish_call(enum Mode mode, MPI_Request* request, unsigned way) {
  if (mode == blocking) return;
#ifndef OPEN_MPI
  /* MPICH 4.0.2's own MPI_Testall and MPI_Testany take a persistent collective's request for one that has failed. */
  if (mode == persistent && (way % 6 == 3 || way % 6 == 4)) way += 2;
#endif
  int (*const alone[])(MPI_Request*) = {&wait_alone, &test_until_done, &ask_until_done};
  const int code = way % 9 < 3 ? alone[way % 9](request) : wait_in_company(request, way);
  CHECK(code == MPI_SUCCESS, "waiting returned %d", code);
  CHECK((*request == MPI_REQUEST_NULL) == (mode == nonblocking), "the request is not what it should be after waiting");
}
