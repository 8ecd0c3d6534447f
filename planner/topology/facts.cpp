#include "planner/topology/facts.h"

#include <algorithm>
#include <limits>
#include <string>

#include "planner/base/index.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {
namespace {

enum class Direction : std::uint8_t { forward, backward };

/// Breadth-first hops from the source along links, or against them; -1 where nothing leads.
std::vector<std::int32_t> hops(const Topology& topology, NodeId source, Direction direction) {
  std::vector<std::int32_t> distance(at(topology.node_count()), -1);
  std::vector<NodeId> queue = {source};
  distance[at(source)] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const NodeId node = queue[head];
    const bool along = direction == Direction::forward;
    for (const LinkId id : along ? topology.out_links(node) : topology.in_links(node)) {
      const NodeId next = along ? topology.link(id).to : topology.link(id).from;
      if (distance[at(next)] >= 0) continue;
      distance[at(next)] = distance[at(node)] + 1;
      queue.push_back(next);
    }
  }
  return distance;
}

/// The largest distance to a host, -1 when one is out of reach.
std::int32_t eccentricity(const Topology& topology, NodeId host) {
  const std::vector<std::int32_t> distance = hops(topology, host, Direction::forward);
  const auto hosts_end = distance.begin() + topology.host_count();
  if (std::find(distance.begin(), hosts_end, -1) != hosts_end) return -1;
  return *std::max_element(distance.begin(), hosts_end);
}

std::int32_t diameter(const Topology& topology) {
  std::int32_t largest = 0;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const std::int32_t distance = eccentricity(topology, host);
    if (distance < 0) return -1;
    largest = std::max(largest, distance);
  }
  return largest;
}

bool is_permutation_of(const Automorphism& permutation, std::int32_t count) {
  if (permutation.size() != at(count)) return false;
  std::vector<bool> seen(permutation.size(), false);
  for (const NodeId image : permutation) {
    if (image < 0 || image >= count || seen[at(image)]) return false;
    seen[at(image)] = true;
  }
  return true;
}

using Radices = std::vector<std::int32_t>;

/// Node ids read as mixed-radix numbers, least digit first, on which the family's translations are digit-wise
/// addition; empty for an unknown name. Only a guess: the caller checks every translation.
Radices radices(const std::string& name) {
  const std::optional<Specification> parts = split_specification(name);
  if (!parts) return {};
  const bool grid = parts->family == "torus" || parts->family == "mesh";
  const auto numbers = parse_numbers(parts->arguments, grid ? 'x' : ',', 1, std::numeric_limits<std::int32_t>::max());
  if (!numbers.ok()) return {};
  const std::int32_t first = numbers->front();
  if (grid) return {numbers->rbegin(), numbers->rend()};
  if (parts->family == "hypercube") return Radices(at(std::min(first, 32)), 2);
  if (parts->family == "complete_bipartite") return {first, 2};
  return {first};
}

bool covers(const Radices& sizes, std::int32_t count) {
  std::int64_t product = 1;
  for (const std::int32_t size : sizes) {
    product *= size;
    if (product > count) return false;
  }
  return product == count;
}

/// Digit-wise sum without carry: the group operation.
NodeId translate(const Radices& sizes, NodeId node, NodeId by) {
  NodeId result = 0;
  NodeId stride = 1;
  for (const std::int32_t size : sizes) {
    result += (node / stride % size + by / stride % size) % size * stride;
    stride *= size;
  }
  return result;
}

Automorphism translation(const Radices& sizes, std::int32_t count, NodeId by) {
  Automorphism permutation(at(count));
  for (NodeId node = 0; node < count; ++node) permutation[at(node)] = translate(sizes, node, by);
  return permutation;
}

}  // namespace

DistanceMatrix hop_distances(const Topology& topology) {
  DistanceMatrix distances;
  distances.reserve(at(topology.node_count()));
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    distances.push_back(hops(topology, node, Direction::forward));
  }
  return distances;
}

