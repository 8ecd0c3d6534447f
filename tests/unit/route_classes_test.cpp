// Classes of routes: as few as a pair needs, and enough that tables built from them follow every planned path.
#include "planner/route/route_classes.h"

#include "planner/flow/mcf.h"
#include "planner/topology/generators.h"
#include "tests/unit/route_checks.h"

namespace libcoll::route_classes_test {

using namespace flow;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// The route through these nodes.
Route through(const Topology& topology, const std::vector<NodeId>& nodes) {
  Route route{nodes.front(), nodes.back(), {}, 0, 0};
  for (std::size_t i = 1; i < nodes.size(); ++i) route.links.push_back(topology.find_link(nodes[i - 1], nodes[i]));
  return route;
}

std::vector<std::int32_t> classes_of(const std::vector<Route>& routes) {
  std::vector<std::int32_t> classes;
  classes.reserve(routes.size());
  for (const Route& route : routes) classes.push_back(route.route_class);
  return classes;
}

TEST(RouteClasses, NoRoutesNeedNone) {
  EXPECT_EQ(assign_route_classes(generate("ring:4").value(), {}), 0);
  EXPECT_EQ(assign_route_classes(generate("ring:4").value(), {}, Forwarding::by_destination), 0);
}

TEST(RouteClasses, BothWaysAroundARingNeedTwo) {
  const Topology ring = generate("ring:4").value();
  for (const Forwarding forwarding : {Forwarding::by_source, Forwarding::by_destination}) {
    std::vector<Route> routes = {through(ring, {0, 1, 2}), through(ring, {0, 3, 2})};
    EXPECT_EQ(assign_route_classes(ring, routes, forwarding), 2);
    EXPECT_NE(routes[0].route_class, routes[1].route_class);
    expect_forwarding_reproduces(ring, routes, forwarding);
  }
}

TEST(RouteClasses, PathsToOneDestinationThatPartConflictByDestinationOnly) {
  // At node 1 the first goes on to 3 and the second to 2; at node 2 the second goes to 3 and the third to 1. The first
  // and the third agree, so the conflicts are a path of three vertices: two colours, the ends alike.
  const Topology complete = generate("complete:5").value();
  const std::vector<Route> routes = {through(complete, {0, 1, 3}), through(complete, {4, 1, 2, 3}),
                                     through(complete, {2, 1, 3})};
  std::vector<Route> by_source = routes;
  EXPECT_EQ(assign_route_classes(complete, by_source), 1);
  expect_forwarding_reproduces(complete, by_source, Forwarding::by_source);
  std::vector<Route> by_destination = routes;
  EXPECT_EQ(assign_route_classes(complete, by_destination, Forwarding::by_destination), 2);
  EXPECT_EQ(by_destination[0].route_class, by_destination[2].route_class);
  expect_forwarding_reproduces(complete, by_destination, Forwarding::by_destination);
}

TEST(RouteClasses, PathsThatOnlyCrossOnTheWayToDifferentDestinationsShareAClass) {
  const Topology complete = generate("complete:5").value();
  std::vector<Route> routes = {through(complete, {0, 1, 3}), through(complete, {0, 1, 4}),
                               through(complete, {2, 1, 0})};
  EXPECT_EQ(assign_route_classes(complete, routes, Forwarding::by_destination), 1);
  expect_forwarding_reproduces(complete, routes, Forwarding::by_destination);
}

TEST(RouteClasses, APathGivenTwiceHasOneClass) {
  const Topology ring = generate("ring:4").value();
  for (const Forwarding forwarding : {Forwarding::by_source, Forwarding::by_destination}) {
    std::vector<Route> routes = {through(ring, {0, 1, 2}), through(ring, {0, 3, 2}), through(ring, {0, 1, 2})};
    routes[2].layer = 1;
    EXPECT_EQ(assign_route_classes(ring, routes, forwarding), 2);
    EXPECT_EQ(routes[0].route_class, routes[2].route_class);
    EXPECT_EQ(routes[2].layer, 1);
  }
}

TEST(RouteClasses, OldClassesDoNotMatter) {
  const Topology ring = generate("ring:4").value();
  std::vector<Route> routes = {through(ring, {0, 1, 2}), through(ring, {0, 3, 2}), through(ring, {1, 2})};
  assign_route_classes(ring, routes);
  const std::vector<std::int32_t> fresh = classes_of(routes);
  for (Route& route : routes) route.route_class = 7;
  assign_route_classes(ring, routes);
  EXPECT_EQ(classes_of(routes), fresh);
}

// K paths of one pair over K nodes in between exclude one another in both ways of forwarding: exactly K classes.
TEST(RouteClasses, DisjointPathsOfAPairNeedOneClassEach) {
  const Topology bipartite = generate("complete_bipartite:2,6").value();
  for (const Forwarding forwarding : {Forwarding::by_source, Forwarding::by_destination}) {
    std::vector<Route> routes;
    for (NodeId middle = 2; middle < 8; ++middle) routes.push_back(through(bipartite, {0, middle, 1}));
    EXPECT_EQ(assign_route_classes(bipartite, routes, forwarding), 6);
    expect_forwarding_reproduces(bipartite, routes, forwarding);
  }
}

TEST(RouteClasses, OfPlannedRoutesAreAsFewAsThePairWithMostPathsAllows) {
  PlanOptions options;
  options.max_chunks = 8;
  options.chunk_loss = 1e-6;
  for (const char* specification : {"ring:8", "complete_bipartite:4,4", "genkautz:16,4", "genkautz:11,2", "mesh:3x4",
                                    "torus:3x3x2", "random_regular:14,3,5", "random_regular:16,4,1"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const Result<Schedule> plan = plan_mcf_path(topology, options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    expect_forwarding_reproduces(topology, plan->routes, Forwarding::by_source);
    std::vector<Route> routes = plan->routes;
    EXPECT_EQ(assign_route_classes(topology, routes), most_paths_of_a_pair(plan->routes));
    EXPECT_EQ(routes, plan->routes);  // the planner assigns by source
    const std::int32_t by_destination = assign_route_classes(topology, routes, Forwarding::by_destination);
    EXPECT_GE(by_destination, most_paths_of_a_pair(routes));
    expect_forwarding_reproduces(topology, routes, Forwarding::by_destination);
    const std::vector<std::int32_t> classes = classes_of(routes);
    EXPECT_EQ(*std::max_element(classes.begin(), classes.end()), by_destination);
  }
}

}  // namespace
}  // namespace libcoll::route_classes_test
