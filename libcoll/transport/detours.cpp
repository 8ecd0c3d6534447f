#include "libcoll/transport/detours.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::transport {

using namespace topology;

namespace {

constexpr std::int64_t linked_cost = 1;
constexpr std::int64_t routed_cost = 4;
/// A blamed hop is worth a way around it, not one through half of the fabric.
constexpr std::int64_t blame_cost = 8;
/// So many searches differ in how much costs vary. With more, what was learnt would not count.
constexpr std::int64_t degrees_of_doubt = 4;

/// Hosts that `from` sees over links of which only the last ends at a host, or over one link.
std::set<NodeId> seen_from(const Topology& topology, NodeId from, bool through_switches) {
  std::set<NodeId> hosts;
  std::vector<bool> visited(at(topology.node_count()), false);
  std::vector<NodeId> open = {from};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const LinkId id : topology.out_links(node)) {
      const NodeId next = topology.link(id).to;
      if (visited[at(next)] || next == from) continue;
      visited[at(next)] = true;
      if (topology.node(next).is_switch) {
        if (through_switches) open.push_back(next);
      } else {
        hosts.insert(next);
      }
    }
  }
  return hosts;
}

/// In both directions.
std::vector<std::vector<NodeId>> seen_hosts(const Topology& topology, bool through_switches) {
  std::vector<std::set<NodeId>> sets(at(topology.host_count()));
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (const NodeId other : seen_from(topology, host, through_switches)) {
      sets[at(host)].insert(other);
      sets[at(other)].insert(host);
    }
  }
  std::vector<std::vector<NodeId>> neighbours;
  neighbours.reserve(sets.size());
  for (const std::set<NodeId>& hosts : sets) neighbours.emplace_back(hosts.begin(), hosts.end());
  return neighbours;
}

}  // namespace

std::vector<std::vector<NodeId>> neighbouring_hosts(const Topology& topology) { return seen_hosts(topology, true); }

std::vector<std::vector<NodeId>> linked_hosts(const Topology& topology) { return seen_hosts(topology, false); }

Detours::Detours(std::vector<std::vector<NodeId>> neighbours, const std::vector<std::vector<NodeId>>& linked)
    : neighbours_(std::move(neighbours)) {
  costs_.reserve(neighbours_.size());
  for (std::size_t host = 0; host < neighbours_.size(); ++host) {
    std::vector<Cost>& costs = costs_.emplace_back();
    for (const NodeId other : neighbours_[host]) {
      const bool has_link = linked.empty() || std::binary_search(linked[host].begin(), linked[host].end(), other);
      const std::int64_t cost = has_link ? linked_cost : routed_cost;
      costs.push_back({cost, cost});
    }
  }
}

HostPath Detours::find(NodeId from, NodeId to, bool indirect) const {
  Weights weights(costs_.size());
  for (std::size_t host = 0; host < costs_.size(); ++host) {
    for (const Cost& cost : costs_[host]) weights[host].push_back(cost.now);
  }
  return cheapest(from, to, indirect, weights);
}

HostPath Detours::search(NodeId from, NodeId to, bool indirect, std::int64_t in_vain) {
  std::uniform_int_distribution<std::int64_t> factor(1, 1 + in_vain % degrees_of_doubt);
  Weights weights(costs_.size());
  for (std::size_t host = 0; host < costs_.size(); ++host) {
    for (const Cost& cost : costs_[host]) weights[host].push_back(cost.now * factor(random_));
  }
  return cheapest(from, to, indirect, weights);
}

HostPath Detours::cheapest(NodeId from, NodeId to, bool indirect, const Weights& weights) const {
  constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> distance(neighbours_.size(), unreached);
  std::vector<NodeId> before(neighbours_.size(), -1);
  std::set<std::pair<std::int64_t, NodeId>> open = {{0, from}};
  distance[at(from)] = 0;
  while (!open.empty()) {
    const auto [cost, host] = *open.begin();
    open.erase(open.begin());
    if (host == to) break;
    for (std::size_t i = 0; i < neighbours_[at(host)].size(); ++i) {
      const NodeId next = neighbours_[at(host)][i];
      if (indirect && host == from && next == to) continue;
      const std::int64_t sum = cost + weights[at(host)][i];
      if (sum >= distance[at(next)]) continue;
      open.erase({distance[at(next)], next});
      distance[at(next)] = sum;
      before[at(next)] = host;
      open.emplace(sum, next);
    }
  }
  if (distance[at(to)] == unreached) return {};
  HostPath path;
  for (NodeId host = to; host != -1; host = before[at(host)]) path.push_back(static_cast<std::uint16_t>(host));
  std::reverse(path.begin(), path.end());
  return path;
}

Detours::Cost* Detours::cost_of(NodeId from, NodeId to) {
  const auto& hosts = neighbours_[at(from)];
  const auto found = std::lower_bound(hosts.begin(), hosts.end(), to);
  if (found == hosts.end() || *found != to) return nullptr;
  return &costs_[at(from)][static_cast<std::size_t>(found - hosts.begin())];
}

void Detours::blame(const HostPath& path) {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    for (const auto& [a, b] : {std::pair(path[i], path[i + 1]), std::pair(path[i + 1], path[i])}) {
      if (Cost* cost = cost_of(a, b)) cost->now += blame_cost;
    }
  }
}

void Detours::exclude(NodeId a, NodeId b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    auto& hosts = neighbours_[at(from)];
    const auto found = std::lower_bound(hosts.begin(), hosts.end(), to);
    if (found == hosts.end() || *found != to) continue;
    costs_[at(from)].erase(costs_[at(from)].begin() + (found - hosts.begin()));
    hosts.erase(found);
  }
}

void Detours::trust(const HostPath& path) {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    Cost* there = cost_of(path[i], path[i + 1]);
    Cost* back = cost_of(path[i + 1], path[i]);
    if (there != nullptr) there->now = there->usual;
    if (back != nullptr && back->usual == linked_cost) back->now = back->usual;
  }
}

}  // namespace libcoll::transport
