// BFB's linear program (1) as the paper states it: the reference for the max-flow planner.
#pragma once

#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::test {

/// The optimum U_{u,t} of paper 000 LP (1) (heterogeneous form (14) without latencies), in shards per unit capacity;
/// shape steps × N, entry [t−1][u]. Error when there are switches, when some host cannot reach another, or when
/// the solver gives up.
Result<std::vector<std::vector<double>>> bfb_lp_loads(const topology::Topology& topology);

}  // namespace libcoll::test
