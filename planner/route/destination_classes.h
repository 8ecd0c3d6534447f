// Route classes for fabrics that forward by destination: full tables, one lane each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// A forwarding table by destination, and the virtual lane in which messages follow it.
struct DestinationClass {
  std::int32_t layer = 0;
  /// next[destination][node]: the link to go on by, no_entry at the destination. Towards a host every host has one, and
  /// every switch on the way; other switches, and hosts towards a switch, have one where the layer allows it.
  std::vector<std::vector<topology::LinkId>> next;
};

struct DestinationClasses {
  std::vector<DestinationClass> classes;  ///< of route class 1, 2, …; there is one at least, of layer 0
  std::int32_t layers = 0;
  std::int64_t rerouted = 0;  ///< routes that took another path for want of classes or layers
};

struct ClassLimits {
  std::int32_t classes = 128;             ///< InfiniBand: 2^LMC paths to a port
  std::int32_t layers = 8;                ///< virtual lanes for data
  std::vector<bool> forwards = {};        ///< by node: whether routes may pass through it; empty: all do
  std::vector<std::int64_t> amount = {};  ///< by route: what it adds to the load of its links; empty: 1
};

/// A class is (destination tree × layer): routes share one where they are of one layer and no two to the same
/// destination leave a node by different links. Layers come first (assign_rooted_layers, in whichever order of the
/// routes takes the fewest layers, then classes), then in each layer the fewest trees that colouring finds (DSATUR,
/// assign_route_classes). What the routes leave open in a table is filled by shortest paths that ascend in the order of
/// its layer. So any message from any node in any class, also one that answers, cannot deadlock with any other. Routes
/// that come with classes of this kind (route_in_fewer_classes) keep them where no other assignment is better.
///
/// Sets layer and route_class of every route. Beyond the limits the classes of the least amount go, and their routes
/// take the path of another class, where it adds least to the largest load; links of those routes change.
///
/// Errors: nodes that cables do not join; a route through a node that does not forward. Preconditions: routes are
/// simple paths over links of the topology, and limits are 1 at least.
Result<DestinationClasses> assign_destination_classes(const topology::Topology& topology,
                                                      std::span<schedule::Route> routes, const ClassLimits& limits);

/// LMC for so many classes: 2^LMC is not below it.
std::int32_t lmc_for(std::size_t classes);

}  // namespace libcoll::route
