// Layers before routes: orders of the links that any route has to follow, so that no choice of routes can deadlock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// By layer and link: the link's place. Routes whose links ascend in a layer's order cannot wait for each other there,
/// however many they are (Dally and Seitz 1987).
using LayerOrders = std::vector<std::vector<std::int32_t>>;

/// Orders of `layers` layers that leave every pair of hosts a way in one of them, and beyond that follow as many of
/// `wanted` as they can, short ones first. The ways lead in the last layer to some root and on to the destination,
/// along two trees that share no link (on cables up*/down* routing does so, Schroeder et al. 1991); where no root has
/// such trees they are those of SSSP, as far as LASH has room for them. Error where it has not.
Result<LayerOrders> layer_orders(const topology::Topology& topology, std::span<const schedule::Route> wanted,
                                 std::int32_t layers);

/// The first layer whose order the links follow, or -1.
std::int32_t layer_of(const LayerOrders& orders, std::span<const topology::LinkId> links);

}  // namespace libcoll::route
