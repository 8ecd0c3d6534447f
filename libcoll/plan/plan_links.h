// Which links the messages of a plan cross.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "libcoll/execute/task_graph.h"
#include "planner/schedule/schedule.h"

namespace libcoll::plan {

/// Payload that leaves for a node without a plan.
struct DirectBytes {
  topology::NodeId to = 0;
  std::int64_t bytes = 0;
};

/// The links that one node's sends cross: a message without a route the link to its peer, one with a route every link
/// on it. Routes count as planned, also where nothing steers messages along them.
class PlanLinks {
 public:
  PlanLinks() = default;
  PlanLinks(const schedule::Schedule& schedule, topology::NodeId node);

  /// (from, to) of every link of the plan's topology.
  [[nodiscard]] const std::vector<std::pair<topology::NodeId, topology::NodeId>>& ends() const { return ends_; }
  /// Payload of the task graph's sends by link.
  [[nodiscard]] std::vector<std::int64_t> bytes_of(const execute::TaskGraph& task_graph) const;
  /// The same of messages that the fabric's default routing takes to their nodes: on which of the shortest paths only
  /// the fabric knows, so each counts on the one found first, from lower links to higher ones.
  [[nodiscard]] std::vector<std::int64_t> bytes_of(std::span<const DirectBytes> messages) const;

 private:
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends_;
  std::vector<topology::LinkId> link_to_;                              ///< by peer; -1: none
  std::map<std::int32_t, std::vector<topology::LinkId>> route_links_;  ///< of routes that begin here
  std::vector<topology::LinkId> link_into_;  ///< by node: the last of a shortest path; -1: none
};

}  // namespace libcoll::plan
