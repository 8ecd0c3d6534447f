// Longer calls of ranks that share a host: each reads the others' buffers where they lie, in one copy by the kernel in
// place of two through memory that they share.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/call_phases.h"

namespace libcoll::node {

/// One rank's side. Allgather and all-to-all of equal blocks: for reductions the kernel's copies would not be the last
/// ones, and stages through memory are faster.
class SingleCopy {
 public:
  // Less than this from another rank is copied faster through memory that they share. There a rank waits for the others
  // once in a call, here twice, and where ranks share processors each time takes several switches between them.
  static constexpr std::int64_t least_bytes = 8 * 1024;
  static constexpr std::int64_t least_bytes_of_the_crowded = 64 * 1024;

  /// `processes`: by rank. `is_crowded`, the same on all ranks: there are more of them than processors, and there are
  /// stages for shorter calls. `phases` must outlive this.
  SingleCopy(CallPhases& phases, std::vector<pid_t> processes, bool is_crowded);

  /// Whether the call goes this way; the same on all ranks.
  [[nodiscard]] bool fits(const execute::Call& call) const;

  /// What has become of a call.
  enum class State : std::uint8_t { goes_on, over, lengths_differ, failed };

  // A call. Precondition: fits().
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
  /// In pieces, with signs of life between them. What cannot be read makes the call fail.
  void read(std::int32_t rank, std::uint64_t from, std::byte* to, std::int64_t bytes);

  CallPhases& phases_;
  const std::vector<pid_t> processes_;
  const std::int64_t least_bytes_;
  // Of the present call.
  std::vector<std::byte> input_copy_;  ///< of an input that the result is written over
  const std::byte* input_ = nullptr;   ///< this rank's
  std::vector<char> is_read_;          ///< by rank
  bool has_read_ = false;              ///< all blocks
  bool failed_ = false;
};

}  // namespace libcoll::node
