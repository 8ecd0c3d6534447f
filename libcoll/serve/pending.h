// Nonblocking calls: what the program holds is a generalized request of MPI's, so that all of MPI's ways to wait for it
// work as they are.
#pragma once

#include <cstdint>
#include <memory>

#include "libcoll/serve/serving.h"

namespace libcoll::serve {

/// Begins the call and gives the program its request. MPI's return code.
int begin(comm::Runtime& process, comm::Communicator& communicator, const CallContext& context,
          std::unique_ptr<Operands> operands);

/// Completes the requests of calls that have come to their end. To be called whenever progress was made, without the
/// runtime's lock.
void complete_ended(comm::Runtime& process) noexcept;

/// Calls that were begun and are not over.
[[nodiscard]] std::int64_t pending_calls() noexcept;

/// Sees the calls to their end that nobody can wait for any more.
void finish_pending(comm::Runtime& process) noexcept;

}  // namespace libcoll::serve
