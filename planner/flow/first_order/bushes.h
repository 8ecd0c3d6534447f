// Max concurrent flow to about 1 % by equilibrating flows on acyclic graphs, one for every source.
#pragma once

#include <memory>

#include "planner/flow/problem/flow_problem.h"

namespace libcoll::flow::first_order {

/// Minimises Σ_c cap_c·(x_c/U)^(p+1), x_c the load of class c per capacity, with p growing: the more, the closer to the
/// least largest load. The gradient are prices π_c = (x_c/U)^p, which also certify the gap. Each source's flow lives on
/// an acyclic graph, its bush (Bar-Gera 2002, Dial 2006): against a topological order that is renewed at every visit,
/// flow is moved from used to shortest segments between two nodes by Newton steps. p grows whenever the flow is closer
/// to the equilibrium at p than that is to the optimum, the faster the closer it is.
///
/// Ends when the gap is at most limits.gap, when it does not yield any more, or when the time is over. Result: the flow
/// with the least load and the prices with the largest bound met. Sources are taken one after the other, each against
/// the loads the others left: taken at the same time they move to the same links and hardly converge, so that threads
/// only serve the bound. Precondition: every source reaches every host.
///
/// Goes on where it ended when more is asked for. The problem is to outlive it.
class Bushes {
 public:
  explicit Bushes(const problem::FlowProblem& problem);
  Bushes(const Bushes&) = delete;
  Bushes& operator=(const Bushes&) = delete;
  ~Bushes();
  /// Ends also once the gap is at most `handover_gap` and the flow is farther from the equilibrium at p than that is
  /// from the optimum: from there on other methods are faster. As long as it is nearer, more p is all that it takes,
  /// and no other method is (tori with holes, all that has many ways of equal length).
  problem::FlowSolution solve(const problem::FlowLimits& limits, double handover_gap = 0);
  /// Goes on from another method's solution, whose flow is without cycles, at a p for its gap.
  void start_from(const problem::FlowSolution& solution);

 private:
  class Forest;
  std::unique_ptr<Forest> forest_;
};

}  // namespace libcoll::flow::first_order
