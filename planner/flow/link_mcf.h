// The link-variable max concurrent flow LP (paper 003 §3.1.1, (1)–(5)), one commodity for each pair: a reference.
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// "mcf": (1)–(5) in the form "unit demands, least largest load" and with conservation as an equation, so that no flow
/// has to be mended afterwards; each pair's flow becomes routes by widest-path extraction. N·(N−1)·|E| columns: refused
/// beyond 300 000. Lowering, options and other errors as lower_to_routes and checked_network; when the time limit ends
/// the LP, the plan is what fptas finds at once.
Result<schedule::Schedule> plan_mcf(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow
