// Route sets for fabrics that forward by destination: paths chosen so that few classes hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/route/destination_trees.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// What fewer classes may cost.
struct ClassBudget {
  double load = 0;                  ///< of a link at most, in the unit of the sizes per unit capacity
  std::int32_t most = 0;            ///< classes at most, at whatever load that takes; 0: no limit
  std::int32_t layers = 8;          ///< lanes at most
  std::int32_t chunks = 8;          ///< chunks of a pair at most
  std::int32_t routes = 0;          ///< routes of a pair at most; 0: any number
  std::vector<bool> forwards = {};  ///< by node: whether routes may pass through it; empty: as forwarding_nodes
  LayerOrders orders = {};          ///< in which the routes ascend, if that is known; tried before others
};

/// What came out.
struct FewerClasses {
  std::optional<TreeRoutes> found;  ///< nothing: the routes are best as they are
  std::int32_t finer = 1;           ///< every chunk of the pairs was cut in so many
  std::size_t classes = 0;          ///< that assign_destination_classes takes
  std::int32_t layers = 0;
};

/// Other paths for `routes`, which carry `pairs`, so that assign_destination_classes takes fewer classes for them and
/// no more layers, in the fewest that a search by route_in_trees finds a way for. Nothing where more than 50 000 pairs
/// would take too long, or the routes have no such classes. Classes beyond budget.most are not: there the load grows
/// step by step until a way is found.
std::optional<FewerClasses> route_in_fewer_classes(const topology::Topology& topology,
                                                   std::span<const schedule::Route> routes,
                                                   std::span<const PairDemand> pairs, const ClassBudget& budget,
                                                   const Deadline& deadline = Deadline(0));

/// By node whether routes may pass through it: switches do; hosts where there are no switches, or where they have
/// several neighbours and NICs forward.
std::vector<bool> forwarding_nodes(const topology::Topology& topology);

}  // namespace libcoll::route
