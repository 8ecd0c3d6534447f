#include "pmpi/shim/polling.h"

#include <sched.h>

#include "pmpi/shim/pending.h"
#include "pmpi/shim/process.h"

namespace libcoll::pmpi {
namespace {

/// Calls `test` until it fails or says that it is done.
template <class Test>
int poll_until(Test test) {
  for (;;) {
    const bool moved = progress_own();
    bool done = false;
    const int code = test(done);
    if (code != MPI_SUCCESS || done) return code;
    if (!moved) sched_yield();
  }
}

void progress_where_needed() {
  if (must_poll()) progress_own();
}

}  // namespace

bool must_poll() noexcept { return pending_calls() != 0 && !mpi_calls_progress(); }

// NOLINTBEGIN(readability-identifier-naming, readability-non-const-parameter): MPI's names and parameters

int poll_Wait(int (*wait)(MPI_Request*, MPI_Status*), MPI_Request* request, MPI_Status* status) {
  if (!must_poll()) return wait(request, status);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = PMPI_Test(request, &flag, status);
    done = flag != 0;
    return code;
  });
}

int poll_Waitall(int (*wait)(int, MPI_Request*, MPI_Status*), int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!must_poll()) return wait(count, requests, statuses);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = PMPI_Testall(count, requests, &flag, statuses);
    done = flag != 0;
    return code;
  });
}

int poll_Waitany(int (*wait)(int, MPI_Request*, int*, MPI_Status*), int count, MPI_Request* requests, int* index,
                 MPI_Status* status) {
  if (!must_poll()) return wait(count, requests, index, status);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = PMPI_Testany(count, requests, index, &flag, status);
    done = flag != 0;
    return code;
  });
}

int poll_Waitsome(int (*wait)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests,
                  int* number, int* indices, MPI_Status* statuses) {
  if (!must_poll()) return wait(count, requests, number, indices, statuses);
  return poll_until([&](bool& done) {
    const int code = PMPI_Testsome(count, requests, number, indices, statuses);
    done = *number != 0;
    return code;
  });
}

int poll_Test(int (*test)(MPI_Request*, int*, MPI_Status*), MPI_Request* request, int* flag, MPI_Status* status) {
  progress_where_needed();
  return test(request, flag, status);
}

int poll_Testall(int (*test)(int, MPI_Request*, int*, MPI_Status*), int count, MPI_Request* requests, int* flag,
                 MPI_Status* statuses) {
  progress_where_needed();
  return test(count, requests, flag, statuses);
}

int poll_Testany(int (*test)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests, int* index,
                 int* flag, MPI_Status* status) {
  progress_where_needed();
  return test(count, requests, index, flag, status);
}

int poll_Testsome(int (*test)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests,
                  int* number, int* indices, MPI_Status* statuses) {
  progress_where_needed();
  return test(count, requests, number, indices, statuses);
}

// NOLINTEND(readability-identifier-naming, readability-non-const-parameter)

}  // namespace libcoll::pmpi
