#include "planner/route/lash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/route/dfsssp.h"
#include "planner/route/sssp.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"

namespace libcoll::lash_test {

using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// Every route of `hops` hops in the direction of uniring:N.
std::vector<Route> ring_routes(const Topology& ring, std::int32_t hops) {
  std::vector<Route> routes;
  for (NodeId start = 0; start < ring.host_count(); ++start) {
    Route route{start, start, {}, 0};
    for (std::int32_t hop = 0; hop < hops; ++hop) {
      const NodeId next = (route.destination + 1) % ring.host_count();
      route.links.push_back(ring.find_link(route.destination, next));
      route.destination = next;
    }
    routes.push_back(route);
  }
  return routes;
}

TEST(ChannelDependency, OneHopRoutesNeverDepend) {
  const Topology ring = generate("uniring:5").value();
  EXPECT_TRUE(channel_dependencies_acyclic(ring, ring_routes(ring, 1)));
  EXPECT_TRUE(channel_dependencies_acyclic(ring, {}));
}

TEST(ChannelDependency, TheClassicRingDeadlockIsFound) {
  // Dally and Seitz 1987: all routes around a ring in one lane wait for each other.
  const Topology ring = generate("uniring:5").value();
  std::vector<Route> routes = ring_routes(ring, 2);
  EXPECT_FALSE(channel_dependencies_acyclic(ring, routes));
  // One route in another lane opens the circle.
  routes.back().layer = 1;
  EXPECT_TRUE(channel_dependencies_acyclic(ring, routes));
}

TEST(ChannelDependency, LinksThatDoNotExistAreRefused) {
  const Topology ring = generate("uniring:5").value();
  EXPECT_FALSE(channel_dependencies_acyclic(ring, std::vector<Route>{{0, 1, {ring.link_count()}, 0}}));
  EXPECT_FALSE(channel_dependencies_acyclic(ring, std::vector<Route>{{0, 1, {-1}, 0}}));
}

TEST(Lash, ARingNeedsTwoLayers) {
  // One lane cannot hold the circle; two can (Dally and Seitz), and the first layer takes all but the closing route.
  const Topology ring = generate("uniring:5").value();
  std::vector<Route> routes = ring_routes(ring, 2);
  EXPECT_EQ(assign_layers(ring, routes), 2);
  EXPECT_TRUE(channel_dependencies_acyclic(ring, routes));
  EXPECT_EQ(routes.front().layer, 0);
  EXPECT_EQ(routes.back().layer, 1);
}

TEST(Lash, ALineNeedsOneLayer) {
  // The channel-dependency graph of a tree's simple paths has no cycle.
  const Topology line = generate("mesh:6").value();
  std::vector<Route> routes;
  for (NodeId from = 0; from < 6; ++from) {
    for (NodeId to = 0; to < 6; ++to) {
      if (from == to) continue;
      Route route{from, to, {}, 7};
      for (NodeId node = from; node != to;) {
        const NodeId next = node < to ? node + 1 : node - 1;
        route.links.push_back(line.find_link(node, next));
        node = next;
      }
      routes.push_back(route);
    }
  }
  EXPECT_EQ(assign_layers(line, routes), 1);
  EXPECT_TRUE(channel_dependencies_acyclic(line, routes));
}

/// LASH-sequential as it reads: a layer takes a route if all its routes together stay acyclic.
std::vector<std::int32_t> layers_as_defined(const Topology& topology, const std::vector<Route>& routes) {
  std::vector<std::vector<Route>> layers;
  std::vector<std::int32_t> result;
  for (const Route& route : routes) {
    std::size_t chosen = 0;
    for (; chosen < layers.size(); ++chosen) {
      std::vector<Route> together = layers[chosen];
      together.push_back(route);
      for (Route& each : together) each.layer = 0;
      if (channel_dependencies_acyclic(topology, together)) break;
    }
    if (chosen == layers.size()) layers.emplace_back();
    layers[chosen].push_back(route);
    result.push_back(static_cast<std::int32_t>(chosen));
  }
  return result;
}

TEST(Lash, RemembersWithoutChangingTheLayers) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const Topology topology = random_regular(20, 3, seed);
    std::vector<Route> routes = sssp_routes(topology).value();
    const std::vector<std::int32_t> expected = layers_as_defined(topology, routes);
    const std::int32_t count = assign_layers(topology, routes);
    EXPECT_EQ(count, *std::max_element(expected.begin(), expected.end()) + 1);
    for (std::size_t i = 0; i < routes.size(); ++i) ASSERT_EQ(routes[i].layer, expected[i]) << seed << " " << i;
    break_cycles(topology, routes);
    EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
  }
}

TEST(Lash, LongRoutesAroundARingStayAcyclicInEveryLayer) {
  const Topology ring = generate("uniring:7").value();
  std::vector<Route> routes;
  for (std::int32_t hops = 1; hops < 7; ++hops) {
    for (Route& route : ring_routes(ring, hops)) routes.push_back(std::move(route));
  }
  EXPECT_FALSE(channel_dependencies_acyclic(ring, routes));
  EXPECT_GE(assign_layers(ring, routes), 2);
  EXPECT_TRUE(channel_dependencies_acyclic(ring, routes));
}

}  // namespace
}  // namespace libcoll::lash_test
