// Which way a call goes where no tuning table says so: both are tried once.
#pragma once

#include <cstdint>

#include "pmpi/process.h"

namespace libcoll::pmpi {

/// Whether a call of that size is left to MPI because that was faster when both were tried. The first call of a kind on
/// a communicator tries, or finds in the plan cache what an earlier job tried; it is collective. Precondition: the
/// communicator serves calls of this kind.
bool measured_to_native(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm, std::int64_t bytes);

}  // namespace libcoll::pmpi
