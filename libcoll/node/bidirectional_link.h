#pragma once

#include <utility>

#include "planner/topology/topology.h"

namespace libcoll::node {

/// Two neighbouring nodes, the smaller first: the links between them.
using BidirectionalLink = std::pair<topology::NodeId, topology::NodeId>;

}  // namespace libcoll::node
