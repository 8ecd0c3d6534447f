// Completing requests under an MPI whose own progress does not call libcoll's: a function that waits becomes tests in a
// loop, with progress of ours between them.
#pragma once

#include "pmpi/shim/mpi_symbols.h"

namespace libcoll::pmpi {

/// Whether calls of ours are under way that this MPI does not move along.
bool must_poll() noexcept;

// NOLINTBEGIN(readability-identifier-naming): poll_NAME for every MPI_NAME that completes requests

/// MPI's own function where MPI moves ours along.
int poll_Wait(int (*wait)(MPI_Request*, MPI_Status*), MPI_Request* request, MPI_Status* status);
int poll_Waitall(int (*wait)(int, MPI_Request*, MPI_Status*), int count, MPI_Request* requests, MPI_Status* statuses);
int poll_Waitany(int (*wait)(int, MPI_Request*, int*, MPI_Status*), int count, MPI_Request* requests, int* index,
                 MPI_Status* status);
int poll_Waitsome(int (*wait)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests,
                  int* number, int* indices, MPI_Status* statuses);
/// MPI's own function, after progress of ours where MPI makes none.
int poll_Test(int (*test)(MPI_Request*, int*, MPI_Status*), MPI_Request* request, int* flag, MPI_Status* status);
int poll_Testall(int (*test)(int, MPI_Request*, int*, MPI_Status*), int count, MPI_Request* requests, int* flag,
                 MPI_Status* statuses);
int poll_Testany(int (*test)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests, int* index,
                 int* flag, MPI_Status* status);
int poll_Testsome(int (*test)(int, MPI_Request*, int*, int*, MPI_Status*), int count, MPI_Request* requests,
                  int* number, int* indices, MPI_Status* statuses);

// NOLINTEND(readability-identifier-naming)

}  // namespace libcoll::pmpi
