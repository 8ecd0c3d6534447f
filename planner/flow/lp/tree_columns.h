// The exact optimum for symmetric graphs: few prices, many destinations.
#pragma once

#include "planner/flow/problem/flow_problem.h"

namespace libcoll::flow_lp {

/// Beyond these sizes the number of rounds grows too fast.
inline constexpr std::size_t most_tree_classes = 48;
inline constexpr std::size_t most_tree_sources = 32;

/// Dantzig and Wolfe's decomposition of "least largest load": a column is a shortest-path tree of one source, a row a
/// class of links, so that the master LP is tiny where symmetry leaves few classes. The first column splits the flow
/// equally over all hop-shortest ways, which is optimal already on tori and hypercubes. Ends when the gap is at most
/// limits.gap, when no tree is shorter than what the master pays for, or when the time is over. Precondition: every
/// source reaches every host.
flow::problem::FlowSolution solve_by_tree_columns(const flow::problem::FlowProblem& problem,
                                                  const flow::problem::FlowLimits& limits);

}  // namespace libcoll::flow_lp
