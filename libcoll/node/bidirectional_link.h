#pragma once

#include <utility>

#include "planner/topology/topology.h"

namespace libcoll {

/// Two neighbouring nodes, the smaller first: the links between them.
using BidirectionalLink = std::pair<NodeId, NodeId>;

}  // namespace libcoll
