// What tests of route sets have in common: loads, shape, and forwarding state followed hop by hop.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/route/route_classes.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::test {

/// Most routes over one link.
inline std::int64_t largest_count(const topology::Topology& topology, const std::vector<schedule::Route>& routes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(topology.link_count()), 0);
  for (const schedule::Route& route : routes) {
    for (const topology::LinkId link : route.links) ++counts[static_cast<std::size_t>(link)];
  }
  return *std::max_element(counts.begin(), counts.end());
}

/// One route for every ordered pair of hosts, in order, each a path of as few links as there can be.
inline void expect_one_shortest_path_per_pair(const topology::Topology& topology,
                                              const std::vector<schedule::Route>& routes) {
  const topology::DistanceMatrix distances = topology::hop_distances(topology);
  std::vector<std::pair<topology::NodeId, topology::NodeId>> pairs;
  for (topology::NodeId source = 0; source < topology.host_count(); ++source) {
    for (topology::NodeId destination = 0; destination < topology.host_count(); ++destination) {
      if (source != destination) pairs.emplace_back(source, destination);
    }
  }
  ASSERT_EQ(routes.size(), pairs.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto [source, destination] = pairs[i];
    EXPECT_EQ(std::pair(routes[i].source, routes[i].destination), pairs[i]);
    topology::NodeId node = source;
    for (const topology::LinkId link : routes[i].links) {
      ASSERT_EQ(topology.link(link).from, node);
      node = topology.link(link).to;
    }
    EXPECT_EQ(node, destination);
    EXPECT_EQ(
        routes[i].links.size(),
        static_cast<std::size_t>(distances[static_cast<std::size_t>(source)][static_cast<std::size_t>(destination)]));
  }
}

/// The most different paths of one pair: what classes by source cannot go below.
inline std::int32_t most_paths_of_a_pair(const std::vector<schedule::Route>& routes) {
  std::map<std::pair<topology::NodeId, topology::NodeId>, std::set<std::vector<topology::LinkId>>> paths;
  for (const schedule::Route& route : routes) paths[{route.source, route.destination}].insert(route.links);
  std::size_t most = 0;
  for (const auto& [pair, different] : paths) most = std::max(most, different.size());
  return static_cast<std::int32_t>(most);
}

/// Writes the forwarding state of all routes, then sends one message along each and sees where it goes.
inline void expect_forwarding_reproduces(const topology::Topology& topology, const std::vector<schedule::Route>& routes,
                                         route::Forwarding forwarding) {
  // (class, source or -1, destination, node) → next link.
  std::map<std::tuple<std::int32_t, topology::NodeId, topology::NodeId, topology::NodeId>, topology::LinkId> table;
  const auto key = [&](const schedule::Route& route, topology::NodeId node) {
    const topology::NodeId source = forwarding == route::Forwarding::by_source ? route.source : -1;
    return std::tuple(route.route_class, source, route.destination, node);
  };
  for (const schedule::Route& route : routes) {
    ASSERT_GE(route.route_class, 1);
    for (const topology::LinkId link : route.links) table[key(route, topology.link(link).from)] = link;
  }
  for (const schedule::Route& route : routes) {
    std::vector<topology::LinkId> taken;
    topology::NodeId node = route.source;
    while (node != route.destination && taken.size() <= topology.links().size()) {
      const auto entry = table.find(key(route, node));
      ASSERT_NE(entry, table.end());
      taken.push_back(entry->second);
      node = topology.link(entry->second).to;
    }
    EXPECT_EQ(taken, route.links) << route.source << "->" << route.destination << " class " << route.route_class;
  }
}

}  // namespace libcoll::test
