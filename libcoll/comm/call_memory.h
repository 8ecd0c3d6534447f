// Memory of a node's ranks, and the calls of this rank that go through it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libcoll/node/node_memory.h"
#include "libcoll/node/rank_layout.h"

namespace libcoll::comm {

class HierarchicalCollective;

class CallMemory : public node::NodeMemory {
 public:
  CallMemory(std::shared_ptr<const node::RankLayout> layout, std::int32_t rank, std::int64_t half_bytes,
             bool for_short_calls)
      : NodeMemory(*layout, rank, half_bytes, for_short_calls), layout_(std::move(layout)) {}

  /// The calls that have begun and are not over, in the order of their beginnings: the first one goes on, the others
  /// wait for their turn.
  [[nodiscard]] std::vector<HierarchicalCollective*>& calls() { return calls_; }

 private:
  const std::shared_ptr<const node::RankLayout> layout_;
  std::vector<HierarchicalCollective*> calls_;
};

}  // namespace libcoll::comm
