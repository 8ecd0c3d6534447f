#include "libcoll/recover/changed_fabric.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::recover {

using namespace topology;

namespace {

/// What a node is known by in both files: its host, or its label where it has none.
const std::string& known_by(const Node& node) { return node.host.empty() ? node.name : node.host; }

std::set<std::pair<std::string, std::string>> ends_of_links(const Topology& topology) {
  std::set<std::pair<std::string, std::string>> ends;
  for (const Link& link : topology.links())
    ends.emplace(known_by(topology.node(link.from)), known_by(topology.node(link.to)));
  return ends;
}

/// The same topology whose host i is host order[i]; links are in the order of their ends.
Result<Topology> reordered(const Topology& topology, std::span<const NodeId> order) {
  std::vector<NodeId> number(at(topology.node_count()));
  std::iota(number.begin(), number.end(), 0);
  std::vector<Node> nodes(topology.nodes().begin(), topology.nodes().end());
  for (std::size_t place = 0; place < order.size(); ++place) {
    number[at(order[place])] = static_cast<NodeId>(place);
    nodes[place] = topology.node(order[place]);
  }
  std::vector<Link> links(topology.links().begin(), topology.links().end());
  for (Link& link : links) {
    link.from = number[at(link.from)];
    link.to = number[at(link.to)];
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  Result<Topology> result = Topology::make(topology.name(), std::move(nodes), std::move(links));
  if (!result) return result;
  result->set_nics_forward(topology.nics_forward());
  result->set_injection_bytes_per_second(topology.injection_bytes_per_second());
  return result;
}

}  // namespace

WiringChange wiring_change(const Topology& start, const Topology& now) {
  const auto before = ends_of_links(start);
  const auto after = ends_of_links(now);
  if (!std::includes(after.begin(), after.end(), before.begin(), before.end())) return WiringChange::fewer;
  return before == after ? WiringChange::none : WiringChange::more;
}

Result<Topology> fabric_of(const Topology& now, const Topology& start, std::span<const NodeId> hosts) {
  std::map<std::string_view, NodeId> places;
  for (NodeId host = 0; host < now.host_count(); ++host) places.emplace(known_by(now.node(host)), host);
  std::vector<NodeId> found;
  for (const NodeId host : hosts) {
    const auto place = places.find(known_by(start.node(host)));
    if (place == places.end()) {
      return Error{"host '" + known_by(start.node(host)) + "' is not in the topology any more"};
    }
    found.push_back(place->second);
  }
  std::vector<NodeId> ascending(found);
  std::sort(ascending.begin(), ascending.end());
  const bool is_whole = static_cast<std::int32_t>(found.size()) == now.host_count();
  Result<Topology> part = is_whole ? Result<Topology>(now) : part_of(now, ascending);
  if (!part) return part;
  if (found != ascending) {
    for (NodeId& host : found) {
      host = static_cast<NodeId>(std::lower_bound(ascending.begin(), ascending.end(), host) - ascending.begin());
    }
    part = reordered(*part, found);
    if (!part) return part;
  }
  if (const Status connected = check_connected(*part); !connected) return connected.error();
  return part;
}

}  // namespace libcoll::recover
