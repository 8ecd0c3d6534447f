// Bruck: allgather in ⌈log2 N⌉ steps for any N (Bruck, Ho, Kipnis, Upfal, Weathersby 1997).
#pragma once

#include "planner/planner.h"
#include "planner/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// In step k node v sends what it gathered, the shards of v, v+1, …, to v − 2^(k−1) mod N, in the last step only what
/// is lacking there. Reduce-scatter is the mirror image, allreduce both. Shortest routes where there is no link.
Result<Schedule> plan_bruck(Collective collective, const Topology& topology, const PlanOptions& options);

}  // namespace libcoll
