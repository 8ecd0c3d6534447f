// SSSP routes: minimal, in-trees, balanced by what was laid before, and never better than the optimum.
#include "planner/route/sssp.h"

#include <limits>

#include "planner/flow/baseline/single_path.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/route_checks.h"

namespace libcoll::sssp_test {

using namespace flow::baseline;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// Three hosts on two switches, host 0 with a cable to both.
Topology two_switches() {
  std::vector<Node> nodes = numbered_nodes(5);
  nodes[3].is_switch = nodes[4].is_switch = true;
  std::vector<Link> links;
  for (const auto& [a, b] : {std::pair{0, 3}, {0, 4}, {1, 3}, {2, 4}, {3, 4}}) {
    links.push_back({a, b});
    links.push_back({b, a});
  }
  return Topology::make("two switches", nodes, links).value();
}

std::vector<Topology> topologies() {
  std::vector<Topology> list = {two_switches(), random_regular(11, 2, 3), random_regular(16, 3, 4)};
  for (const char* specification :
       {"torus:3x3x3", "torus:4x4", "hypercube:3", "twisted_hypercube:3", "complete_bipartite:4,4", "genkautz:16,4",
        "mesh:4x4", "uniring:5", "ring:2", "random_regular:16,4,1"}) {
    list.push_back(generate(specification).value());
  }
  return list;
}

TEST(Sssp, GivesOneShortestPathPerPair) {
  for (const Topology& topology : topologies()) {
    SCOPED_TRACE(topology.name());
    const auto routes = sssp_routes(topology);
    ASSERT_TRUE(routes.ok()) << routes.error().message;
    expect_one_shortest_path_per_pair(topology, *routes);
    for (const Route& route : *routes) EXPECT_EQ(route.route_class, 0);
  }
}

TEST(Sssp, RoutesToADestinationFormAnInTree) {
  for (const Topology& topology : topologies()) {
    SCOPED_TRACE(topology.name());
    std::vector<Route> routes = sssp_routes(topology).value();
    std::map<std::pair<NodeId, NodeId>, LinkId> next;  // (destination, node) → link
    for (const Route& route : routes) {
      for (const LinkId link : route.links) {
        const auto [known, is_new] = next.emplace(std::pair(route.destination, topology.link(link).from), link);
        EXPECT_EQ(known->second, link) << "to " << route.destination;
      }
    }
    EXPECT_EQ(assign_route_classes(topology, routes, Forwarding::by_destination), 1);
    expect_forwarding_reproduces(topology, routes, Forwarding::by_destination);
  }
}

TEST(Sssp, LayersCannotDeadlock) {
  for (const Topology& topology : topologies()) {
    EXPECT_TRUE(channel_dependencies_acyclic(topology, sssp_routes(topology).value())) << topology.name();
  }
  // All shortest paths of a one-way ring in one lane are the classic deadlock (Dally and Seitz 1987).
  std::vector<Route> routes = sssp_routes(generate("uniring:5").value()).value();
  EXPECT_TRUE(std::any_of(routes.begin(), routes.end(), [](const Route& route) { return route.layer > 0; }));
}

/// Least sum of weights over shortest paths, by relaxing all links until nothing changes.
std::vector<std::int64_t> least_weights(const Topology& topology, const DistanceMatrix& hops,
                                        const std::vector<std::int64_t>& weights, NodeId destination) {
  const auto to = static_cast<std::size_t>(destination);
  std::vector<std::int64_t> least(static_cast<std::size_t>(topology.node_count()),
                                  std::numeric_limits<std::int64_t>::max() / 2);
  least[to] = 0;
  for (std::int32_t round = 0; round < topology.node_count(); ++round) {
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      const auto from = static_cast<std::size_t>(topology.link(id).from);
      const auto via = static_cast<std::size_t>(topology.link(id).to);
      if (hops[from][to] != hops[via][to] + 1) continue;
      least[from] = std::min(least[from], least[via] + weights[static_cast<std::size_t>(id)]);
    }
  }
  return least;
}

