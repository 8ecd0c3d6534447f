// All-to-all by max concurrent flow (paper 003 §3), as routes or as store-and-forward on links.
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// "mcf-path" (paper 003 §3.2.1): one routed transfer per pair and path, all at step 1; routes in layers and classes.
/// "mcf-link": the hops of a path are direct transfers, the last at the last step, steps = longest path; hosts forward,
/// so switches are refused.
/// Both: the flow is that of max_concurrent_flow on the fabric with its hosts' injection links (Fig. 2), which names
/// its method and the symmetries it used in options.figures and takes options.gap, time_limit_seconds, threads and
/// symmetry; for a demand that of mcf-decomposed. Where dimension-ordered routes are as good as any (whole tori and
/// hypercubes) they are taken: one path per pair, and fewest layers. Whole chunks may also go by shortest paths.
/// Lowering and errors as lower_to_routes, lower_to_links and checked_network.
Result<schedule::Schedule> plan_mcf_path(const topology::Topology& topology, const registry::PlanOptions& options);
Result<schedule::Schedule> plan_mcf_link(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow
