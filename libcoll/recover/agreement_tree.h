// The tree along which the ranks of a communicator agree where links have died.
#pragma once

#include <cstdint>
#include <vector>

#include "libcoll/transport/transport.h"
#include "planner/topology/topology.h"

namespace libcoll::recover {

/// A rank as the tree has it.
struct TreePlace {
  topology::NodeId node = 0;
  int parent = -1;              ///< a rank; of rank 0 and of those who cannot be reached: none
  transport::PeerId peer = -1;  ///< of this rank's parent and children
};

/// Whom every rank is below in a tree with rank 0 at its root: -1 of the root, and of those who cannot be reached.
/// Nodes are joined by links, by one rank of each, its speaker; the others of a node are below that one, or below rank
/// 0.
std::vector<int> agreement_tree(const std::vector<topology::NodeId>& node_of_rank,
                                const std::vector<std::int32_t>& speakers,
                                const std::vector<std::vector<topology::NodeId>>& neighbours);

}  // namespace libcoll::recover
