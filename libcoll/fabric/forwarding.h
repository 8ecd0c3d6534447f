// Forwarding state: which way every node of the fabric sends on, so that packets follow the routes exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::fabric {

/// Packets of a class from `source` to `destination` go on to node `next`.
struct SourceHop {
  std::int32_t route_class = 0;
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  topology::NodeId next = 0;
  friend bool operator==(const SourceHop&, const SourceHop&) = default;
};

/// The tables of all nodes.
struct ForwardingTables {
  /// by_destination[node][host]: the next node in every class where no source hop says otherwise; -1: none needed.
  std::vector<std::vector<topology::NodeId>> by_destination;
  /// by_source[node], ascending by (class, source, destination): the paths that tables by destination cannot hold.
  std::vector<std::vector<SourceHop>> by_source;
  std::int32_t classes = 0;  ///< R: route classes 1..R exist beside class 0
};

/// Tables in which class 0 follows `defaults` (one route for every ordered pair of hosts) and class k the planned
/// routes of that class, or the default route of a pair that has none. Default routes that are in-trees need no source
/// hops. Errors: a route that is not a path without repetition from its source to its destination, a class outside
/// 1..classes, two paths of one pair in one class, a pair without a default route.
Result<ForwardingTables> forwarding_tables(const topology::Topology& topology,
                                           std::span<const schedule::Route> defaults,
                                           std::span<const schedule::Route> planned, std::int32_t classes);

}  // namespace libcoll::fabric
