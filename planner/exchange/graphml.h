// GraphML: what networkx, igraph, yEd and Gephi read and write.
#pragma once

#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// Nodes are hosts named by their id; data of nodes: `switch` (true or false), `host`. Edges go one way or, in an
/// undirected graph, both; data of edges: `bandwidth` (as in topology files: "25Gbps", or bytes per second), `latency`
/// (seconds, or with a unit). Data of the graph: `injection_bandwidth`, `nics_forward`. Other data is not looked at.
/// Errors start with "FILE:LINE: ".
Result<topology::Topology> read_graphml(std::string_view text, const std::string& file);

/// What read_graphml reads back as this very topology, its name being the graph's id.
std::string write_graphml(const topology::Topology& topology);

}  // namespace libcoll::exchange
