// LASH-sequential: virtual lanes for a set of routes so that they cannot deadlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// Gives every route, in order, the first layer whose channel-dependency graph stays acyclic with it, and returns
/// the number of layers. Precondition: routes cross no link twice and their links exist in the topology.
std::int32_t assign_layers(const topology::Topology& topology, std::span<schedule::Route> routes);

inline constexpr std::int32_t any_layers = std::numeric_limits<std::int32_t>::max();

/// The same in the order of `order`, a permutation of the routes' indices. Where that takes more than `most` layers it
/// ends early, with `most` + 1 and only some routes in layers.
std::int32_t assign_layers(const topology::Topology& topology, std::span<schedule::Route> routes,
                           std::span<const std::size_t> order, std::int32_t most = any_layers);

/// As OpenSM does it (Skeie, Lysne, Theiss 2002): pairs of nodes in turn, and both routes of a pair share a layer.
/// `routes`: one for each ordered pair of hosts, by source and then destination.
std::int32_t assign_layers_by_pairs(const topology::Topology& topology, std::span<schedule::Route> routes);

}  // namespace libcoll::route
