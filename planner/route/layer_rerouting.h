// Fewer layers for a route set: what does not fit takes another way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "planner/base/deadline.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// What it took; loads are the largest of a link, per unit capacity.
struct Rerouting {
  std::int64_t rerouted = 0;
  double load_before = 0;
  double load = 0;
};

/// Brings routes into `layers` layers (paper 003 §5.5 asks what that costs). As many as can share the layers keep their
/// links, those of few hops first, source by source as they come or as a search meets them, whichever leaves out fewer;
/// together they order the links of every layer. The others, and those on links that become too full, move to ascending
/// paths (AscendingPaths) of least length, where lengths grow with the load, more steeply from pass to pass; that is
/// repeated while the load falls, and the best pass counts, which may end below what the load was. `amount` by route:
/// what it adds to the load of its links. Nothing, and the routes as they were, where some route finds no ascending
/// path in any of the layers or the load ends above (1 + `accepted`) times what it was. No pass begins after the
/// deadline. Preconditions as assign_layers.
std::optional<Rerouting> reroute_into_layers(const topology::Topology& topology, std::span<schedule::Route> routes,
                                             std::span<const double> amount, std::int32_t layers, double accepted,
                                             const Deadline& deadline = Deadline(0));

}  // namespace libcoll::route
