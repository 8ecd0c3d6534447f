// The decomposed master LP of all-to-all (paper 003 §3.1.2, (6)–(9)).
#pragma once

#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/lp/linear_program.h"
#include "planner/topology/topology.h"

namespace libcoll::flow_lp {

/// `flow[i][e]`: what classes.sources[i] sends over link e when each destination gets one unit (f'/F of the paper).
/// `prices[e]` ≥ 0: dual values, as link lengths for the certificate.
struct MasterFlow {
  double load = 0;  ///< U = 1/F, the largest load of a link per unit capacity
  std::vector<std::vector<double>> flow;
  std::vector<double> prices;
};

/// Columns the LP would have: what decides which method is faster.
std::int64_t master_lp_columns(const topology::Topology& topology, const flow::problem::LinkClasses& classes);

/// The program itself in the form that solve_master_lp() solves; for classes without symmetry its optimum is U.
lp::LinearProgram master_lp(const topology::Topology& topology, const flow::problem::LinkClasses& classes);

/// Solves (6)–(9) in the equivalent form "unit demands, least largest load U": scaled by 1/F it has the same optima,
/// but its one dense column U only meets the capacity rows, which interior-point solvers need. Hosts are sources and
/// destinations, switches only forward. `demand` as PlanOptions has it replaces the units (it needs classes without
/// symmetry); `seconds` as solve_with_glpk takes it. Error when the solver gives up, runs out of time or a host cannot
/// be reached.
Result<MasterFlow> solve_master_lp(const topology::Topology& topology, const flow::problem::LinkClasses& classes,
                                   lp::LpMethod method, std::span<const double> demand = {}, double seconds = 0);

}  // namespace libcoll::flow_lp
