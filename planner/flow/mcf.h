// All-to-all by max concurrent flow (paper 003 §3), as routes or as store-and-forward on links.
#pragma once

#include "planner/planner.h"
#include "planner/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// "mcf-path" (paper 003 §3.2.1): one routed transfer per pair and path, all at step 1; routes are in layers by LASH
/// and in classes by source.
/// "mcf-link": the hops of a path are direct transfers, the last at the last step, steps = longest path; hosts forward,
/// so switches are refused.
/// Both: shard s·N+d, whole chunks by round_to_chunks, F and its certified bound in the proof, bandwidth_time =
/// d/N·max_link_load and bandwidth_bound = d/N·(certified least load) in M/B. Other errors as max_concurrent_flow.
/// options.gap, time_limit_seconds and threads go to max_concurrent_flow, which names its method and the symmetries it
/// used in options.figures; without options.schedule the proof is that of the fluid plan. Demands must be equal.
Result<Schedule> plan_mcf_path(const Topology& topology, const PlanOptions& options);
Result<Schedule> plan_mcf_link(const Topology& topology, const PlanOptions& options);

}  // namespace libcoll
