// Fractions of commodities on given choices: path equilibration on prices that grow with the load.
#pragma once

#include <vector>

#include "planner/base/deadline.h"
#include "planner/flow/problem/negotiation.h"

namespace libcoll::flow::first_order {

/// What the weights of a ChunkProblem cost, and what no weights on these choices go below.
struct ChoiceEquilibrium {
  double cost = 0;             ///< Σ over groups of the largest load per unit capacity
  double bound = 0;            ///< the dual of that: Σ over commodities of size times the price of the cheapest choice
  std::vector<double> prices;  ///< by resource, those of the bound: in every group Σ capacity·price = 1
  [[nodiscard]] double gap() const { return bound > 0 ? cost / bound - 1 : 0; }
};

/// Lowers the cost of the weights: what (21)–(24) of paper 003 do by linear programming, for problems too large for it.
/// The price of a resource is (load/largest of its group)^p; weight moves from dearer to the cheapest choice of its
/// commodity by Newton steps, and p grows whenever the weights are nearer to the equilibrium at p than that is to the
/// optimum (as Bushes). Ends at the gap, when nothing is gained any more, or when time is up; the weights are
/// then those of least cost, which is at most that of the weights given. Precondition: the weights of every commodity
/// sum to 1.
ChoiceEquilibrium equilibrate_choices(problem::ChunkProblem& problem, double gap, const Deadline& deadline);

}  // namespace libcoll::flow::first_order
