// Shortest-path trees by link lengths (Dijkstra's algorithm).
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// By node: the distance from the source (the largest Length where nothing leads) and the last link of a shortest path
/// (-1 for the source and where nothing leads).
template <class Length>
struct LengthTree {
  std::vector<Length> distance;
  std::vector<topology::LinkId> last_link;
};

/// Precondition: lengths >= 0, one for each link; a path's sum fits the type.
template <class Length>
LengthTree<Length> length_tree(const topology::Topology& topology, std::span<const Length> lengths,
                               topology::NodeId source) {
  const auto at = [](std::int32_t id) { return static_cast<std::size_t>(id); };
  LengthTree<Length> tree{std::vector<Length>(at(topology.node_count()), std::numeric_limits<Length>::max()),
                          std::vector<topology::LinkId>(at(topology.node_count()), -1)};
  using Entry = std::pair<Length, topology::NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  tree.distance[at(source)] = 0;
  queue.emplace(0, source);
  while (!queue.empty()) {
    const auto [length, node] = queue.top();
    queue.pop();
    if (length > tree.distance[at(node)]) continue;
    for (const topology::LinkId link : topology.out_links(node)) {
      const topology::NodeId to = topology.link(link).to;
      const Length candidate = length + lengths[at(link)];
      if (candidate >= tree.distance[at(to)]) continue;
      tree.distance[at(to)] = candidate;
      tree.last_link[at(to)] = link;
      queue.emplace(candidate, to);
    }
  }
  return tree;
}

}  // namespace libcoll::flow::problem
