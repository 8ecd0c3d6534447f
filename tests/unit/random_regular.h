// Seeded random digraphs for property tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/topology.h"

namespace libcoll::test {

inline std::vector<topology::Node> numbered_nodes(std::int32_t count) {
  std::vector<topology::Node> nodes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].name = std::to_string(i);
  return nodes;
}

/// A strongly connected digraph in which every node has `degree` links out and in: a union of permutations.
inline topology::Topology random_regular(std::int32_t nodes, std::int32_t degree, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<topology::NodeId> permutation(static_cast<std::size_t>(nodes));
  for (;;) {
    std::set<std::pair<topology::NodeId, topology::NodeId>> links;
    while (static_cast<std::int32_t>(links.size()) < nodes * degree) {
      for (topology::NodeId i = 0; i < nodes; ++i) permutation[static_cast<std::size_t>(i)] = i;
      std::shuffle(permutation.begin(), permutation.end(), random);
      std::set<std::pair<topology::NodeId, topology::NodeId>> added;
      for (topology::NodeId i = 0; i < nodes; ++i) added.emplace(i, permutation[static_cast<std::size_t>(i)]);
      const bool fits = std::all_of(added.begin(), added.end(), [&](const auto& link) {
        return link.first != link.second && links.count(link) == 0;
      });
      if (fits) links.insert(added.begin(), added.end());
    }
    std::vector<topology::Link> list;
    list.reserve(links.size());
    for (const auto& [from, to] : links) list.push_back({from, to});
    topology::Topology topology = topology::Topology::make("random", numbered_nodes(nodes), list).value();
    if (topology::graph_facts(topology).connected) return topology;
  }
}

/// A fabric that has lost the cable between two nodes.
inline topology::Topology without_cable(const std::string& specification, topology::NodeId a, topology::NodeId b) {
  const topology::Topology whole = topology::generate(specification).value();
  std::vector<topology::Link> links;
  for (const topology::Link& link : whole.links()) {
    if (std::pair(link.from, link.to) != std::pair(a, b) && std::pair(link.from, link.to) != std::pair(b, a)) {
      links.push_back(link);
    }
  }
  return topology::Topology::make("punctured", {whole.nodes().begin(), whole.nodes().end()}, std::move(links)).value();
}

}  // namespace libcoll::test