// The definition (Hoefler, Schneider, Lumsdaine 2009), replayed with another shortest-path algorithm.
TEST(Sssp, EveryPathIsTheLightestUnderThePathsToEarlierDestinations) {
  for (const Topology& topology : topologies()) {
    SCOPED_TRACE(topology.name());
    const std::vector<Route> routes = sssp_routes(topology).value();
    const DistanceMatrix hops = hop_distances(topology);
    std::vector<std::int64_t> weights(topology.links().size(), 0);  // all links are equal here
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      const std::vector<std::int64_t> least = least_weights(topology, hops, weights, destination);
      std::vector<LinkId> laid;
      for (const Route& route : routes) {
        if (route.destination != destination) continue;
        std::int64_t weight = 0;
        for (const LinkId link : route.links) weight += weights[static_cast<std::size_t>(link)];
        EXPECT_EQ(weight, least[static_cast<std::size_t>(route.source)]) << route.source << "->" << destination;
        laid.insert(laid.end(), route.links.begin(), route.links.end());
      }
      for (const LinkId link : laid) ++weights[static_cast<std::size_t>(link)];
    }
  }
}

TEST(Sssp, FasterLinksTakeMorePaths) {
  // Host 0 reaches hosts 1 to 4 through switch 5 over a link of three units or through switch 6 over one of one: paths
  // are laid where a further one costs least per unit, so three go one way and one the other.
  std::vector<Node> nodes = numbered_nodes(7);
  nodes[5].is_switch = nodes[6].is_switch = true;
  std::vector<Link> links = {{0, 5, 3 * default_bandwidth_bytes_per_second}, {0, 6}, {5, 0}, {6, 0}};
  for (NodeId host = 1; host < 5; ++host) {
    for (const NodeId middle : {5, 6}) {
      links.push_back({host, middle});
      links.push_back({middle, host});
    }
  }
  const Topology topology = Topology::make("uneven", nodes, links).value();
  std::int32_t over_the_fast_link = 0;
  const std::vector<Route> routes = sssp_routes(topology).value();
  for (const Route& route : routes) over_the_fast_link += route.source == 0 && route.links.front() == 0 ? 1 : 0;
  EXPECT_EQ(over_the_fast_link, 3);
}

TEST(Sssp, RefusesWhatIsNotConnected) {
  const Topology one_way = Topology::make("one-way", numbered_nodes(3), {{0, 1}, {1, 0}, {0, 2}}).value();
  const auto routes = sssp_routes(one_way);
  ASSERT_FALSE(routes.ok());
  EXPECT_NE(routes.error().message.find("no path from node '2' to node '0'"), std::string::npos)
      << routes.error().message;
  EXPECT_FALSE(sssp_routes(Topology::make("alone", numbered_nodes(1), {}).value()).ok());
}

TEST(SsspPlan, IsOneChunkPerPairAndNeverBeatsTheOptimum) {
  for (const char* specification : {"random_regular:16,4,1", "random_regular:16,4,2", "random_regular:16,4,3",
                                    "genkautz:16,4", "twisted_hypercube:3", "complete_bipartite:4,4", "torus:3x3"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const Result<Schedule> plan = plan_sssp(topology, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(verify(*plan), std::vector<std::string>{});
    EXPECT_EQ(plan->algorithm, "sssp");
    EXPECT_EQ(plan->chunks_per_shard, 1);
    EXPECT_EQ(plan->steps, 1);
    EXPECT_EQ(plan->transfers.size(), plan->routes.size());
    for (const Route& route : plan->routes) EXPECT_EQ(route.route_class, 1);
    const Proof& proof = plan->proof;
    EXPECT_EQ(proof.max_link_load, Rational(largest_count(topology, plan->routes)));
    EXPECT_EQ(proof.bandwidth_time, Rational(degree(topology), topology.host_count()) * proof.max_link_load);
    EXPECT_LE(proof.bandwidth_bound, proof.bandwidth_time);
    EXPECT_LE(proof.flow, proof.flow_upper_bound);
    EXPECT_NEAR(proof.flow * proof.max_link_load.to_double(), 1, 1e-12);
  }
}

// In K(4,4) the 24·2 + 32·1 hops spread evenly over the 32 links, 5/2 on each; whole paths load a link with 3 at least.
TEST(SsspPlan, CarriesTheCertificateOfTheOptimum) {
  const Schedule plan = plan_sssp(generate("complete_bipartite:4,4").value(), {}).value();
  EXPECT_NEAR(plan.proof.flow_upper_bound, 0.4, 1e-9);
  EXPECT_EQ(plan.proof.bandwidth_bound, Rational(5, 4));
  EXPECT_GE(plan.proof.max_link_load, Rational(3));
}

}  // namespace
}  // namespace libcoll::sssp_test
