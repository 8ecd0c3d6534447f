#include "libcoll/serve/polling.h"

#include <sched.h>

#include "libcoll/serve/pending.h"
#include "libcoll/serve/process.h"

namespace libcoll::serve {
namespace {

/// Calls `test` until it fails or says that it is done.
template <class Test>
int poll_until(Test test) {
  for (;;) {
    const bool moved = progress_own();
    bool done = false;
    const int code = test(done);
    if (code != mpi_success || done) return code;
    if (!moved) sched_yield();
  }
}

void progress_where_needed() {
  if (must_poll()) progress_own();
}

}  // namespace

bool must_poll() noexcept { return pending_calls() != 0 && !mpi_calls_progress(); }

// NOLINTBEGIN(readability-identifier-naming, readability-non-const-parameter): MPI's names and parameters

int poll_Wait(int (*wait)(MpiRequests, MpiStatus*), MpiRequests request, MpiStatus* status) {
  if (!must_poll()) return wait(request, status);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = mpi.test(request, &flag, status);
    done = flag != 0;
    return code;
  });
}

int poll_Waitall(int (*wait)(int, MpiRequests, MpiStatus*), int count, MpiRequests requests, MpiStatus* statuses) {
  if (!must_poll()) return wait(count, requests, statuses);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = mpi.testall(count, requests, &flag, statuses);
    done = flag != 0;
    return code;
  });
}

int poll_Waitany(int (*wait)(int, MpiRequests, int*, MpiStatus*), int count, MpiRequests requests, int* index,
                 MpiStatus* status) {
  if (!must_poll()) return wait(count, requests, index, status);
  return poll_until([&](bool& done) {
    int flag = 0;
    const int code = mpi.testany(count, requests, index, &flag, status);
    done = flag != 0;
    return code;
  });
}

int poll_Waitsome(int (*wait)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* number,
                  int* indices, MpiStatus* statuses) {
  if (!must_poll()) return wait(count, requests, number, indices, statuses);
  return poll_until([&](bool& done) {
    const int code = mpi.testsome(count, requests, number, indices, statuses);
    done = *number != 0;
    return code;
  });
}

int poll_Test(int (*test)(MpiRequests, int*, MpiStatus*), MpiRequests request, int* flag, MpiStatus* status) {
  progress_where_needed();
  return test(request, flag, status);
}

int poll_Testall(int (*test)(int, MpiRequests, int*, MpiStatus*), int count, MpiRequests requests, int* flag,
                 MpiStatus* statuses) {
  progress_where_needed();
  return test(count, requests, flag, statuses);
}

int poll_Testany(int (*test)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* index,
                 int* flag, MpiStatus* status) {
  progress_where_needed();
  return test(count, requests, index, flag, status);
}

int poll_Testsome(int (*test)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* number,
                  int* indices, MpiStatus* statuses) {
  progress_where_needed();
  return test(count, requests, number, indices, statuses);
}

// NOLINTEND(readability-identifier-naming, readability-non-const-parameter)

}  // namespace libcoll::serve
