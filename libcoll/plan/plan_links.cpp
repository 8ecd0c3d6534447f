#include "libcoll/plan/plan_links.h"

#include <deque>

#include "planner/base/index.h"

namespace libcoll::plan {

using namespace execute;
using namespace schedule;
using namespace topology;

namespace {

/// By node: the link by which a search from `source` first came to it; -1 where it did not, and at the source.
std::vector<LinkId> links_into(const Topology& topology, NodeId source) {
  std::vector<LinkId> into(at(topology.node_count()), -1);
  for (std::deque<NodeId> open = {source}; !open.empty(); open.pop_front()) {
    for (const LinkId id : topology.out_links(open.front())) {
      const NodeId next = topology.link(id).to;
      if (next == source || into[at(next)] >= 0) continue;
      into[at(next)] = id;
      open.push_back(next);
    }
  }
  return into;
}

}  // namespace

PlanLinks::PlanLinks(const Schedule& schedule, NodeId node) : link_into_(links_into(schedule.topology, node)) {
  const Topology& topology = schedule.topology;
  for (const Link& link : topology.links()) ends_.emplace_back(link.from, link.to);
  link_to_.reserve(static_cast<std::size_t>(topology.node_count()));
  for (NodeId peer = 0; peer < topology.node_count(); ++peer) link_to_.push_back(topology.find_link(node, peer));
  for (std::size_t route = 0; route < schedule.routes.size(); ++route) {
    if (schedule.routes[route].source != node) continue;
    route_links_.emplace(static_cast<std::int32_t>(route), schedule.routes[route].links);
  }
}

std::vector<std::int64_t> PlanLinks::bytes_of(const TaskGraph& task_graph) const {
  std::vector<std::int64_t> bytes(ends_.size(), 0);
  for (const Message& message : task_graph.sends) {
    if (const auto route = route_links_.find(message.route); route != route_links_.end()) {
      for (const LinkId link : route->second) bytes[static_cast<std::size_t>(link)] += message.data.bytes;
    } else if (const LinkId link = link_to_[static_cast<std::size_t>(message.peer)]; link >= 0) {
      bytes[static_cast<std::size_t>(link)] += message.data.bytes;
    }
  }
  return bytes;
}

std::vector<std::int64_t> PlanLinks::bytes_of(std::span<const DirectBytes> messages) const {
  std::vector<std::int64_t> bytes(ends_.size(), 0);
  if (link_into_.empty()) return bytes;
  for (const DirectBytes& message : messages) {
    for (LinkId link = link_into_[at(message.to)]; link >= 0; link = link_into_[at(ends_[at(link)].first)]) {
      bytes[at(link)] += message.bytes;
    }
  }
  return bytes;
}

}  // namespace libcoll::plan
