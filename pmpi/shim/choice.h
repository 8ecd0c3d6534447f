// Which way a call goes where no tuning table says so: by trying both once, or by the cost model.
#pragma once

#include <cstdint>

#include "pmpi/shim/process.h"
#include "pmpi/shim/serve.h"

namespace libcoll::pmpi {

/// Whether a call of that size is left to MPI because that was faster when both were tried. The first call of a kind on
/// a communicator tries, or finds in the plan cache what an earlier job tried; it is collective. Precondition: the
/// communicator serves calls of this kind.
bool measured_to_native(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm, std::int64_t bytes);

/// Whether the cost model leaves a call of that size to MPI. The first call of a kind on a communicator measures what
/// the model needs to know, or finds in the plan cache what an earlier job of the same shape measured, and tells the
/// communicator how its calls are to go; it is collective. Of reductions whose order matters facts decide, and nothing
/// that was measured. Precondition: as above.
bool modelled_to_native(Runtime& process, CommunicatorState& state, const CallContext& context, std::int64_t bytes);

/// For communicators within a node, whose calls must be faster than MPI's: whether it is known of a call of that size
/// which way that is, and whether a first call could find out. The same on all ranks.
bool is_proven(const Communicator& communicator, const CallContext& context, std::int64_t bytes);
bool can_be_proven(const Communicator& communicator, const CallContext& context, std::int64_t bytes);

}  // namespace libcoll::pmpi
