// Path-variable based max concurrent flow (paper 003 §3.1.4, (21)–(24)) over given paths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/paths/path_flow.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/lp/linear_program.h"
#include "planner/topology/topology.h"

namespace libcoll::flow_lp {

/// Below this many columns simplex is exact and as fast, above it interior point wins (measured with GLPK).
inline constexpr std::int64_t most_columns_for_simplex = 4000;

/// The method for a program of so many columns: simplex too where time is limited, as nothing else can be stopped.
lp::LpMethod method_for(std::int64_t columns, double seconds);

/// "simplex" or "interior point".
const char* to_string(lp::LpMethod method);

/// solve_with_glpk, and again by simplex where interior point gives up on the way, as it does now and then.
Result<lp::LpSolution> solve_linear_program(const lp::LinearProgram& program, lp::LpMethod method, double seconds);

/// Solves (21)–(24) for the paths given, in the form "unit demands, least largest load" as solve_master_lp. Pairs are
/// those of classes.sources; what pairs do not demand follows their first path. `demand` and `seconds` as there.
Result<flow::paths::PathFlow> solve_path_lp(const topology::Topology& topology,
                                            const flow::problem::LinkClasses& classes,
                                            std::vector<flow::paths::PairPaths> pairs, std::span<const double> demand,
                                            double seconds);

}  // namespace libcoll::flow_lp
