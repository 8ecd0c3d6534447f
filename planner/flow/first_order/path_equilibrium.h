// Path-variable based max concurrent flow (paper 003 §3.1.4, (21)–(24)) over more paths than a linear program takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/flow/paths/path_flow.h"

namespace libcoll::flow::first_order {

/// As solve_path_lp, by equilibrate_choices: within `gap` of the least load where that is reached in time, and at most
/// the load of the weights given. `bound`: no weights on these paths load less.
struct PathEquilibrium {
  paths::PathFlow flow;
  double bound = 0;
};

/// Precondition: the weights of every pair sum to 1.
PathEquilibrium equilibrate_paths(const problem::LinkClasses& classes, std::vector<paths::PairPaths> pairs,
                                  std::int32_t hosts, std::span<const double> demand, double gap,
                                  const Deadline& deadline);

}  // namespace libcoll::flow::first_order
