#include "libcoll/runtime/plan_links.h"

namespace libcoll {

PlanLinks::PlanLinks(const Schedule& schedule, NodeId node) {
  const Topology& topology = schedule.topology;
  for (const Link& link : topology.links()) ends_.emplace_back(link.from, link.to);
  link_to_.reserve(static_cast<std::size_t>(topology.node_count()));
  for (NodeId peer = 0; peer < topology.node_count(); ++peer) link_to_.push_back(topology.find_link(node, peer));
  for (std::size_t route = 0; route < schedule.routes.size(); ++route) {
    if (schedule.routes[route].source != node) continue;
    route_links_.emplace(static_cast<std::int32_t>(route), schedule.routes[route].links);
  }
}

std::vector<std::int64_t> PlanLinks::bytes_of(const Script& script) const {
  std::vector<std::int64_t> bytes(ends_.size(), 0);
  for (const Message& message : script.sends) {
    if (const auto route = route_links_.find(message.route); route != route_links_.end()) {
      for (const LinkId link : route->second) bytes[static_cast<std::size_t>(link)] += message.data.bytes;
    } else if (const LinkId link = link_to_[static_cast<std::size_t>(message.peer)]; link >= 0) {
      bytes[static_cast<std::size_t>(link)] += message.data.bytes;
    }
  }
  return bytes;
}

}  // namespace libcoll
