// Orders of links are searched: no pair loses its way, and plans in few virtual lanes lose little of F.
#include "planner/route/order_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/lowering/layered_flow.h"
#include "planner/flow/mcf.h"
#include "planner/route/fewer_classes.h"
#include "planner/route/manager_lanes.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/measured_fabrics.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/sanitized.h"

namespace libcoll::order_search_test {

using namespace flow;
using namespace flow::lowering;
using namespace flow::paths;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

constexpr std::int64_t effort = 20'000'000;

std::vector<PairDemand> all_pairs(const Topology& topology) {
  std::vector<PairDemand> pairs;
  for (NodeId source = 0; source < topology.host_count(); ++source) {
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      if (source != destination) pairs.push_back({source, destination, 1, 1});
    }
  }
  return pairs;
}

LayerOrders searched(const Topology& topology, const LayerOrders& orders) {
  std::int64_t left = effort;
  return search_orders(topology, orders, all_pairs(topology), forwarding_nodes(topology), left, Deadline(0));
}

TEST(OrderSearch, LeavesEveryPairAWayAndNoLessFlow) {
  std::vector<Topology> topologies{generate("torus:4x4").value(),    without_cable("torus:3x3x3", 0, 1),
                                   generate("fat_tree:4,2").value(), generate("genkautz:12,3").value(),
                                   measured_ring(12, {4, 0}, 1),     measured_ring(14, {3, 3}, 2),
                                   random_regular(11, 3, 5)};
  for (const Topology& topology : topologies) {
    for (const std::int32_t layers : {1, 2}) {
      SCOPED_TRACE(topology.name() + " in " + std::to_string(layers));
      const Result<LayerOrders> orders = layer_orders(topology, {}, layers);
      if (!orders) continue;  // one-way links may need more
      const LayerOrders found = searched(topology, *orders);
      ASSERT_EQ(found.size(), orders->size());
      const LayeredFlow before = layered_flow(topology, *orders, {}, Deadline(0));
      const LayeredFlow after = layered_flow(topology, found, {}, Deadline(0));
      // Both are within 0.5 % of the best in their orders.
      EXPECT_LE(after.load, before.load * 1.005);
      std::vector<Route> routes;
      for (const PairPaths& pair : after.pairs) {
        ASSERT_FALSE(pair.paths.empty());
        for (const WeightedPath& path : pair.paths) {
          ASSERT_GE(layer_of(found, path.links), 0);
          routes.push_back({pair.source, pair.destination, path.links, layer_of(found, path.links), 0});
        }
      }
      EXPECT_EQ(after.pairs.size(), all_pairs(topology).size());
      EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
    }
  }
}

TEST(OrderSearch, IsTheSameEveryTime) {
  const Topology topology = without_cable("torus:3x3x3", 0, 1);
  const LayerOrders orders = layer_orders(topology, {}, 1).value();
  EXPECT_EQ(searched(topology, orders), searched(topology, orders));
}

TEST(OrderSearch, LinksWithoutPredecessorsKeepTheirPlace) {
  const Topology topology = generate("torus:4x4").value();
  LayerOrders orders = layer_orders(topology, {}, 1).value();
  orders[0][5] = -1;
  EXPECT_EQ(searched(topology, orders)[0][5], -1);
}

/// The plan of most F in so many lanes.
Schedule plan_in(const Topology& topology, std::int32_t lanes) {
  PlanOptions options;
  options.max_layers = lanes;
  Result<Schedule> plan = plan_mcf_path(topology, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>());
  EXPECT_LE(layer_count(plan->routes), lanes);
  return std::move(plan).value();
}

TEST(OrderSearch, OneLaneCostsLittleOfF) {
  // By the first orders alone it costs 33, 42 and 14 % of F.
  std::vector<Topology> topologies{generate("twisted_hypercube:3").value()};
  if (!sanitized) {
    topologies.push_back(without_cable("torus:3x3x3", 0, 1));
    topologies.push_back(generate("random_regular:16,4,1").value());
  }
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    EXPECT_GE(plan_in(topology, 1).proof.flow, 0.97 * plan_mcf_path(topology, {})->proof.flow);
  }
}

struct SubnetLinks {
  Topology topology;
  std::vector<std::int32_t> ports;  ///< by link: that by which it leaves its node
};

/// The same links under other ids.
SubnetLinks with_links_in_another_order(const Topology& topology) {
  struct Cabled {
    Link link;
    std::int32_t port;
  };
  std::vector<Cabled> cabled;
  std::vector<std::int32_t> used(at(topology.node_count()), 0);
  for (const Link& link : topology.links()) cabled.push_back({link, ++used[at(link.from)]});
  std::shuffle(cabled.begin(), cabled.end(), std::mt19937(1));
  std::vector<Link> links;
  SubnetLinks subnet;
  for (const Cabled& each : cabled) {
    links.push_back(each.link);
    subnet.ports.push_back(each.port);
  }
  subnet.topology =
      Topology::make("another order", {topology.nodes().begin(), topology.nodes().end()}, std::move(links)).value();
  return subnet;
}

TEST(ManagerLanes, AreWhatOpenSmTakes) {
  // OpenSM's lash takes one lane on the torus, whole and punctured, its lash and dfsssp two on the twisted hypercube.
  EXPECT_EQ(manager_lanes(generate("torus:3x3x3").value()).value(), 1);
  EXPECT_EQ(manager_lanes(without_cable("torus:3x3x3", 0, 1)).value(), 1);
  EXPECT_EQ(manager_lanes(generate("twisted_hypercube:3").value()).value(), 2);
  // Of its lash on larger tori, where dfsssp takes 3, 5, 8, 4 and 6.
  EXPECT_EQ(manager_lanes(generate("torus:4x4").value()).value(), 2);
  EXPECT_EQ(manager_lanes(generate("torus:4x4x2").value()).value(), 3);
  EXPECT_EQ(manager_lanes(generate("torus:4x4x4").value()).value(), 5);
  EXPECT_EQ(manager_lanes(generate("torus:5x5").value()).value(), 3);
  EXPECT_EQ(manager_lanes(generate("torus:6x6").value()).value(), 4);
  // Links of a subnet come in the order in which its cables were found: the ports tell the dimensions apart.
  const auto [topology, ports] = with_links_in_another_order(without_cable("torus:3x3x3", 0, 1));
  EXPECT_GE(manager_lanes(topology).value(), 2);
  EXPECT_EQ(manager_lanes(topology, ports).value(), 1);
  // A one-way ring is cut somewhere in every lane (Dally and Seitz 1987).
  EXPECT_GE(manager_lanes(generate("uniring:5").value()).value(), 2);
}

}  // namespace
}  // namespace libcoll::order_search_test
