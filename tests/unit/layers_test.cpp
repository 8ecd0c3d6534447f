// Virtual lanes by each method, checked by the independent channel-dependency test, and forwarding tables.
#include "planner/route/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "planner/route/dfsssp.h"
#include "planner/route/forwarding_table.h"
#include "planner/route/layer_rerouting.h"
#include "planner/route/sssp.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"

namespace libcoll::layers_test {

using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

const std::vector<LayerMethod>& single_methods() {
  static const std::vector<LayerMethod> methods = {LayerMethod::lash, LayerMethod::lash_longest,
                                                   LayerMethod::lash_shortest, LayerMethod::lash_destination,
                                                   LayerMethod::dfsssp};
  return methods;
}

std::int32_t layers_used(const std::vector<Route>& routes) {
  std::set<std::int32_t> used;
  for (const Route& route : routes) used.insert(route.layer);
  EXPECT_EQ(*used.begin(), 0);
  EXPECT_EQ(*used.rbegin() + 1, static_cast<std::int32_t>(used.size()));
  return static_cast<std::int32_t>(used.size());
}

TEST(Layers, EveryMethodIsDeadlockFreeAndAutoTakesTheFewest) {
  std::vector<Topology> topologies = {generate("torus:4x4").value(), generate("genkautz:27,4").value(),
                                      generate("ring:7").value(), generate("hypercube:4").value()};
  for (std::uint32_t seed = 1; seed <= 6; ++seed) topologies.push_back(random_regular(16, 3, seed));
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    std::vector<Route> routes = sssp_routes(topology).value();
    std::int32_t fewest = 1000;
    for (const LayerMethod method : single_methods()) {
      const Layers layers = assign_layers_by(method, topology, routes);
      EXPECT_EQ(layers.method, method);
      EXPECT_EQ(layers.count, layers_used(routes));
      EXPECT_TRUE(channel_dependencies_acyclic(topology, routes)) << to_string(method);
      fewest = std::min(fewest, layers.count);
    }
    const Layers best = assign_layers_by(LayerMethod::automatic, topology, routes);
    EXPECT_EQ(best.count, fewest);
    EXPECT_EQ(best.count, layers_used(routes));
    EXPECT_NE(best.method, LayerMethod::automatic);
    EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
    EXPECT_LE(best.count, 4);  // paper 003 §5.5
  }
}

TEST(Dfsssp, BreaksACycleAtItsWeakestDependency) {
  // Three routes of two hops around a one-way ring of four make no cycle; the fourth closes it, and the dependency that
  // only it makes is the weakest, as the others are made twice.
  const Topology ring = generate("uniring:4").value();
  const auto hop = [&](NodeId from) { return ring.find_link(from % 4, (from + 1) % 4); };
  std::vector<Route> routes;
  for (NodeId from = 0; from < 3; ++from) {
    for (int twice = 0; twice < 2; ++twice) {
      routes.push_back({from, (from + 2) % 4, {hop(from), hop(from + 1)}, 0, 0});
    }
  }
  std::vector<Route> acyclic = routes;
  EXPECT_EQ(break_cycles(ring, acyclic), 1);
  routes.push_back({3, 1, {hop(3), hop(0)}, 0, 0});
  EXPECT_EQ(break_cycles(ring, routes), 2);
  for (const Route& route : routes) EXPECT_EQ(route.layer, route.source == 3 ? 1 : 0);
  EXPECT_TRUE(channel_dependencies_acyclic(ring, routes));
  std::vector<Route> none;
  EXPECT_EQ(break_cycles(ring, none), 0);
}

