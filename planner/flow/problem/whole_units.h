// Flows of whole units, which split no pair over several paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/flow/problem/flow_problem.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// Flow on a link that counts for nothing: demands are 1, so what is below is noise of a solver.
inline constexpr double least_flow = 1e-9;

/// Moves flow of one source after another between its ways to a node, so that one link brings there in one piece what
/// is wanted, as long as no class is loaded beyond `most_load` times its capacity. Of two ways the one loses whose
/// classes are the fuller ones. No link is used that was not, so flows without cycles stay without. The problem is to
/// outlive it.
class WholeUnits {
 public:
  /// `flow` as in FlowSolution: what loads the classes at first.
  WholeUnits(const FlowProblem& problem, double most_load, const std::vector<std::vector<double>>& flow);

  /// What follows is about this source's flow.
  void start(topology::NodeId source);

  /// The link into the node that carries most of the source's flow (by the problem's links) once as much has moved
  /// there as is wanted, or as can; -1 where no link does.
  std::int32_t gather(topology::NodeId node, double wanted, std::vector<double>& flow);

  /// The links that the last gather() left without flow.
  [[nodiscard]] std::span<const std::int32_t> emptied() const { return emptied_; }

 private:
  /// A way from where two part to the node, last link first.
  using Way = std::vector<std::int32_t>;

  [[nodiscard]] std::int32_t largest_inflow(topology::NodeId node, std::int32_t except,
                                            const std::vector<double>& flow) const;
  bool trace(std::int32_t link, std::int32_t other, const std::vector<double>& flow);
  bool move(double wanted, std::vector<double>& flow);
  void weigh();
  [[nodiscard]] double cost() const;
  [[nodiscard]] bool fits(double amount) const;
  void add(const Way& way, double amount, std::vector<double>& flow);

  const FlowProblem& problem_;
  std::vector<double> room_;    ///< by class: what it may still take
  std::vector<double> weight_;  ///< by node: of the solved source
  topology::NodeId source_ = 0;
  Way first_, second_;
  std::vector<std::int32_t> position_;  ///< by node: how many links of first_ lead from there to the node; 0: none
  std::vector<double> change_;          ///< by class, of a unit moved from second_ to first_; 0 outside move()
  std::vector<std::size_t> touched_;    ///< classes on the two ways
  bool own_classes_;                    ///< every link is a class of its own
  std::vector<std::int32_t> emptied_;
};

}  // namespace libcoll::flow::problem
