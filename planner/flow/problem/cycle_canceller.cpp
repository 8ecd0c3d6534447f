#include "planner/flow/problem/cycle_canceller.h"

#include <algorithm>
#include <cstddef>

#include "planner/base/index.h"

namespace libcoll::flow::problem {

using namespace topology;

CycleCanceller::CycleCanceller(const FlowProblem& problem)
    : problem_(problem), state_(at(problem.nodes)), next_(at(problem.nodes)) {}

void CycleCanceller::run(NodeId root, std::vector<double>& flow, std::vector<NodeId>& order) {
  std::fill(state_.begin(), state_.end(), State::unseen);
  path_.clear();
  order.clear();
  NodeId node = root;
  enter(node);
  for (;;) {
    const std::int32_t link = next_link(node, flow);
    if (link >= 0) {
      path_.push_back(link);
      const NodeId to = problem_.to[at(link)];
      if (state_[at(to)] == State::on_path) {
        node = cancel(to, flow);
      } else {
        node = to;
        enter(node);
      }
      continue;
    }
    state_[at(node)] = State::done;
    order.push_back(node);
    if (path_.empty()) break;
    node = problem_.from[at(path_.back())];
    path_.pop_back();
  }
  std::reverse(order.begin(), order.end());
}

void CycleCanceller::enter(NodeId node) {
  state_[at(node)] = State::on_path;
  next_[at(node)] = problem_.out_begin[at(node)];
}

std::int32_t CycleCanceller::next_link(NodeId node, const std::vector<double>& flow) {
  for (; next_[at(node)] < problem_.out_begin[at(node) + 1]; ++next_[at(node)]) {
    const std::int32_t link = problem_.out_link[at(next_[at(node)])];
    if (flow[at(link)] > 0 && state_[at(problem_.to[at(link)])] != State::done) return link;
  }
  return -1;
}

/// The path ends in `node`, which is on it: empties the cycle's least link and steps back to that link's tail.
NodeId CycleCanceller::cancel(NodeId node, std::vector<double>& flow) {
  std::size_t first = path_.size() - 1;
  while (problem_.from[at(path_[first])] != node) --first;
  std::size_t least = first;
  for (std::size_t i = first; i < path_.size(); ++i) {
    if (flow[at(path_[i])] < flow[at(path_[least])]) least = i;
  }
  const double amount = flow[at(path_[least])];
  for (std::size_t i = first; i < path_.size(); ++i) {
    flow[at(path_[i])] = i == least ? 0 : std::max(0.0, flow[at(path_[i])] - amount);
  }
  for (std::size_t i = least; i + 1 < path_.size(); ++i) state_[at(problem_.to[at(path_[i])])] = State::unseen;
  const NodeId tail = problem_.from[at(path_[least])];
  path_.resize(least);
  return tail;
}

}  // namespace libcoll::flow::problem
