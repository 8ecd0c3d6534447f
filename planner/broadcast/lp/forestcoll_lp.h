// The allreduce linear program of ForestColl (paper 004 appendix E): what no tree-based allreduce can beat.
#pragma once

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast_lp {

/// The optimum Σ_v x_v of LP (6): the bandwidth, in units of the slowest link, at which vectors can be reduced into
/// roots and broadcast from them at the same time, with any share of the work at any root and any division of the links
/// between the two. T = M / (Σ_v x_v · b); reduce-scatter followed by allgather has Σ_v x_v = N·x*/2. Switches relay
/// between hosts, as commodities of their own. Small topologies only: O(N³) columns. Error when some host cannot reach
/// another or the solver gives up.
Result<double> allreduce_lp_rate(const topology::Topology& topology);

}  // namespace libcoll::broadcast_lp
