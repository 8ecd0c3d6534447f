// Deadlock freedom of a set of routes, checked without knowing how their layers were chosen.
#pragma once

#include <span>

#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::schedule {

/// True when in every layer the channel-dependency graph (Dally and Seitz: the channels are the layer's links, with
/// an arc from each link of a route to the next one) has no cycle, so that cut-through traffic cannot deadlock.
/// Links out of the topology's range make it false. O(hops of all routes).
bool channel_dependencies_acyclic(const topology::Topology& topology, std::span<const Route> routes);

}  // namespace libcoll::schedule
