// Which links the messages of a plan cross.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libcoll/execute/script.h"
#include "planner/schedule/schedule.h"

namespace libcoll {

/// The links that one node's sends cross: a message without a route the link to its peer, one with a route every link
/// on it. Routes count as planned, also where nothing steers messages along them.
class PlanLinks {
 public:
  PlanLinks() = default;
  PlanLinks(const Schedule& schedule, NodeId node);

  /// (from, to) of every link of the plan's topology.
  [[nodiscard]] const std::vector<std::pair<NodeId, NodeId>>& ends() const { return ends_; }
  /// Payload of the script's sends by link.
  [[nodiscard]] std::vector<std::int64_t> bytes_of(const Script& script) const;

 private:
  std::vector<std::pair<NodeId, NodeId>> ends_;
  std::vector<LinkId> link_to_;                              ///< by peer; -1: none
  std::map<std::int32_t, std::vector<LinkId>> route_links_;  ///< of routes that begin here
};

}  // namespace libcoll
