// Completing requests under an MPI whose own progress does not call libcoll's: a function that waits becomes tests in a
// loop, with progress of ours between them.
#pragma once

#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// Whether calls of ours are under way that this MPI does not move along.
bool must_poll() noexcept;

// NOLINTBEGIN(readability-identifier-naming): poll_NAME for every MPI_NAME that completes requests

/// MPI's own function where MPI moves ours along.
int poll_Wait(int (*wait)(MpiRequests, MpiStatus*), MpiRequests request, MpiStatus* status);
int poll_Waitall(int (*wait)(int, MpiRequests, MpiStatus*), int count, MpiRequests requests, MpiStatus* statuses);
int poll_Waitany(int (*wait)(int, MpiRequests, int*, MpiStatus*), int count, MpiRequests requests, int* index,
                 MpiStatus* status);
int poll_Waitsome(int (*wait)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* number,
                  int* indices, MpiStatus* statuses);
/// MPI's own function, after progress of ours where MPI makes none.
int poll_Test(int (*test)(MpiRequests, int*, MpiStatus*), MpiRequests request, int* flag, MpiStatus* status);
int poll_Testall(int (*test)(int, MpiRequests, int*, MpiStatus*), int count, MpiRequests requests, int* flag,
                 MpiStatus* statuses);
int poll_Testany(int (*test)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* index,
                 int* flag, MpiStatus* status);
int poll_Testsome(int (*test)(int, MpiRequests, int*, int*, MpiStatus*), int count, MpiRequests requests, int* number,
                  int* indices, MpiStatus* statuses);

// NOLINTEND(readability-identifier-naming)

}  // namespace libcoll::serve
