// Classes for forwarding by destination: complete tables that follow every route and cannot deadlock.
#include "planner/route/destination_classes.h"

#include <gtest/gtest.h>

#include "planner/base/index.h"
#include "planner/flow/mcf.h"
#include "planner/route/table_completion.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/topology/generators.h"
#include "tests/unit/route_checks.h"

namespace libcoll::destination_classes_test {

using namespace flow;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

/// Every path of every table, as routes in the layer of the class: what any message can do, answers included. Between
/// hosts every path has to be there.
std::vector<Route> all_paths(const Topology& topology, const DestinationClasses& result) {
  std::vector<Route> paths;
  for (const DestinationClass& table : result.classes) {
    for (NodeId destination = 0; destination < topology.node_count(); ++destination) {
      for (NodeId source = 0; source < topology.node_count(); ++source) {
        Route path{source, destination, {}, table.layer, 0};
        const bool hosts = !topology.node(source).is_switch && !topology.node(destination).is_switch;
        if (!hosts && source != destination && table.next[at(destination)][at(source)] == no_entry) continue;
        for (NodeId node = source; node != destination; node = topology.link(path.links.back()).to) {
          path.links.push_back(table.next[at(destination)][at(node)]);
          if (path.links.back() == no_entry) {
            ADD_FAILURE() << "no way from " << source << " to " << destination;
            return paths;
          }
          if (path.links.size() > at(topology.node_count())) {
            ADD_FAILURE() << "a loop on the way from " << source << " to " << destination;
            return paths;
          }
        }
        paths.push_back(std::move(path));
      }
    }
  }
  return paths;
}

void expect_right(const Topology& topology, const DestinationClasses& result, const std::vector<Route>& routes) {
  EXPECT_TRUE(channel_dependencies_acyclic(topology, all_paths(topology, result)));
  for (const Route& route : routes) {
    ASSERT_GE(route.route_class, 1);
    ASSERT_LE(at(route.route_class), result.classes.size());
    const DestinationClass& table = result.classes[at(route.route_class) - 1];
    EXPECT_EQ(route.layer, table.layer);
    EXPECT_LT(route.layer, result.layers);
    for (const LinkId link : route.links) {
      EXPECT_EQ(table.next[at(route.destination)][at(topology.link(link).from)], link);
    }
  }
}

Schedule plan_of(const Topology& topology) {
  PlanOptions options;
  options.max_chunks = 8;
  Result<Schedule> plan = plan_mcf_path(topology, options);
  EXPECT_TRUE(plan.ok());
  return std::move(plan).value();
}

class OfPlans : public testing::TestWithParam<const char*> {};

TEST_P(OfPlans, EveryRouteIsKeptAndWholeTablesHaveNoCycle) {
  const Topology topology = generate(GetParam()).value();
  std::vector<Route> routes = plan_of(topology).routes;
  const std::vector<Route> planned = routes;
  const Result<DestinationClasses> result = assign_destination_classes(topology, routes, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  expect_right(topology, *result, routes);
  EXPECT_EQ(result->rerouted, 0);
  for (std::size_t i = 0; i < routes.size(); ++i) EXPECT_EQ(routes[i].links, planned[i].links);
}

INSTANTIATE_TEST_SUITE_P(Topologies, OfPlans,
                         testing::Values("torus:3x3x3", "twisted_hypercube:3", "random_regular:16,4,1", "hypercube:3",
                                         "ring:8", "torus:4x4", "mesh:3x4", "complete_bipartite:4,4", "fat_tree:4,2",
                                         "random_regular:14,3,5", "torus:5x5"));

// On a fat tree all routes go up and then down, on a complete graph none has a second link: one lane is enough (Dally
// and Seitz 1987).
TEST(DestinationClasses, OneLaneIsEnoughWhereTheoryHasIt) {
  for (const char* specification : {"fat_tree:4,2", "fat_tree:2,3", "complete:6"}) {
    const Topology topology = generate(specification).value();
    std::vector<Route> routes = plan_of(topology).routes;
    EXPECT_EQ(assign_destination_classes(topology, routes, {})->layers, 1) << specification;
  }
}

TEST(DestinationClasses, LmcIsAsSmallAsWillDo) {
  EXPECT_EQ(lmc_for(1), 0);
  EXPECT_EQ(lmc_for(2), 1);
  EXPECT_EQ(lmc_for(3), 2);
  EXPECT_EQ(lmc_for(128), 7);
}

TEST(DestinationClasses, ARouteThroughAHostThatDoesNotForwardIsRefused) {
  const Topology ring = generate("ring:4").value();
  std::vector<Route> routes = {{0, 2, {ring.find_link(0, 1), ring.find_link(1, 2)}, 0, 0}};
  ClassLimits limits;
  limits.forwards = {true, false, true, true};
  const Result<DestinationClasses> result = assign_destination_classes(ring, routes, limits);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "found a route from '0' to '2' through '1', expected none through a host, which does not forward");
}

TEST_P(OfPlans, OneClassIsAFullTableOfItsOwn) {
  const Topology topology = generate(GetParam()).value();
  std::vector<Route> routes = plan_of(topology).routes;
  ClassLimits limits;
  limits.classes = 1;
  const Result<DestinationClasses> result = assign_destination_classes(topology, routes, limits);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->classes.size(), 1U);
  EXPECT_EQ(result->layers, 1);
  expect_right(topology, *result, routes);
}

}  // namespace
}  // namespace libcoll::destination_classes_test
