// libcoll's state in this MPI process.
#pragma once

#include "libcoll/comm/runtime.h"
#include "libcoll/serve/mpi_messages.h"

namespace libcoll::serve {

/// The runtime, made at the first call between MPI_Init and MPI_Finalize under an MPI that we know; null otherwise.
comm::Runtime* runtime();

/// Those of the MPI transport; null when it is another.
PrivateMessages* private_messages();

/// Lets the program's own messages move.
void progress_mpi() noexcept;

/// Whether MPI's own progress moves calls of ours along.
[[nodiscard]] bool mpi_calls_progress() noexcept;
/// Moves calls of ours along, and completes the requests of those that are over; whether anything moved.
bool progress_own() noexcept;

/// After the real MPI_Init.
void after_init() noexcept;
/// Before and after the real MPI_Finalize.
void before_finalize();
void after_finalize();

/// For `libcoll_calls_served`: this process's count for a collective by name, -1 for an unknown one.
long calls_served(const char* collective);

}  // namespace libcoll::serve
