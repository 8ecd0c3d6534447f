// Virtual lanes that leave every pair of hosts a way: LASH-sequential over the orders of up*/down* routing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/route/layer_orders.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

inline constexpr std::int32_t no_layer = -1;

/// Gives every route, in the order of `order` (a permutation of their indices), the first layer whose
/// channel-dependency graph stays acyclic with it, as assign_layers does, and returns an order of the links for each
/// layer that its routes ascend in. Every layer begins with the dependencies of up*/down* routing on a spanning tree of
/// its own (Schroeder et al. 1991), so that in each of them every host has an ascending path to every other. Routes
/// that would take more than `most` layers get no_layer. There is one layer at least. `forwards` by node: whether
/// routes may pass through it. A link that nothing can precede (out of a node that does not forward, or that has one
/// neighbour) has place -1. Error where the nodes that forward are not joined by cables. Preconditions as
/// assign_layers.
Result<LayerOrders> assign_rooted_layers(const topology::Topology& topology, const std::vector<bool>& forwards,
                                         std::span<schedule::Route> routes, std::span<const std::size_t> order,
                                         std::int32_t most, std::int32_t variant = 0);

/// Orders of just so many layers, each begun with a tree as those of assign_rooted_layers: as many of the routes as fit
/// ascend in one of them. Error and preconditions as there.
Result<LayerOrders> rooted_orders(const topology::Topology& topology, const std::vector<bool>& forwards,
                                  std::span<const schedule::Route> routes, std::span<const std::size_t> order,
                                  std::int32_t layers, std::int32_t variant = 0);

/// The same for routes that have their layers (0, 1, …): each ascends in that of its own. Nothing where one does not
/// fit, or cables do not join the nodes.
std::optional<LayerOrders> rooted_orders_of_layers(const topology::Topology& topology,
                                                   const std::vector<bool>& forwards,
                                                   std::span<const schedule::Route> routes, std::int32_t variant = 0);

/// The same without trees: nothing but the routes ascends for certain. Nothing where those of a layer would deadlock.
std::optional<LayerOrders> orders_of_layers(const topology::Topology& topology, const std::vector<bool>& forwards,
                                            std::span<const schedule::Route> routes);

}  // namespace libcoll::route
