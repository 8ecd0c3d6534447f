// Communicators with several ranks per node: the ranks of a node work through shared memory, and its leaders move the
// node's data over the fabric, each in a slice that has one rank per node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/comm/call_memory.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/node/node_rounds.h"
#include "libcoll/node/rank_layout.h"

namespace libcoll::comm {

class Hierarchy {
 public:
  /// Without memory.
  Hierarchy(const Runtime& runtime, node::RankLayout layout, std::int32_t rank);
  /// Of ranks that share a host, whatever nodes they count as: all on one. For blocking calls without messages.
  static std::unique_ptr<Hierarchy> of_host(const Runtime& runtime, std::int32_t ranks, std::int32_t rank);
  /// For another communicator of the same group: without memory.
  Hierarchy(const Hierarchy& original);
  Hierarchy& operator=(const Hierarchy&) = delete;
  ~Hierarchy() = default;
  /// Collective over the communicator: makes memory(). False on every rank when the ranks of some node cannot share
  /// any, which is said at that level.
  bool open(HostCommunicator& host, LogLevel level = LogLevel::warn);
  /// The same with memory that another communicator of the same group had, in which all ranks of the node are at the
  /// same round.
  void open(std::shared_ptr<CallMemory> memory) { memory_ = std::move(memory); }

  /// Memory where the ranks show which way their calls go, and no more. Collective; null on every rank when they cannot
  /// share any.
  std::shared_ptr<CallMemory> make_memory_of_ways(HostCommunicator& host) const;

  /// The same on every rank. `equal_shards`: no rank's part of the data is longer than another's.
  [[nodiscard]] bool serves(schedule::Collective collective, bool equal_shards) const;
  /// Whether there is anything to move between nodes.
  [[nodiscard]] bool has_slices() const { return layout_->nodes.size() > 1; }
  /// Whether this rank is in a slice.
  [[nodiscard]] bool leads() const { return has_slices() && local() < layout_->leaders; }
  /// Whether this rank is the one of its node that is in the first slice.
  [[nodiscard]] bool speaks() const { return local() == 0; }
  [[nodiscard]] const node::RankLayout& layout() const { return *layout_; }
  /// This rank's slice: the rank on every node. Precondition: leads().
  [[nodiscard]] std::vector<std::int32_t> slice() const { return layout_->slice(local()); }
  /// How many share the links of a node.
  [[nodiscard]] std::int32_t slices() const { return layout_->leaders; }
  /// "4 nodes of 2 ranks, 2 leaders", for log lines.
  [[nodiscard]] std::string to_string() const;

  /// Where the communicator's calls go one after the other, in the order that MPI has all ranks begin them in.
  [[nodiscard]] const std::shared_ptr<CallMemory>& memory() const { return memory_; }
  /// Memory for calls of their own order; a part of what memory() has, where that will do. Collective; null on every
  /// rank when the ranks of some node cannot share more. Precondition: serves().
  std::shared_ptr<CallMemory> make_memory(HostCommunicator& host, schedule::Collective collective,
                                          bool equal_shards) const;
  /// Precondition: serves(). The memory must outlive the rounds.
  [[nodiscard]] std::unique_ptr<node::NodeRounds> rounds_of(const node::NodeMemory& memory, execute::Call call,
                                                            bool may_read) const {
    const node::NeighbourMemory* const neighbours = may_read ? memory.neighbours() : nullptr;
    return node::make_node_rounds(*layout_, memory.staging(), neighbours, rank_, std::move(call));
  }

 private:
  [[nodiscard]] std::int32_t local() const { return layout_->local_of_rank[static_cast<std::size_t>(rank_)]; }
  /// Collective; null on every rank when it failed on one.
  std::shared_ptr<CallMemory> share_memory(HostCommunicator& host, std::int64_t half_bytes, bool for_short_calls,
                                           LogLevel level) const;

  const std::shared_ptr<const node::RankLayout> layout_;
  const std::int32_t rank_;
  const std::int64_t half_bytes_;
  const bool may_read_directly_;  ///< by this rank's settings
  std::shared_ptr<CallMemory> memory_;
};

}  // namespace libcoll::comm
