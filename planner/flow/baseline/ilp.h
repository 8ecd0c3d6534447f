// One path for every pair, chosen by integer programming (paper 003 §5.2): the strong single-path baselines.
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::baseline {

/// "ilp-disjoint" and "ilp-shortest": of each pair's link-disjoint or shortest paths the one that keeps the largest
/// link load (with a demand: its load) least, by GLPK's branch and cut, which starts from what a local search found and
/// has to prove no more than options.gap (the paper's tolerance). Beyond 20 000 paths the search starts from the
/// cheapest ones by the prices of link MCF, whose bound is the one to beat. options.time_limit_seconds (default 30)
/// ends it with the best choice found. figures.more: "ilp_load" and "ilp_bound", the proven least load of any such
/// choice; the F of the proof is that of the choice and its bound that of all paths. Errors as candidate_paths,
/// checked_network.
Result<schedule::Schedule> plan_ilp_disjoint(const topology::Topology& topology, const registry::PlanOptions& options);
Result<schedule::Schedule> plan_ilp_shortest(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow::baseline
