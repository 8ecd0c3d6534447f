// The decomposed MCF of paper 003 (§3.1.2): the master LP (6)–(9), and three ways from its flow to paths.
#pragma once

#include "planner/base/result.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// "mcf-decomposed": the master LP, its flows decomposed per destination without child LPs (decompose()).
/// "mcf-child": the same by the paper's child LPs (10)–(14), each pair's flow peeled into paths: the reference.
/// "mcf-extp" (§3.2.1): widest-path extraction from each pair's flow, which the child LPs give where they are
/// small (20 000 columns) and the decomposition otherwise; the figure "pair_flows" says which.
/// All: lowering, options and errors as lower_to_routes and checked_network; when the time limit ends a linear program,
/// the plan is what fptas finds at once.
Result<schedule::Schedule> plan_mcf_decomposed(const topology::Topology& topology,
                                               const registry::PlanOptions& options);
Result<schedule::Schedule> plan_mcf_child(const topology::Topology& topology, const registry::PlanOptions& options);
Result<schedule::Schedule> plan_mcf_extp(const topology::Topology& topology, const registry::PlanOptions& options);

/// The plan of mcf-decomposed before it is lowered, for either way of forwarding.
Result<lowering::FluidPlan> decomposed_flow(const topology::Topology& topology, const registry::PlanOptions& options,
                                            problem::ForwardedBy forwarded_by, const char* algorithm,
                                            const Deadline& deadline);

}  // namespace libcoll::flow
