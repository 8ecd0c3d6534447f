#include "planner/route/layer_orders.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>

#include "planner/base/index.h"
#include "planner/route/acyclic_layer.h"
#include "planner/route/sssp.h"
#include "planner/topology/facts.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// By node: the link it leaves by towards the root, and the one it is reached by from the root; no link is both.
struct DisjointTrees {
  std::vector<LinkId> next;
  std::vector<LinkId> parent;
};

/// Both breadth first. The way in leaves every node a link for the way out, as the shortest way in might not.
std::optional<DisjointTrees> disjoint_trees(const Topology& topology, NodeId root) {
  const auto nodes = at(topology.node_count());
  DisjointTrees trees{std::vector<LinkId>(nodes, -1), std::vector<LinkId>(nodes, -1)};
  std::vector<NodeId> leading{root};
  for (std::size_t taken = 0; taken < leading.size(); ++taken) {
    const NodeId node = leading[taken];
    std::size_t left = topology.in_links(node).size();
    for (const LinkId link : topology.in_links(node)) {
      const NodeId from = topology.link(link).from;
      if (from == root || trees.next[at(from)] >= 0 || (left == 1 && node != root)) continue;
      trees.next[at(from)] = link;
      leading.push_back(from);
      --left;
    }
  }
  if (leading.size() < nodes) return std::nullopt;
  std::vector<NodeId> reached{root};
  for (std::size_t taken = 0; taken < reached.size(); ++taken) {
    for (const LinkId link : topology.out_links(reached[taken])) {
      const NodeId to = topology.link(link).to;
      if (to == root || trees.parent[at(to)] >= 0 || trees.next[at(reached[taken])] == link) continue;
      trees.parent[at(to)] = link;
      reached.push_back(to);
    }
  }
  if (reached.size() < nodes) return std::nullopt;
  return trees;
}

/// Nodes that others are near to come first.
std::vector<NodeId> by_remoteness(const DistanceMatrix& distance) {
  std::vector<std::int32_t> farthest(distance.size(), 0);
  for (const std::vector<std::int32_t>& row : distance) {
    for (std::size_t node = 0; node < row.size(); ++node) farthest[node] = std::max(farthest[node], row[node]);
  }
  std::vector<NodeId> order(distance.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return farthest[at(a)] < farthest[at(b)]; });
  return order;
}

/// Ways over a root for every pair, in along one tree and out along the other; false where no root has such trees.
bool add_in_out(const Topology& topology, AcyclicLayer& layer) {
  const DistanceMatrix distance = hop_distances(topology);
  for (const NodeId root : by_remoteness(distance)) {
    const std::optional<DisjointTrees> trees = disjoint_trees(topology, root);
    if (!trees) continue;
    const auto is_next = [&](LinkId link) { return trees->next[at(topology.link(link).from)] == link; };
    const auto is_parent = [&](LinkId link) { return trees->parent[at(topology.link(link).to)] == link; };
    for (NodeId node = 0; node < topology.node_count(); ++node) {
      for (const LinkId in : topology.in_links(node)) {
        for (const LinkId out : topology.out_links(node)) {
          const bool inwards = is_next(in) && is_next(out);
          const bool outwards = (is_next(in) || is_parent(in)) && is_parent(out);
          if (inwards || outwards) layer.try_add(std::array{in, out});
        }
      }
    }
    return true;
  }
  return false;
}

bool add_to_any(std::vector<AcyclicLayer>& layers, const Route& route) {
  return std::any_of(layers.begin(), layers.end(), [&](AcyclicLayer& layer) { return layer.try_add(route.links); });
}

}  // namespace

Result<LayerOrders> layer_orders(const Topology& topology, std::span<const Route> wanted, std::int32_t layers) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  std::vector<AcyclicLayer> graphs;
  graphs.reserve(at(layers));
  for (std::int32_t i = 0; i < layers; ++i) graphs.emplace_back(topology, places);
  if (!add_in_out(topology, graphs.back())) {
    const Result<std::vector<Route>> shortest = sssp_routes(topology);
    if (!shortest) return shortest.error();
    for (const Route& route : *shortest) {
      if (add_to_any(graphs, route)) continue;
      const std::int32_t needed = layer_count(*shortest);
      return Error{"the one-way links of " + topology.name() + " leave some pair without a way in " +
                   std::to_string(layers) + (layers == 1 ? " layer" : " layers") + ", expected " +
                   std::to_string(needed) + " or more"};
    }
  }
  std::vector<const Route*> shortest_first;
  shortest_first.reserve(wanted.size());
  for (const Route& route : wanted) shortest_first.push_back(&route);
  std::stable_sort(shortest_first.begin(), shortest_first.end(),
                   [](const Route* a, const Route* b) { return a->links.size() < b->links.size(); });
  for (const Route* route : shortest_first) add_to_any(graphs, *route);
  LayerOrders orders;
  for (const AcyclicLayer& graph : graphs) orders.emplace_back(graph.order().begin(), graph.order().end());
  return orders;
}

std::int32_t layer_of(const LayerOrders& orders, std::span<const LinkId> links) {
  for (std::size_t layer = 0; layer < orders.size(); ++layer) {
    const auto descends = [&](LinkId a, LinkId b) { return orders[layer][at(a)] >= orders[layer][at(b)]; };
    if (std::adjacent_find(links.begin(), links.end(), descends) == links.end()) {
      return static_cast<std::int32_t>(layer);
    }
  }
  return -1;
}

}  // namespace libcoll::route