TEST(LayerRerouting, KeepsTheLoadWithinWhatIsAcceptedInFewerLayers) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_regular(40, 4, seed);
    const std::vector<Route> before = sssp_routes(topology).value();
    const std::vector<double> amount(before.size(), 3);
    const auto load_of = [&](const std::vector<Route>& routes) {
      std::vector<double> load(topology.links().size(), 0);
      for (const Route& route : routes) {
        for (const LinkId link : route.links) load[static_cast<std::size_t>(link)] += 3;
      }
      return *std::max_element(load.begin(), load.end());
    };
    std::vector<Route> routes = before;
    const std::int32_t layers = assign_layers_by(LayerMethod::automatic, topology, routes).count - 1;
    ASSERT_GE(layers, 1);
    routes = before;
    EXPECT_FALSE(reroute_into_layers(topology, routes, amount, layers, -1));
    EXPECT_EQ(routes, before);
    const std::optional<Rerouting> done = reroute_into_layers(topology, routes, amount, layers, 0.25);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->load_before, load_of(before));
    EXPECT_EQ(done->load, load_of(routes));
    EXPECT_LE(done->load, 1.25 * done->load_before);
    EXPECT_LE(layers_used(routes), layers);
    EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
    std::int64_t rerouted = 0;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      rerouted += routes[i].links == before[i].links ? 0 : 1;
      NodeId node = before[i].source;
      for (const LinkId link : routes[i].links) {
        EXPECT_EQ(topology.link(link).from, node);
        node = topology.link(link).to;
      }
      EXPECT_EQ(node, before[i].destination);
    }
    EXPECT_EQ(rerouted, done->rerouted);
    EXPECT_GT(rerouted, 0);
  }
}

TEST(LayerRerouting, EvensOutRoutesWithinTheirLayers) {
  // Single shortest paths leave some links far fuller than others; their orders allow for better ones.
  for (const char* specification : {"random_regular:120,4,1", "xpander:4,24,1", "genkautz:120,4"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    std::vector<Route> routes = sssp_routes(topology).value();
    const std::vector<double> amount(routes.size(), 1);
    const std::optional<Rerouting> done = reroute_into_layers(topology, routes, amount, 3, 0);
    ASSERT_TRUE(done);
    EXPECT_LT(done->load, 0.85 * done->load_before);
    EXPECT_LE(layers_used(routes), 3);
    EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
  }
}

TEST(Layers, NamesAreRead) {
  EXPECT_EQ(*parse_layer_method("auto"), LayerMethod::automatic);
  for (const LayerMethod method : single_methods()) {
    EXPECT_EQ(*parse_layer_method(to_string(method)), method);
  }
  EXPECT_NE(parse_layer_method("fewest").error().message.find("expected auto, lash"), std::string::npos);
}

TEST(ForwardingTable, ItsPortsLeadFromSourceToDestination) {
  const Topology topology = generate("genkautz:12,3").value();
  std::vector<Route> routes = sssp_routes(topology).value();
  std::istringstream table(write_forwarding_table(topology, routes));
  std::string line;
  ASSERT_TRUE(std::getline(table, line));
  EXPECT_EQ(line, "source,destination,route,layer,egress_ports");
  for (const Route& route : routes) {
    ASSERT_TRUE(std::getline(table, line));
    std::istringstream fields(line);
    std::vector<std::string> field(5);
    for (std::string& text : field) std::getline(fields, text, ',');
    EXPECT_EQ(field[0], topology.node(route.source).name);
    EXPECT_EQ(field[1], topology.node(route.destination).name);
    EXPECT_EQ(field[2], "1");
    EXPECT_EQ(field[3], std::to_string(route.layer));
    std::istringstream ports(field[4]);
    NodeId node = route.source;
    for (std::size_t port = 0; ports >> port;) {
      ASSERT_GE(port, 1U);
      ASSERT_LE(port, topology.out_links(node).size());
      node = topology.link(topology.out_links(node)[port - 1]).to;
    }
    EXPECT_EQ(node, route.destination);
  }
  EXPECT_FALSE(std::getline(table, line));
}

TEST(ForwardingTable, CountsRoutesOfAPairAndQuotesNames) {
  std::vector<Node> nodes = numbered_nodes(3);
  nodes[0].name = "rack 1, \"top\"";
  const Topology topology = Topology::make("named", nodes, {{0, 1}, {0, 2}, {2, 1}, {1, 0}, {1, 2}, {2, 0}}).value();
  const std::vector<Route> routes = {{0, 1, {0}, 0, 0}, {0, 1, {1, 2}, 3, 0}, {1, 0, {3}, 0, 7}};
  EXPECT_EQ(write_forwarding_table(topology, routes),
            "source,destination,route,layer,egress_ports\n"
            "\"rack 1, \"\"top\"\"\",1,1,0,1\n"
            "\"rack 1, \"\"top\"\"\",1,2,3,2 1\n"
            "1,\"rack 1, \"\"top\"\"\",7,0,1\n");
}

}  // namespace
}  // namespace libcoll::layers_test
