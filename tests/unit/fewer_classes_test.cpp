// Plans that count classes by destination while they choose paths: no more of them, within the loss that is allowed.
#include "planner/route/fewer_classes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/mcf.h"
#include "planner/route/destination_classes.h"
#include "planner/route/table_completion.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/unit/measured_fabrics.h"
#include "tests/unit/random_regular.h"

namespace libcoll::fewer_classes_test {

using namespace flow;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// The links of a one-way fabric, each with one back: x → −d·x − a mod N as cables.
Topology cables_of(const std::string& specification) {
  const Topology one_way = generate(specification).value();
  std::set<std::pair<NodeId, NodeId>> ends;
  for (const Link& link : one_way.links()) {
    ends.emplace(link.from, link.to);
    ends.emplace(link.to, link.from);
  }
  std::vector<Link> links;
  links.reserve(ends.size());
  for (const auto& [from, to] : ends) links.push_back({from, to});
  return Topology::make("cables", {one_way.nodes().begin(), one_way.nodes().end()}, std::move(links)).value();
}

Topology fabric(const std::string& name) {
  if (name == "punctured") return without_cable("torus:3x3x3", 0, 1);
  if (name == "punctured square") return without_cable("torus:4x3", 0, 1);
  if (name == "measured:12") return measured_ring(12, {4, 0}, 1);
  if (name == "measured:14,wide") return measured_ring(14, {3, 3}, 2);
  if (name == "genkautz cables") return cables_of("genkautz:14,3");
  return generate(name).value();
}

Schedule plan_of(const Topology& topology, std::optional<double> class_loss, std::int32_t max_classes = 0) {
  PlanOptions options;
  options.class_loss = class_loss;
  options.max_classes = max_classes;
  Result<Schedule> plan = plan_mcf_path(topology, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>());
  return std::move(plan).value();
}

DestinationClasses classes_of(const Schedule& schedule) {
  std::vector<Route> routes = schedule.routes;
  ClassLimits limits;
  limits.forwards = forwarding_nodes(schedule.topology);
  Result<DestinationClasses> classes = assign_destination_classes(schedule.topology, routes, limits);
  EXPECT_TRUE(classes.ok()) << classes.error().message;
  EXPECT_EQ(classes->rerouted, 0);
  return std::move(classes).value();
}

double rate(const Schedule& schedule) { return 1 / schedule.proof.max_link_load.to_double(); }

class CountedClasses : public testing::TestWithParam<const char*> {};

TEST_P(CountedClasses, AreNoMoreAndCostNoMoreThanAllowed) {
  const Topology topology = fabric(GetParam());
  const Schedule without = plan_of(topology, std::nullopt);
  const DestinationClasses before = classes_of(without);
  for (const double loss : {0.0, 0.05}) {
    const Schedule with = plan_of(topology, loss);
    EXPECT_GE(rate(with), rate(without) * (1 - loss) * (1 - 1e-9)) << loss;
    const DestinationClasses after = classes_of(with);
    EXPECT_LE(after.classes.size(), before.classes.size()) << loss;
    EXPECT_LE(after.layers, before.layers) << loss;
    EXPECT_TRUE(channel_dependencies_acyclic(topology, with.routes)) << loss;
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, CountedClasses,
                         testing::Values("punctured square", "random_regular:16,4,1", "random_regular:14,3,5",
                                         "twisted_hypercube:3", "hypercube:3", "mesh:3x4", "fat_tree:4,2",
                                         "measured:12", "measured:14,wide", "genkautz cables"));

// With F as it is.
TEST(CountedClasses, TwoAreEnoughWhereRoutesChosenAloneTakeMore) {
  for (const char* name : {"punctured square", "random_regular:16,4,1", "random_regular:14,3,5", "fat_tree:4,2"}) {
    const Topology topology = fabric(name);
    const Schedule without = plan_of(topology, std::nullopt);
    const Schedule with = plan_of(topology, 0);
    EXPECT_GT(classes_of(without).classes.size(), 2U) << name;
    EXPECT_LE(classes_of(with).classes.size(), 2U) << name;
    EXPECT_GE(rate(with), rate(without)) << name;
  }
}

// A ring of odd N has one shortest path for each pair, F = 8/(N² − 1). They are one tree to every destination; but they
// wait for each other all around the ring, so they take two lanes (Dally and Seitz 1987), and a class has one lane.
TEST(CountedClasses, ARingOfOddLengthTakesOneForEachOfItsTwoLanes) {
  const Schedule plan = plan_of(generate("ring:7").value(), 0);
  EXPECT_EQ(classes_of(plan).classes.size(), 2U);
  EXPECT_EQ(classes_of(plan).layers, 2);
  EXPECT_DOUBLE_EQ(rate(plan), 8.0 / 48);
}

TEST(CountedClasses, ALimitHoldsWhateverItCosts) {
  for (const char* name : {"punctured square", "random_regular:16,4,1", "hypercube:3"}) {
    const Topology topology = fabric(name);
    const Schedule without = plan_of(topology, std::nullopt);
    const Schedule with = plan_of(topology, 0, 1);
    EXPECT_EQ(classes_of(with).classes.size(), 1U) << name;
    // One path for each pair, in one lane: at most what the best plan reaches, and not next to nothing.
    EXPECT_LE(rate(with), rate(without) * (1 + 1e-9)) << name;
    EXPECT_GE(rate(with), rate(without) / 4) << name;
  }
}

TEST(CountedClasses, ALimitOnRoutesOfAPairIsKept) {
  const Topology topology = fabric("punctured");
  PlanOptions options;
  options.class_loss = 0.1;
  options.max_routes = 1;
  const Result<Schedule> plan = plan_mcf_path(topology, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(verify(*plan), std::vector<std::string>());
  EXPECT_EQ(plan->routes.size(), at(topology.host_count() * (topology.host_count() - 1)));
}

TEST(CountedClasses, DemandsAreWhatLoadsAreMadeOf) {
  const Topology topology = fabric("random_regular:14,3,5");
  const std::int32_t hosts = topology.host_count();
  PlanOptions options;
  options.demand.assign(at(hosts * hosts), 0.0);
  for (NodeId s = 0; s < hosts; ++s) {
    for (NodeId d = 0; d < hosts; ++d) {
      if (s != d) options.demand[at(s * hosts + d)] = (s + d) % 3 / 2.0;
    }
  }
  const Result<Schedule> without = plan_mcf_path(topology, options);
  options.class_loss = 0.05;
  const Result<Schedule> with = plan_mcf_path(topology, options);
  ASSERT_TRUE(without.ok()) << without.error().message;
  ASSERT_TRUE(with.ok()) << with.error().message;
  EXPECT_EQ(verify(*with), std::vector<std::string>());
  EXPECT_LE(classes_of(*with).classes.size(), classes_of(*without).classes.size());
  const auto load = [&](const Schedule& schedule) {
    std::vector<double> loads(at(topology.link_count()), 0);
    for (const Transfer& transfer : schedule.transfers) {
      for (const LinkId link : schedule.routes[at(transfer.route)].links) {
        loads[at(link)] +=
            options.demand[at(transfer.from * hosts + transfer.to)] * transfer.chunk_count / schedule.chunks_per_shard;
      }
    }
    return *std::max_element(loads.begin(), loads.end());
  };
  EXPECT_LE(load(*with), load(*without) / 0.95 * (1 + 1e-9));
}

// Two pairs that cannot share a tree: 0 → 3 and 1 → 3 over the same node 2, where the fabric 2 ⇉ 3 has two ways of one
// unit each. One class holds both on one way with a load of 2; two classes hold them with a load of 1.
TEST(DestinationTrees, PartWhereTheLoadAsksForIt) {
  std::vector<Link> links;
  const auto cable = [&](NodeId a, NodeId b) {
    links.push_back({a, b});
    links.push_back({b, a});
  };
  cable(0, 2);
  cable(1, 2);
  cable(2, 4);
  cable(2, 5);
  cable(4, 3);
  cable(5, 3);
  const Topology topology = Topology::make("two ways", numbered_nodes(6), std::move(links)).value();
  const std::vector<PairDemand> pairs = {{0, 3, 1, 1.0}, {1, 3, 1, 1.0}};
  TreeLimits limits;
  limits.forwards.assign(6, true);
  limits.lanes = {0};
  // Towards node 3 every link is later than those before it: by the distance of its end.
  limits.orders.emplace_back();
  const std::vector<std::int32_t> distance = {3, 3, 2, 0, 1, 1};
  for (const Link& link : topology.links()) {
    const bool down = distance[at(link.to)] < distance[at(link.from)];
    limits.orders[0].push_back(down ? 10 - distance[at(link.to)] : distance[at(link.to)] - 10);
  }
  std::int64_t effort = 1'000'000;
  limits.load = 1;
  EXPECT_FALSE(route_in_trees(topology, pairs, limits, effort).has_value());
  limits.load = 2;
  EXPECT_TRUE(route_in_trees(topology, pairs, limits, effort).has_value());
  limits.load = 1;
  limits.lanes = {0, 0};
  const std::optional<TreeRoutes> parted = route_in_trees(topology, pairs, limits, effort);
  ASSERT_TRUE(parted.has_value());
  ASSERT_EQ(parted->routes.size(), 2U);
  EXPECT_NE(parted->routes[0].links[1], parted->routes[1].links[1]);
  EXPECT_NE(parted->routes[0].route_class, parted->routes[1].route_class);
  std::int64_t little = 1;
  EXPECT_FALSE(route_in_trees(topology, pairs, limits, little).has_value());
  EXPECT_LE(little, 0);
}

}  // namespace
}  // namespace libcoll::fewer_classes_test
