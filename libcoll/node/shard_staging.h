// Allgather and reduce-scatter of nodes with several ranks whose shards are of any length, staged in memory that the
// ranks of a node share. Broadcast and reduce are those where one rank alone has a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/execute/execution.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/node/staging.h"
#include "planner/schedule/schedule.h"

namespace libcoll::node {

/// A call, equal on all ranks but for the offsets.
struct Shards {
  schedule::Collective collective = schedule::Collective::allgather;  ///< or reduce_scatter
  std::int64_t element_bytes = 1;
  std::vector<std::int64_t> counts;   ///< elements, by the owner's rank
  std::vector<std::int64_t> offsets;  ///< bytes, of each shard in the output (allgather) or the input (reduce_scatter)
};

/// What one leader moves, as one rank per node would.
struct ShardPart {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  execute::Shape shape;  ///< counts by node
  bool empty = true;     ///< nothing to move; equal for this leader on all nodes
};

/// One rank's view; copies return what NodeStaging's do. Memory has a place for the round's part of every shard, those
/// of a node beside each other. A reduction has such a row of places for every local rank, and the sum comes to lie in
/// the first row, or at once where its owner wants it.
class ShardStaging {
 public:
  /// `bytes` of shared memory are there for a round. The arguments must outlive this.
  ShardStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes, const Shards& shards);

  /// Whether any round can be run at all.
  [[nodiscard]] static bool fits(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes);
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  /// Of every shard of n elements it takes those from n·k/K to n·(k+1)/K, for round k of K.
  void begin_round(std::int64_t round, const RoundMemory& memory);

  std::int64_t copy_in(const std::byte* input) const;
  /// reduce_scatter: as an allreduce of a row would reduce on the node, see NodeStaging.
  [[nodiscard]] Round row() const;
  /// Where that row lies in the input; null: nowhere as it is. Then copy_in() copies all of it, otherwise a vector's
  /// does.
  [[nodiscard]] const std::byte* row_in(const std::byte* input) const;
  /// Whether each rank adds up its own shard in its output, in the order in which rows are: one copy and one wait less.
  /// Then the functions below take the place of copy_in() and copy_out(). Within a node, unless one rank would add up
  /// far more than the others, or so little of several NUMA domains that one rank does it all.
  [[nodiscard]] bool adds_up_own() const;
  /// All but what only this rank reads, where that can be read in the input later: its own shard, of several NUMA
  /// domains its stretch of their rows.
  std::int64_t copy_in_for_others(const std::byte* input, const std::byte* output) const;
  /// Of several NUMA domains, before add_up_own(): this rank's stretch of the sum over its domain's rows.
  std::int64_t add_up_domain(const std::byte* input, const execute::Reducer& reducer) const;
  /// `input` and `output` as copy_in_for_others() had them.
  std::int64_t add_up_own(const std::byte* input, std::byte* output, const execute::Reducer& reducer) const;
  /// How many leaders share the round.
  [[nodiscard]] std::int32_t leaders() const;
  [[nodiscard]] ShardPart part_of(std::int32_t leader) const;
  /// `input` as copy_in() had it: what others read in the memory may be in their caches alone by now.
  std::int64_t copy_out(std::byte* output, const std::byte* input) const;

 private:
  [[nodiscard]] bool reduces() const { return shards_.collective == schedule::Collective::reduce_scatter; }
  [[nodiscard]] std::int64_t begin_of(std::size_t rank) const;
  [[nodiscard]] std::int64_t elements_of(std::size_t rank) const;
  [[nodiscard]] std::int64_t row_bytes() const;
  [[nodiscard]] std::byte* row_of(std::int32_t local) const { return memory_ + local * row_bytes(); }
  /// Of the round's part of that shard.
  std::int64_t copy_shard_in(const std::byte* input, std::size_t rank, Stretch part) const;
  /// In a row.
  [[nodiscard]] const std::byte* own_of(std::int32_t local) const {
    return row_of(local) + place_[rank_] * shards_.element_bytes;
  }
  /// What a stretch of a row has of a rank's shard, in elements of the shard's part; where that begins in the input.
  [[nodiscard]] Stretch part_in(Stretch stretch, std::size_t rank) const;
  [[nodiscard]] const std::byte* part_of_input(const std::byte* input, std::size_t rank) const;
  [[nodiscard]] Stretch domain_stretch() const;
  [[nodiscard]] bool has_domains() const { return adds_up_by_domain(layout_.nodes[node_]); }
  /// Whether writing the sum would destroy the own shard of the input before it is read.
  [[nodiscard]] bool writes_over_own(const std::byte* input, const std::byte* output) const;

  const RankLayout& layout_;
  const Shards& shards_;
  std::size_t rank_;
  std::size_t node_;
  std::int64_t bytes_;
  std::int64_t all_elements_;
  std::int64_t rounds_ = 1;
  // Of the round at hand.
  std::int64_t round_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<std::int64_t> place_;     ///< by rank: elements before its shard
  std::vector<std::int64_t> node_end_;  ///< by node: elements up to the end of its shards
};

}  // namespace libcoll::node
