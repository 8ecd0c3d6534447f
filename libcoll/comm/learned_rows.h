// Rows of a communicator's selection table that its first calls find out: by trying both ways, or by the cost model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libcoll/base/calls.h"
#include "libcoll/comm/communicator.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/runtime.h"

namespace libcoll::comm {

/// Who learns, and what it takes of the program's MPI.
struct Learner {
  Runtime& runtime;
  Communicator& communicator;
  observe::CommunicatorRecord* record = nullptr;  ///< of the program's calls, which those that are tried are none of
  HostCommunicator& host;
  ProgressHook hook;
  /// A call of MPI's own on a communicator of libcoll's, of bytes and with MPI_BOR, as tuning tables count them; the
  /// root is rank 0. False when MPI reported an error, or for calls that cannot be tried.
  std::function<bool(CallKind call, const std::byte* input, std::byte* output, std::int64_t bytes)> native;
};

/// Whether calls of this kind can be tried: all ranks know the size of all blocks.
bool can_be_tried(CallKind call);

/// Whether settings leave such calls to the cost model. `must_be_faster`: as Communicator has it.
bool wants_cost_model(const Config& config, CallKind call, bool must_be_faster);

/// Adds what is to be known of calls of a kind, where settings want it and nobody has looked yet. The first call of a
/// kind on a communicator tries both ways or measures what the cost model needs, or finds in the plan cache what an
/// earlier job of the same shape measured. Of reductions whose order matters facts decide, and nothing that was
/// measured. Collective. Precondition: the communicator serves calls of this kind.
void learn_rows(const Learner& learner, CallKind call, bool order_matters);

}  // namespace libcoll::comm
