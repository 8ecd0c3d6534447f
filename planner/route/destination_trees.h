// All-to-all on a given number of forwarding trees by destination, one virtual lane each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/route/layer_orders.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// What one host sends to another: `chunks` chunks, each of which adds `size` to the load of its links.
struct PairDemand {
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  std::int32_t chunks = 1;
  double size = 1;
};

/// Which forwarding there may be. Class k has one tree to every destination, whose paths ascend in orders[lanes[k]].
struct TreeLimits {
  LayerOrders orders;
  std::vector<std::int32_t> lanes;  ///< by class
  std::vector<bool> forwards;       ///< by node: whether paths may pass through it
  double load = 0;                  ///< of a link at most, in the sizes' unit per unit capacity
};

/// Routes with their layer and class (from 1 on), and how many of their pair's chunks take each.
struct TreeRoutes {
  std::vector<schedule::Route> routes;  ///< pair by pair, as the pairs were given
  std::vector<std::int32_t> chunks;
};

/// Chooses paths for all chunks so that those of one class to one destination form a tree that every other host can
/// join, and no link is loaded beyond the limit. By negotiated congestion (PathFinder, McMurchie and Ebeling 1995):
/// every chunk takes the cheapest ascending path that agrees with the trees as they are; what crosses an overloaded
/// link is taken off, the link grows dearer, and the chunks choose again. Nothing where that does not end within the
/// limit in a bounded number of rounds, or before `effort` is used up (links that searches look at, of which this takes
/// off what it spent), or by the deadline.
/// Preconditions: pairs of different hosts; in every order every host has an ascending path to every other.
/// O(classes · links) for each choice of a chunk.
std::optional<TreeRoutes> route_in_trees(const topology::Topology& topology, std::span<const PairDemand> pairs,
                                         const TreeLimits& limits, std::int64_t& effort,
                                         const Deadline& deadline = Deadline(0));

}  // namespace libcoll::route
