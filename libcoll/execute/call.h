// What is asked of the runtime: one collective over contiguous memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/execute/execution.h"
#include "planner/schedule/schedule.h"

namespace libcoll::execute {

/// One collective call whose data is contiguous in memory.
struct Call {
  schedule::Collective collective = schedule::Collective::allreduce;
  const std::byte* input = nullptr;  ///< in place: where this rank's data lies in `output`
  std::byte* output = nullptr;
  /// allreduce: elements of the vector; others: of one block, the blocks of a buffer lying one after the other.
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  Reducer reducer;
  bool order_matters = false;  ///< of what is reduced: another order of addition may give other bits
  /// Blocks of unequal length, as in Shape; `elements` then means nothing, unless `is_rooted`. alltoall: this rank's
  /// own row and column are enough, but for the starts of persistent calls.
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> input_offsets;
  std::vector<std::int64_t> output_offsets;
  bool is_rooted = false;  ///< MPI_Bcast, an allgather, or MPI_Reduce, a reduce-scatter: no block but the root's
  std::int32_t root = 0;   ///< where `is_rooted`; `elements` are those of its block then
};

}  // namespace libcoll::execute
