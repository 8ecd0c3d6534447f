// Single-source flows without cycles.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/flow/problem/flow_problem.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// Cancels the cycles of one source's flow after another, by depth-first search along it. The problem is to outlive it.
class CycleCanceller {
 public:
  explicit CycleCanceller(const FlowProblem& problem);

  /// Every cycle that the flow (by the problem's links) reaches from the root loses its least flow. Leaves the nodes
  /// that were reached in a topological order of what is left.
  void run(topology::NodeId root, std::vector<double>& flow, std::vector<topology::NodeId>& order);

 private:
  enum class State : std::uint8_t { unseen, on_path, done };

  void enter(topology::NodeId node);
  std::int32_t next_link(topology::NodeId node, const std::vector<double>& flow);
  topology::NodeId cancel(topology::NodeId node, std::vector<double>& flow);

  const FlowProblem& problem_;
  std::vector<State> state_;
  std::vector<std::int32_t> next_;
  std::vector<std::int32_t> path_;
};

}  // namespace libcoll::flow::problem