std::optional<std::pair<NodeId, NodeId>> unreachable_pair(const Topology& topology) {
  if (topology.host_count() < 2) return std::nullopt;
  const std::vector<std::int32_t> from_first = hops(topology, 0, Direction::forward);
  const std::vector<std::int32_t> to_first = hops(topology, 0, Direction::backward);
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    if (from_first[at(host)] < 0) return std::pair{NodeId{0}, host};
    if (to_first[at(host)] < 0) return std::pair{host, NodeId{0}};
  }
  return std::nullopt;
}

Status check_connected(const Topology& topology) {
  if (topology.host_count() < 2) {
    return Error{"found fewer than two hosts, expected at least two"};
  }
  const auto pair = unreachable_pair(topology);
  if (!pair) return {};
  return Error{"found no path from node '" + topology.node(pair->first).name + "' to node '" +
               topology.node(pair->second).name + "', expected every host to reach every other host"};
}

Facts graph_facts(const Topology& topology) {
  Facts facts;
  facts.nodes = topology.node_count();
  facts.links = topology.link_count();
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const auto out_degree = static_cast<std::int32_t>(topology.out_links(host).size());
    facts.degree_min = host == 0 ? out_degree : std::min(facts.degree_min, out_degree);
    facts.degree_max = std::max(facts.degree_max, out_degree);
  }
  facts.diameter = diameter(topology);
  facts.connected = facts.diameter >= 0;
  return facts;
}

std::int32_t degree(const Topology& topology) {
  std::size_t largest = 0;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    largest = std::max({largest, topology.out_links(host).size(), topology.in_links(host).size()});
  }
  return static_cast<std::int32_t>(largest);
}

Rational allgather_bandwidth_bound(const Topology& topology) {
  if (topology.host_count() < 2) return 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    std::int64_t bandwidth = 0;
    for (const LinkId id : topology.in_links(host)) bandwidth += topology.link(id).bandwidth_bytes_per_second;
    least = std::min(least, bandwidth);
  }
  if (least == 0) return 0;
  const std::int64_t hosts = topology.host_count();
  return Rational(degree(topology) * (hosts - 1), hosts) * Rational(topology.unit_bandwidth_bytes_per_second(), least);
}

bool is_automorphism(const Topology& topology, const Automorphism& permutation) {
  if (!is_permutation_of(permutation, topology.node_count())) return false;
  // link_from[v] is the link image→v of the node at hand, valid where owner[v] is that node.
  std::vector<NodeId> owner(permutation.size(), -1);
  std::vector<LinkId> link_from(permutation.size(), -1);
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const NodeId image = permutation[at(node)];
    if (topology.node(node).is_switch != topology.node(image).is_switch) return false;
    if (topology.out_links(node).size() != topology.out_links(image).size()) return false;
    for (const LinkId id : topology.out_links(image)) {
      owner[at(topology.link(id).to)] = node;
      link_from[at(topology.link(id).to)] = id;
    }
    for (const LinkId id : topology.out_links(node)) {
      const Link& link = topology.link(id);
      const NodeId to = permutation[at(link.to)];
      if (owner[at(to)] != node) return false;
      if (topology.link(link_from[at(to)]).bandwidth_bytes_per_second != link.bandwidth_bytes_per_second) return false;
    }
  }
  return true;
}

std::vector<Automorphism> translations(const Topology& topology) {
  const std::int32_t count = topology.node_count();
  if (count != topology.host_count() || count > max_translation_nodes) return {};
  if (std::int64_t{count} * topology.link_count() > max_translation_checks) return {};
  const Radices sizes = radices(topology.name());
  if (sizes.empty() || !covers(sizes, count)) return {};
  std::vector<Automorphism> group;
  group.reserve(at(count));
  for (NodeId by = 0; by < count; ++by) {
    group.push_back(translation(sizes, count, by));
    if (!is_automorphism(topology, group.back())) return {};
  }
  return group;
}

}  // namespace libcoll::topology
