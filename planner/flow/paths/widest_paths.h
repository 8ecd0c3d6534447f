// Widest-path extraction (paper 003 §3.2.1): a flow taken apart into paths, the strongest first.
#pragma once

#include <span>
#include <vector>

#include "planner/flow/paths/path_decomposition.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::paths {

/// Repeats: the path source→destination whose least `flow` is largest (Dijkstra's algorithm for bottlenecks; among
/// equals one of few hops), taken off the flow by as much as it carries or is still missing, until `amount` is reached
/// or the flow ends. Weights are rescaled to sum to 1; noise below 1e-7 of the amount is dropped. Where the flow has no
/// path at all, a path of fewest hops. Preconditions: amount > 0, the source reaches the destination.
PairPaths extract_widest_paths(const topology::Topology& topology, topology::NodeId source,
                               topology::NodeId destination, std::vector<double>& flow, double amount);

/// A flow that serves several destinations, `amounts[d]` to host d, taken apart in the order of their distance,
/// farthest first; whatever paths are taken, what is left over serves the rest. Cycles in the flow are never part of a
/// path. A pair without demand gets a path of fewest hops.
std::vector<PairPaths> extract_from_source(const topology::Topology& topology, topology::NodeId source,
                                           std::vector<double> flow, std::span<const double> amounts);

}  // namespace libcoll::flow::paths
