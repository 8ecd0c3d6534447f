// Max concurrent flow to 0.1 % and beyond by a first-order method on the link formulation.
#pragma once

#include "planner/flow/problem/flow_problem.h"

namespace libcoll::flow::first_order {

/// The saddle point min over f ≥ 0, max over π ≥ 0 with Σ cap_c π_c = Σ cap_c, and potentials y, of
///   Σ_c π_c·load_c(f) + Σ_s Σ_v y_{s,v}·(demand_v − in_v(f_s) + out_v(f_s)),
/// the Lagrangian of "least largest load" in the link variables of paper 003 (6)–(9): by the primal-dual hybrid
/// gradient method (Chambolle, Pock 2011) with diagonal steps, its reflected Halpern iteration and restarts (Lu, Yang
/// 2024). Single precision; sources in blocks of a vector register. Now and then the flows are made feasible: their
/// cycles are cancelled, and against the topological order of the rest every node draws what it needs in proportion.
///
/// `start` is feasible, as Bushes gives it, and is where the iteration begins. Ends as Bushes does,
/// and never returns worse than the start.
problem::FlowSolution solve_by_pdhg(const problem::FlowProblem& problem, problem::FlowSolution start,
                                    const problem::FlowLimits& limits);

}  // namespace libcoll::flow::first_order
