// EwSP: every pair's data in equal parts on all its shortest paths (paper 003 §5.2), a baseline.
#pragma once

#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::baseline {

/// By link: what a source sends over it when each destination's amount goes in equal parts over all paths of fewest
/// hops, which are counted, not listed (Brandes 2001). `amounts` by host; the source's own is not looked at.
std::vector<double> equal_shortest_flow(const topology::Topology& topology, topology::NodeId source,
                                        std::span<const double> amounts);

/// "ewsp". Weights are not optimised, chunks neither: they follow the weights by largest remainder. Where the paths are
/// too many to list (candidate_paths), fewer ones that load every link alike take their place; the figure "paths" says
/// which. Lowering, options and errors as lower_to_routes and checked_network.
Result<schedule::Schedule> plan_ewsp(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow::baseline
