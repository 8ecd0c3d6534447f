#include "planner/topology/topology.h"

#include <algorithm>
#include <cmath>

#include "planner/base/index.h"

namespace libcoll::topology {
namespace {

std::string quoted(const std::vector<Node>& nodes, NodeId id) { return "'" + nodes[at(id)].name + "'"; }

Status check_nodes(const std::vector<Node>& nodes) {
  const auto first_switch = std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_switch; });
  const auto late_host = std::find_if(first_switch, nodes.end(), [](const Node& node) { return !node.is_switch; });
  if (late_host != nodes.end()) {
    return Error{"found host '" + late_host->name + "' numbered after switch '" + first_switch->name +
                 "', expected all hosts before all switches"};
  }
  return {};
}

Status check_link(const std::vector<Node>& nodes, const Link& link) {
  const auto in_range = [&](NodeId id) { return id >= 0 && at(id) < nodes.size(); };
  if (!in_range(link.from) || !in_range(link.to)) {
    return Error{"found a link from node " + std::to_string(link.from) + " to node " + std::to_string(link.to) +
                 ", expected ids below " + std::to_string(nodes.size())};
  }
  const std::string ends = quoted(nodes, link.from) + " to " + quoted(nodes, link.to);
  if (link.from == link.to) return Error{"found a link from " + ends + ", expected two different nodes"};
  if (link.bandwidth_bytes_per_second <= 0) {
    return Error{"found a bandwidth of " + std::to_string(link.bandwidth_bytes_per_second) + " bytes per second from " +
                 ends + ", expected one above zero"};
  }
  if (!std::isfinite(link.latency_seconds) || link.latency_seconds < 0) {
    return Error{"found a latency of " + std::to_string(link.latency_seconds) + " seconds from " + ends +
                 ", expected one of zero or more"};
  }
  return {};
}

Status check_links(const std::vector<Node>& nodes, const std::vector<Link>& links) {
  std::vector<std::pair<NodeId, NodeId>> ends;
  ends.reserve(links.size());
  for (const Link& link : links) {
    if (Status status = check_link(nodes, link); !status) return status;
    ends.emplace_back(link.from, link.to);
  }
  std::sort(ends.begin(), ends.end());
  const auto twice = std::adjacent_find(ends.begin(), ends.end());
  if (twice != ends.end()) {
    return Error{"found two links from " + quoted(nodes, twice->first) + " to " + quoted(nodes, twice->second) +
                 ", expected at most one"};
  }
  return {};
}

}  // namespace

Result<Topology> Topology::make(std::string name, std::vector<Node> nodes, std::vector<Link> links) {
  if (const Status status = check_nodes(nodes); !status) return status.error();
  if (const Status status = check_links(nodes, links); !status) return status.error();
  Topology topology;
  topology.name_ = std::move(name);
  topology.nodes_ = std::move(nodes);
  topology.links_ = std::move(links);
  topology.host_count_ = static_cast<std::int32_t>(
      std::count_if(topology.nodes_.begin(), topology.nodes_.end(), [](const Node& node) { return !node.is_switch; }));
  topology.index_links();
  return topology;
}

void Topology::index_links() {
  out_.assign(nodes_.size(), {});
  in_.assign(nodes_.size(), {});
  if (!links_.empty()) unit_bandwidth_ = links_.front().bandwidth_bytes_per_second;
  for (LinkId id = 0; id < link_count(); ++id) {
    out_[at(link(id).from)].push_back(id);
    in_[at(link(id).to)].push_back(id);
    unit_bandwidth_ = std::min(unit_bandwidth_, link(id).bandwidth_bytes_per_second);
  }
}

LinkId Topology::find_link(NodeId from, NodeId to) const {
  const auto links = out_links(from);
  const auto found = std::find_if(links.begin(), links.end(), [&](LinkId id) { return link(id).to == to; });
  return found == links.end() ? -1 : *found;
}

Rational Topology::capacity(LinkId id) const { return {link(id).bandwidth_bytes_per_second, unit_bandwidth_}; }

Topology transpose(const Topology& topology) {
  Topology result = topology;
  for (Link& link : result.links_) std::swap(link.from, link.to);
  result.index_links();
  return result;
}

}  // namespace libcoll::topology
