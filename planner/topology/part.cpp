#include "planner/topology/part.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::topology {
namespace {

/// What of the fabric belongs to the part: the new id of every node, -1 for those that go.
std::vector<NodeId> number_nodes(const Topology& fabric, std::span<const NodeId> hosts, std::vector<Node>& nodes) {
  std::vector<NodeId> number(at(fabric.node_count()), -1);
  const auto add = [&](NodeId node, bool is_switch) {
    number[at(node)] = static_cast<NodeId>(nodes.size());
    Node& copy = nodes.emplace_back(fabric.node(node));
    copy.is_switch = is_switch;
    if (is_switch) copy.host.clear();
  };
  for (const NodeId host : hosts) add(host, false);
  for (NodeId node = 0; node < fabric.node_count(); ++node) {
    const bool routes = fabric.node(node).is_switch || fabric.nics_forward();
    if (number[at(node)] < 0 && routes) add(node, true);
  }
  return number;
}

std::vector<Link> renumbered_links(const Topology& fabric, const std::vector<NodeId>& number) {
  std::vector<Link> links;
  for (Link link : fabric.links()) {
    link.from = number[at(link.from)];
    link.to = number[at(link.to)];
    if (link.from >= 0 && link.to >= 0) links.push_back(link);
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  return links;
}

void copy_settings(const Topology& from, Topology& to) {
  to.set_nics_forward(from.nics_forward());
  to.set_injection_bytes_per_second(from.injection_bytes_per_second());
}

std::optional<NodeId> parse_node(std::string_view text, NodeId limit) {
  NodeId node = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (failure != std::errc{} || end != text.data() + text.size() || node < 0 || node >= limit) return std::nullopt;
  return node;
}

}  // namespace

Result<Topology> part_of(const Topology& fabric, std::span<const NodeId> hosts) {
  const bool ascending =
      std::is_sorted(hosts.begin(), hosts.end()) && std::adjacent_find(hosts.begin(), hosts.end()) == hosts.end();
  if (hosts.size() < 2 || !ascending || hosts.front() < 0 || hosts.back() >= fabric.host_count()) {
    return Error{"a part of " + fabric.name() + " takes two hosts at least, in ascending order, below " +
                 std::to_string(fabric.host_count())};
  }
  std::vector<Node> nodes;
  const std::vector<NodeId> number = number_nodes(fabric, hosts, nodes);
  Result<Topology> part =
      Topology::make(fabric.name() + " part " + node_ranges(hosts), std::move(nodes), renumbered_links(fabric, number));
  if (part) copy_settings(fabric, *part);
  return part;
}

std::vector<LinkId> links_without_switches(const Topology& topology) {
  std::vector<LinkId> kept;
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    const Link& link = topology.link(id);
    if (link.from < topology.host_count() && link.to < topology.host_count()) kept.push_back(id);
  }
  return kept;
}

Topology without_switches(const Topology& topology) {
  if (topology.node_count() == topology.host_count()) return topology;
  std::vector<Link> links;
  for (const LinkId id : links_without_switches(topology)) links.push_back(topology.link(id));
  const auto nodes = topology.nodes().first(at(topology.host_count()));
  // Cannot fail: every condition holds for the topology they come from.
  Topology hosts =
      Topology::make(topology.name() + ", hosts only", {nodes.begin(), nodes.end()}, std::move(links)).value();
  copy_settings(topology, hosts);
  return hosts;
}

MovedHosts move_hosts(const std::vector<Automorphism>& group, const std::vector<NodeId>& hosts) {
  MovedHosts best{hosts, hosts};
  for (const Automorphism& permutation : group) {
    // The group is transitive: only images that have node 0 can be the first.
    const bool has_first =
        std::any_of(hosts.begin(), hosts.end(), [&](NodeId host) { return permutation[at(host)] == 0; });
    if (!has_first) continue;
    std::vector<std::pair<NodeId, NodeId>> moved;
    moved.reserve(hosts.size());
    for (const NodeId host : hosts) moved.emplace_back(permutation[at(host)], host);
    std::sort(moved.begin(), moved.end());
    MovedHosts candidate;
    for (const auto& [image, node] : moved) {
      candidate.image.push_back(image);
      candidate.nodes.push_back(node);
    }
    if (candidate.image < best.image) best = std::move(candidate);
  }
  return best;
}

std::string node_ranges(std::span<const NodeId> nodes) {
  std::string text;
  for (std::size_t first = 0; first < nodes.size();) {
    std::size_t last = first;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(nodes[first]);
    if (last > first) text += "-" + std::to_string(nodes[last]);
    first = last + 1;
  }
  return text;
}

Result<std::vector<NodeId>> parse_node_ranges(std::string_view text, NodeId limit) {
  std::vector<NodeId> nodes;
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find(',');
    const std::string_view item = rest.substr(0, end);
    const std::size_t dash = item.find('-');
    const auto first = parse_node(item.substr(0, dash), limit);
    const auto last = dash == std::string_view::npos ? first : parse_node(item.substr(dash + 1), limit);
    if (!first || !last || *first > *last || (!nodes.empty() && *first <= nodes.back())) {
      return Error{"found '" + std::string(item) + "' in \"" + std::string(text) +
                   "\", expected nodes in ascending order below " + std::to_string(limit) + ", such as 0-2,6"};
    }
    for (NodeId node = *first; node <= *last; ++node) nodes.push_back(node);
    if (end == std::string_view::npos) return nodes;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace libcoll::topology
