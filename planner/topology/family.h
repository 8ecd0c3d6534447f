// What the families of topologies are built with: number lists, size limits, graphs from links and cables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

using Numbers = std::vector<std::int32_t>;

/// Undirected edges; each becomes one link in either direction.
using Cables = std::vector<std::pair<NodeId, NodeId>>;

/// Refuses what is outside 2..max_nodes nodes and max_links links (generators.h).
Status check_size(std::int64_t nodes, std::int64_t links);

/// Exactly `count` whole numbers from `least` to max_nodes, separated by commas.
Result<Numbers> exactly(std::size_t count, std::string_view arguments, std::int32_t least);

/// Hosts 0..node_count-1, named by their ids, without a topology name. Errors as for Topology::make.
Result<Topology> from_links(std::int32_t node_count, std::vector<Link> links);
Result<Topology> from_cables(std::int32_t node_count, const Cables& cables);

}  // namespace libcoll::topology
