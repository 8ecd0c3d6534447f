// Shallower trees out of a packing: trees exchange the arcs over which they reach a host.
#pragma once

#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/forest/tree_packing.h"

namespace libcoll::broadcast::forest {

/// Local search on Σ count·depth² over all trees and hosts: a tree enters a host over another arc that has room, or two
/// trees exchange their arcs into a host, all copies of them or some. The trees stay spanning out-trees, as many for
/// each root as before, sorted by root; no arc gets into more trees than its capacity, or than it was in before. Ends
/// where no such step helps, after a number of comparisons that grows with the packing only, or at the deadline.
/// Preconditions: as pack_out_trees() leaves them.
void shorten_trees(std::span<const bound::CapacityArc> arcs, std::vector<OutTree>& trees,
                   const Deadline& deadline = Deadline(0));

}  // namespace libcoll::broadcast::forest
