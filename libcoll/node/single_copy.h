// Longer calls of ranks that share a host: each reads the others' buffers where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/call_phases.h"
#include "libcoll/node/neighbour_memory.h"

namespace libcoll::node {

/// One rank's side. Allgather and all-to-all of equal blocks: for reductions the kernel's copies would not be the last
/// ones, and stages through memory are faster.
class SingleCopy {
 public:
  /// Shorter calls go in stages. The arguments, of ranks of which all share one node, must outlive this.
  SingleCopy(CallPhases& phases, const NeighbourMemory& neighbours)
      : phases_(phases), neighbours_(neighbours), is_read_(static_cast<std::size_t>(phases.ranks())) {}

  /// Of blocks that are read faster than copied through shared memory, mostly; the same on all ranks.
  [[nodiscard]] std::int64_t least_bytes(schedule::Collective collective) const;
  /// Whether the call has such blocks. Others can go this way, too, if they are equal and nothing is reduced.
  [[nodiscard]] bool fits(const execute::Call& call) const;

  /// What has become of a call.
  enum class State : std::uint8_t { goes_on, over, lengths_differ, failed };

  // A call. Precondition: it can go this way.
  /// Shows this rank's buffers to the others.
  void begin(const execute::Call& call);
  /// When all ranks have come to the present phase. As long as the call goes on, there is another one. A call that has
  /// failed has no result, and the others have to be told.
  State go_on(const execute::Call& call);

 private:
  void show(const execute::Call& call);
  void copy_own_block(const execute::Call& call) const;
  /// Of those ranks that have come, and whose blocks are not read yet.
  void read_blocks(const execute::Call& call);

  CallPhases& phases_;
  const NeighbourMemory& neighbours_;
  // Of the present call.
  std::vector<std::byte> input_copy_;  ///< of an input that the result is written over
  const std::byte* input_ = nullptr;   ///< this rank's
  std::vector<char> is_read_;          ///< by rank
  bool has_read_ = false;              ///< all blocks
  bool failed_ = false;
};

}  // namespace libcoll::node
