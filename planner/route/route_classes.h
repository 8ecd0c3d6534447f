// Colouring: a route class for every planned (pair, path).
#pragma once

#include <cstdint>
#include <span>

#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// What a forwarding entry of the fabric may look at, beside the class.
enum class Forwarding : std::uint8_t {
  by_source,       ///< source and destination (source routes): routes of one pair need different classes
  by_destination,  ///< destination only (forwarding tables): routes to one destination that meet and part again do, too
};

/// Gives every route a class from 1 on, so that a class and what the fabric's forwarding looks at name one next link
/// at every node, and returns the number of classes. Greedy colouring in order of saturation (DSATUR, Brélaz 1979):
/// by_source the number is the least there can be (the routes of the pair that has most), by_destination it is near
/// it. The same path of a pair, given twice, gets the same class. Preconditions: routes are simple paths over links of
/// the topology. O(hops + R²) for each pair or destination of R routes.
std::int32_t assign_route_classes(const topology::Topology& topology, std::span<schedule::Route> routes,
                                  Forwarding forwarding = Forwarding::by_source);

}  // namespace libcoll::route
