/* How programs that were made nonblocking (variants.h) agree and wait. */
#include "variants.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#undef served_calls /* by its full name here */

/* Of a request of libcoll's, which has no source: MPI leaves all but the error open, and Open MPI's own have what their
 * memory had. */
static void check_status(const MPI_Status* status) {
  int count = -1;
  int cancelled = -1;
  if (status->MPI_SOURCE != MPI_UNDEFINED) return;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  CHECK(count == 0 && cancelled == 0, "status: %d bytes, cancelled %d", count, cancelled);
}

/* Among the program's own messages, to itself: each thread's have a tag of their own. */
static void wait_among_messages(MPI_Request* request) {
  enum { words = 3000 };
  static _Thread_local int sent[words];
  static _Thread_local int received[words];
  static _Thread_local int tag;
  static atomic_int last_tag = 77;
  if (tag == 0) tag = ++last_tag;
  for (int i = 0; i < words; ++i) sent[i] = received[i] + i + 1;
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  MPI_Status statuses[4];
  MPI_Irecv(received, words, MPI_INT, 0, tag, MPI_COMM_SELF, &requests[3]);
  MPI_Isend(sent, words, MPI_INT, 0, tag, MPI_COMM_SELF, &requests[1]);
  CHECK(MPI_Waitall(4, requests, statuses) == MPI_SUCCESS, "MPI_Waitall");
  for (int i = 0; i < 4; ++i) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);
  CHECK(received[words - 1] == sent[words - 1], "the message to itself");
  check_status(&statuses[2]);
  *request = MPI_REQUEST_NULL;
}

static void wait_in_array(MPI_Request* request, int way) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  memset(statuses, 0xff, sizeof statuses); /* libcoll has to fill in all of it */
  int indices[3] = {-1, -1, -1};
  int index = -1;
  int count = 0;
  int done = 0;
  while (!done) {
    if (way == 0) done = MPI_Waitany(3, requests, &index, statuses) == MPI_SUCCESS;
    if (way == 1) MPI_Testany(3, requests, &index, &done, statuses);
    if (way == 2) done = MPI_Waitsome(3, requests, &count, indices, statuses) == MPI_SUCCESS;
    if (way == 3) {
      MPI_Testsome(3, requests, &count, indices, statuses);
      done = count > 0;
    }
    if (way == 4) MPI_Testall(3, requests, &done, statuses);
  }
  if (way < 2) CHECK(index == 1, "index %d", index);
  if (way == 2 || way == 3) CHECK(count == 1 && indices[0] == 1, "%d requests, the first %d", count, indices[0]);
  check_status(way == 4 ? &statuses[1] : &statuses[0]);
  *request = requests[1];
}

void variant_wait(MPI_Request* request) {
  static _Thread_local int next;
  const int way = next++ % 9;
  int done = 0;
  MPI_Status status;
  if (way == 0) CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
  while (way == 1 && !done) MPI_Test(request, &done, &status);
  if (way == 1) check_status(&status);
  if (way >= 2 && way <= 6) wait_in_array(request, way - 2);
  if (way == 7) {
    while (!done) MPI_Request_get_status(*request, &done, &status);
    check_status(&status);
    CHECK(*request != MPI_REQUEST_NULL, "MPI_Request_get_status freed the request");
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  if (way == 8) wait_among_messages(request);
  CHECK(*request == MPI_REQUEST_NULL, "the request is left, way %d", way);
}

void variant_end(MPI_Request* request) {
  static _Thread_local int next;
  const MPI_Request before = *request;
  const int way = next++ % 4;
  MPI_Request requests[3] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  int index = -1;
  int done = 0;
  MPI_Status status;
  if (way == 0) CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
  while (way == 1 && !done) MPI_Test(request, &done, &status);
  if (way == 2) CHECK(MPI_Waitany(3, requests, &index, &status) == MPI_SUCCESS && index == 1, "index %d", index);
  if (way == 3) CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "MPI_Waitall");
  CHECK(*request == before && requests[1] == before, "the request is not left, way %d", way);
  MPI_Request_free(request);
}

/* ---- agreement -------------------------------------------------------------------------------------------------- */

static int keyval = MPI_KEYVAL_INVALID;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int free_kinds(MPI_Comm comm, int key, void* kinds, void* extra) {
  (void)comm;
  (void)key;
  (void)extra;
  free(kinds);
  return MPI_SUCCESS;
}

static void make_keyval(void) { MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_kinds, &keyval, NULL); }

static void call_once(MPI_Comm comm, int kind) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  int* input = allocate(sizeof(int) * (uint64_t)size);
  int* output = allocate(sizeof(int) * (uint64_t)size);
  for (int i = 0; i < size; ++i) input[i] = 1;
  static const char* const names[variant_kinds] = {"iallreduce", "iallgather", "ialltoall", "ireduce_scatter_block"};
  const long before = served_calls(names[kind]);
  MPI_Request request;
  if (kind == variant_allreduce) MPI_Iallreduce(input, output, 1, MPI_INT, MPI_SUM, comm, &request);
  if (kind == variant_allgather) MPI_Iallgather(input, 1, MPI_INT, output, 1, MPI_INT, comm, &request);
  if (kind == variant_alltoall) MPI_Ialltoall(input, 1, MPI_INT, output, 1, MPI_INT, comm, &request);
  if (kind == variant_reduce_scatter) MPI_Ireduce_scatter_block(input, output, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* Where the ranks agreed before, it was served. */
  add_expected(names[kind], (int)(served_calls(names[kind]) - before));
  free(input);
  free(output);
}

void variant_agree(MPI_Comm comm, int kind) {
  pthread_once(&once, &make_keyval);
  char* kinds = NULL;
  int found = 0;
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter) return;
  MPI_Comm_get_attr(comm, keyval, &kinds, &found);
  if (!found) {
    kinds = calloc(variant_kinds, 1);
    CHECK(kinds != NULL, "no memory");
    MPI_Comm_set_attr(comm, keyval, kinds);
  }
  if (kinds[kind]) return;
  kinds[kind] = 1;
  call_once(comm, kind);
  MPI_Barrier(comm);
}
