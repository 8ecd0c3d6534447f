// How many virtual lanes the routing engines of a fabric manager would take.
#pragma once

#include <cstdint>
#include <span>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// The fewer of what OpenSM's LASH takes, for min-hop paths between all switches (Skeie, Lysne, Theiss 2002), and
/// DF-SSSP for its own between hosts (Domke, Hoefler, Nagel 2011). `ports` by link: that by which it leaves its device;
/// LASH takes the lowest one where there are several shortest paths. None: links have the order of their ids.
/// `switch_order` by node: the place of its switch among the manager's, which come by GUID; -1: it has none. None:
/// hosts forward where there are no switches, and nodes have the order of their ids. Errors as sssp_paths.
Result<std::int32_t> manager_lanes(const topology::Topology& topology, std::span<const std::int32_t> ports = {},
                                   std::span<const std::int32_t> switch_order = {});

}  // namespace libcoll::route
