// Memory of a node's ranks, and the calls of this rank that go through it.
#pragma once

#include <vector>

#include "libcoll/node/node_memory.h"

namespace libcoll::comm {

class HierarchicalCollective;

class CallMemory : public node::NodeMemory {
 public:
  using node::NodeMemory::NodeMemory;

  /// The calls that have begun and are not over, in the order of their beginnings: the first one goes on, the others
  /// wait for their turn.
  [[nodiscard]] std::vector<HierarchicalCollective*>& calls() { return calls_; }

 private:
  std::vector<HierarchicalCollective*> calls_;
};

}  // namespace libcoll::comm
