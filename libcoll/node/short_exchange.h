// Short calls of ranks that share memory: every rank writes its data next to the others', and reads all of it. No
// leader, no second stage: a call costs one look at each other rank's cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/call_phases.h"

namespace libcoll::node {

/// One rank's side. Allreduce, reduce-scatter, allgather and all-to-all of equal blocks, and calls of one root. Sums
/// are added up by NUMA domain, then over the domains, as NodeStaging does it. Two halves take turns: who writes a half
/// again has seen that all ranks went on to the call after it.
class ShortExchange {
 public:
  static constexpr std::int32_t most_ranks = 32;
  static constexpr std::int64_t most_bytes = 16 * 1024;  ///< of what a rank reads, but in calls of one root
  static constexpr std::int64_t most_broadcast_bytes = 64 * 1024;

  /// Bytes of shared memory, zeroed at first and aligned to a cache line, for so many ranks.
  static std::size_t bytes(std::int32_t ranks);
  /// Most bytes of a vector, or of a block, in calls of so many ranks, but for those of one root. 0: they have none
  /// that are short.
  static std::int64_t most_bytes_of(std::int32_t ranks) { return ranks > most_ranks ? 0 : most_bytes / ranks; }
  /// Most bytes of a vector that goes to one root. The root adds up alone and reads all others' vectors; where R ranks
  /// share the work, each reads 2 (R - 1) / R vectors. From the size on where the rest takes longer than sharing does,
  /// vectors are not short.
  static std::int64_t most_bytes_to_root(std::int32_t ranks);

  /// `domains`: the ranks of each NUMA domain, in the order of addition; every rank is in one.
  ShortExchange(std::byte* memory, std::vector<std::vector<std::int32_t>> domains, std::int32_t rank);

  /// Whether the call goes this way; the same on all ranks.
  [[nodiscard]] bool fits(const execute::Call& call) const;

  // A call, in this order. Precondition: fits().
  /// Shows this rank's data to the others.
  void begin(const execute::Call& call);
  /// When all ranks have come to the phase: writes the result. False where the ranks do not agree on the length; there
  /// is no result then.
  [[nodiscard]] bool finish(const execute::Call& call);

  /// A call is one of them.
  [[nodiscard]] CallPhases& phases() { return phases_; }

 private:
  static std::int64_t half_bytes(std::int32_t ranks);
  /// Where a rank shows its data in the present call.
  [[nodiscard]] std::byte* data_of(std::int32_t rank, const execute::Call& call) const;
  /// This rank's part of what a rank has shown, or keeps.
  [[nodiscard]] const std::byte* part_of(std::int32_t rank, const execute::Call& call) const;
  /// What this rank has for itself, in its own input.
  [[nodiscard]] const std::byte* own_part(const execute::Call& call) const;
  /// Whether it stays there until the result is written. Otherwise it lies in shared memory, too.
  [[nodiscard]] bool keeps_own(const execute::Call& call) const;
  /// Whether another rank reads what this one has, or this one reads it there.
  [[nodiscard]] bool shows_own(const execute::Call& call) const;
  void show(const execute::Call& call, std::byte* to, std::int64_t bytes) const;
  void reduce(const execute::Call& call);
  /// The sum of one domain; it lies in `to`, or where its only rank has shown it.
  const std::byte* reduce_domain(const execute::Call& call, const std::vector<std::int32_t>& domain,
                                 std::byte* to) const;
  void copy_own_block(const execute::Call& call) const;
  void copy_blocks_of_others(const execute::Call& call) const;

  const std::vector<std::vector<std::int32_t>> domains_;
  const std::int32_t ranks_;
  const std::int32_t rank_;
  const std::int64_t most_bytes_;  ///< of a vector or block, but for calls of one root
  const std::int64_t most_bytes_to_root_;
  const std::int64_t half_bytes_;
  std::byte* const halves_;  ///< plain memory: written before the rank posts the call, read after the others saw that
  std::vector<std::byte> of_domain_;  ///< a sum, where there are several
  CallPhases phases_;
};

}  // namespace libcoll::node
