// SSSP: the single shortest paths a vendor's fabric manager would compute, one per pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::route {

/// One route per ordered pair of hosts, by source and then destination: destinations in turn, each by a shortest-path
/// tree over link weights that grow with the paths already laid over a link per unit of its capacity (Hoefler,
/// Schneider, Lumsdaine 2009; deadlock-free variant DFSSSP: Domke, Hoefler, Nagel 2011), hop counts first so that paths
/// stay minimal. Routes to one destination form an in-tree, so tables by destination can hold them. Layers are assigned
/// (LASH), classes are not. Error when a host cannot reach another or there are fewer than two.
Result<std::vector<schedule::Route>> sssp_routes(const topology::Topology& topology);

/// The same routes without layers: all of them say 0.
Result<std::vector<schedule::Route>> sssp_paths(const topology::Topology& topology);

/// Shortest paths by hops alone; without layers, too. Where there are several, every node takes the link of lowest
/// rank: `ranks` by link, equal ones and none at all: the link of lowest id.
Result<std::vector<schedule::Route>> min_hop_paths(const topology::Topology& topology,
                                                   std::span<const std::int32_t> ranks = {});

}  // namespace libcoll::route
