// DF-SSSP's way to virtual lanes: break the cycles of one layer after the other (Domke, Hoefler, Nagel 2011, §IV).
#pragma once

#include <cstdint>
#include <span>

#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// Starts with all routes in layer 0. While its channel-dependency graph has a cycle, the cycle's dependency with the
/// fewest routes is broken: those routes go to the next layer, where the same follows. Returns the number of layers.
/// Preconditions as assign_layers.
std::int32_t break_cycles(const topology::Topology& topology, std::span<schedule::Route> routes);

}  // namespace libcoll::route
