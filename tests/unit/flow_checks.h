// What tests of the flow solvers have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "planner/flow/problem/flow_problem.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"
#include "tests/unit/random_regular.h"

namespace libcoll::test {

inline flow::problem::FlowLimits gap_of(double gap) {
  flow::problem::FlowLimits limits;
  limits.gap = gap;
  return limits;
}

/// A random digraph of 8 to 15 hosts: every second one with links of 1 to 4 units, every third with two switches.
inline topology::Topology random_network(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto count = static_cast<std::int32_t>(8 + seed % 8);
  const topology::Topology plain = random_regular(count, 2 + static_cast<std::int32_t>(seed % 3), seed);
  std::vector<topology::Link> links(plain.links().begin(), plain.links().end());
  if (seed % 2 == 0) {
    for (topology::Link& link : links) link.bandwidth_bytes_per_second = static_cast<std::int64_t>(1 + random() % 4);
  }
  std::vector<topology::Node> nodes = numbered_nodes(count);
  if (seed % 3 == 0) nodes[nodes.size() - 1].is_switch = nodes[nodes.size() - 2].is_switch = true;
  return topology::Topology::make("random", nodes, links).value();
}

/// The topology without so many random cables (links and their ways back), still connected.
inline topology::Topology punctured(const topology::Topology& whole, std::size_t cables, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (;;) {
    std::set<topology::LinkId> gone;
    while (gone.size() < 2 * cables) {
      const auto link = static_cast<topology::LinkId>(random() % whole.links().size());
      gone.insert({link, whole.find_link(whole.link(link).to, whole.link(link).from)});
    }
    std::vector<topology::Link> left;
    for (topology::LinkId link = 0; link < whole.link_count(); ++link) {
      if (gone.count(link) == 0) left.push_back(whole.link(link));
    }
    topology::Topology result =
        topology::Topology::make(whole.name() + " punctured", numbered_nodes(whole.node_count()), std::move(left))
            .value();
    if (topology::graph_facts(result).connected) return result;
  }
}

/// Every solved source brings one unit to every other host, nothing is lost on the way, and the load is the flow's.
inline void expect_feasible(const flow::problem::FlowProblem& problem, const flow::problem::FlowSolution& solution) {
  ASSERT_EQ(solution.flow.size(), problem.sources.size());
  for (std::size_t i = 0; i < solution.flow.size(); ++i) {
    std::vector<double> stays(static_cast<std::size_t>(problem.nodes), 0);
    for (std::size_t link = 0; link < problem.links(); ++link) {
      EXPECT_GE(solution.flow[i][link], 0);
      stays[static_cast<std::size_t>(problem.to[link])] += solution.flow[i][link];
      stays[static_cast<std::size_t>(problem.from[link])] -= solution.flow[i][link];
    }
    for (topology::NodeId node = 0; node < problem.nodes; ++node) {
      if (node == problem.sources[i]) continue;
      EXPECT_NEAR(stays[static_cast<std::size_t>(node)], node < problem.hosts ? 1 : 0, 1e-7);
    }
  }
  EXPECT_NEAR(largest_load(problem, class_loads(problem, solution.flow)), solution.load, 1e-7 * solution.load);
}

}  // namespace libcoll::test
