// What serving a call takes, whatever collective it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "pmpi/process.h"

namespace libcoll::pmpi {

/// Counts why the call falls through, and returns nothing.
std::optional<int> fall_through(Runtime& process, CallKind kind, Reason reason);

/// The communicator when it serves this call; otherwise null, and why not is counted. Collective at the first call of a
/// communicator and of each plan. `bytes` is the call's size for the tuning table, where it is equal on all ranks.
Communicator* find_communicator(Runtime& process, CallKind kind, MPI_Comm comm,
                                std::optional<std::int64_t> bytes = std::nullopt);

/// Has MPI's error handler called; returns the code.
int raise(MPI_Comm comm, int code);

/// Bytes of a call that is served, as the statistics have it: of the vector (allreduce, bcast, reduce, reduce_scatter,
/// allgatherv), of a block, or of all that `rank` sends (alltoallv).
std::int64_t bytes_of(const Call& call, int rank);

/// Counts a call of `bytes` bytes as served that began at that time (steady_nanoseconds()); `record` may be null.
void count_served(Runtime& process, CommunicatorRecord* record, CallKind kind, std::int64_t bytes, std::int64_t began);

/// Runs the call and counts it as served. MPI's return code.
int run(Runtime& process, Communicator& communicator, CallKind kind, const Call& call, MPI_Comm comm);

/// Memory that is not zeroed.
std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes);

/// What an exception (out of memory) becomes at the C border.
template <class Body>
std::optional<int> guarded(MPI_Comm comm, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return raise(comm, MPI_ERR_NO_MEM);
  }
}

}  // namespace libcoll::pmpi
