// pMCF: max concurrent flow over chosen paths (paper 003 §3.1.4, (21)–(24)).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// "p-mcf": the best weights on the path sets options.paths names (candidate_paths; link-disjoint unless said
/// otherwise). Disjoint sets are those around the paths of link MCF (disjoint_sets_around); where they leave a gap and
/// are few, others are tried: of least total hops, then of least total price by the prices of the sets before, for as
/// long as that gains. With a demand or limited injection only those others. Beyond 20 000 disjoint paths the weights
/// are those of link MCF. The bound is that of all paths. Lowering, options and errors as candidate_paths,
/// lower_to_routes and checked_network; when the time limit ends the LP, the weights of a pair stay equal.
Result<schedule::Schedule> plan_p_mcf(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow
