// Forwarding state of the emulated fabric: the text that `ip` is given is interpreted as the kernel would and followed
// hop by hop. Expected paths are the routes themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/configuration.h"
#include "libcoll/fabric/fabric.h"
#include "libcoll/fabric/forwarding.h"
#include "planner/base/index.h"
#include "planner/route/dor.h"
#include "planner/route/sssp.h"
#include "planner/topology/reader.h"

namespace libcoll::fabric_forwarding_test {

using namespace fabric;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

Topology make(const std::string& specification) { return load_topology(specification).value(); }

/// The routing policy of one node, as far as our text uses it.
class Router {
 public:
  explicit Router(const std::string& batch) {
    std::istringstream lines(batch);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream stream(line);
      std::vector<std::string> words;
      for (std::string word; stream >> word;) words.push_back(word);
      if (words[1] == "flush") continue;
      if (words[0] == "rule") {
        EXPECT_EQ(words[2], "from");
        EXPECT_TRUE(rules_.emplace(words[3], after(words, "lookup")).second) << line;
      } else {
        EXPECT_EQ(words[0] + " " + words[1], "route add");
        const std::string table = after(words, "table");
        EXPECT_NE(std::find(words.begin(), words.end(), "onlink"), words.end());
        EXPECT_EQ(after(words, "rto_min"), "3s");
        EXPECT_TRUE(tables_[table.empty() ? "main" : table].emplace(words[2], after(words, "dev")).second) << line;
        if (table.empty()) sources_[words[2]] = after(words, "src");
      }
    }
  }

  /// The device for a packet: the table of its source first, then the main table; empty when unreachable.
  [[nodiscard]] std::string device(const std::string& source, const std::string& destination) const {
    if (const auto rule = rules_.find(source); rule != rules_.end()) {
      const auto& table = tables_.at(rule->second);
      if (const auto found = table.find(destination); found != table.end()) return found->second;
    }
    const auto& table = tables_.at("main");
    const auto found = table.find(destination);
    return found == table.end() ? std::string() : found->second;
  }

  /// The source address of a socket that has chosen none.
  [[nodiscard]] std::string source(const std::string& destination) const { return sources_.at(destination); }
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }

 private:
  static std::string after(const std::vector<std::string>& words, const std::string& key) {
    const auto found = std::find(words.begin(), words.end(), key);
    return found == words.end() ? std::string() : *(found + 1);
  }

  std::map<std::string, std::string> rules_;
  std::map<std::string, std::map<std::string, std::string>> tables_;
  std::map<std::string, std::string> sources_;
};

struct Fabric {
  Topology topology;
  ForwardingTables tables;
  std::vector<Router> routers;
};

Fabric build(const Topology& topology, const std::vector<Route>& defaults, const std::vector<Route>& planned,
             std::int32_t classes) {
  Result<ForwardingTables> tables = forwarding_tables(topology, defaults, planned, classes);
  EXPECT_TRUE(tables.ok()) << tables.error().message;
  Fabric fabric{topology, *tables, {}};
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    fabric.routers.emplace_back(route_batch(*tables, topology, node));
  }
  return fabric;
}

/// Where such a packet goes from `node`; -1 when the tables do not say.
NodeId next_hop(const ForwardingTables& tables, NodeId node, std::int32_t route_class, NodeId source,
                NodeId destination) {
  for (const SourceHop& hop : tables.by_source[at(node)]) {
    if (hop == SourceHop{route_class, source, destination, hop.next}) return hop.next;
  }
  return tables.by_destination[at(node)][at(destination)];
}

/// The nodes a packet passes; stops at an unreachable destination or after more hops than there are nodes.
std::vector<NodeId> follow(const Fabric& fabric, std::int32_t route_class, NodeId source, NodeId destination) {
  std::vector<NodeId> passed = {source};
  while (passed.back() != destination && passed.size() <= fabric.routers.size()) {
    const Router& router = fabric.routers[at(passed.back())];
    const std::string device =
        router.device(class_address(route_class, source), class_address(route_class, destination));
    if (device.empty()) break;
    const NodeId next = std::stoi(device.substr(1));
    EXPECT_EQ(device, link_device(next));
    EXPECT_GE(fabric.topology.find_link(passed.back(), next), 0);
    EXPECT_EQ(next, next_hop(fabric.tables, passed.back(), route_class, source, destination));
    passed.push_back(next);
  }
  return passed;
}

std::vector<NodeId> nodes_of(const Topology& topology, const Route& route) {
  std::vector<NodeId> nodes = {route.source};
  for (const LinkId id : route.links) nodes.push_back(topology.link(id).to);
  return nodes;
}

/// A random walk without repetition from source to destination; empty when it got stuck.
Route random_route(const Topology& topology, NodeId source, NodeId destination, std::mt19937& random) {
  Route route{source, destination, {}, 0, 0};
  std::set<NodeId> passed = {source};
  NodeId at = source;
  while (at != destination) {
    std::vector<LinkId> ways;
    for (const LinkId id : topology.out_links(at)) {
      if (passed.count(topology.link(id).to) == 0) ways.push_back(id);
    }
    if (ways.empty()) return {};
    const LinkId id = ways[random() % ways.size()];
    route.links.push_back(id);
    at = topology.link(id).to;
    passed.insert(at);
  }
  return route;
}

/// About two of three pairs get a random path in each class.
std::vector<Route> random_routes(const Topology& topology, std::int32_t classes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Route> routes;
  for (std::int32_t k = 1; k <= classes; ++k) {
    for (NodeId s = 0; s < topology.host_count(); ++s) {
      for (NodeId d = 0; d < topology.host_count(); ++d) {
        if (s == d || random() % 3 == 0) continue;
        Route route = random_route(topology, s, d, random);
        route.route_class = k;
        if (!route.links.empty()) routes.push_back(route);
      }
    }
  }
  return routes;
}

/// Every pair in every class goes its planned path, or its default path where none is planned.
void expect_exact_paths(const Topology& topology, const std::vector<Route>& defaults, std::int32_t classes) {
  const std::vector<Route> planned = random_routes(topology, classes, 7);
  ASSERT_GT(planned.size(), 0U);
  const Fabric fabric = build(topology, defaults, planned, classes);
  std::map<std::tuple<std::int32_t, NodeId, NodeId>, std::vector<NodeId>> expected;
  for (std::int32_t k = 0; k <= classes; ++k) {
    for (const Route& route : defaults) expected[{k, route.source, route.destination}] = nodes_of(topology, route);
  }
  for (const Route& route : planned) {
    expected[{route.route_class, route.source, route.destination}] = nodes_of(topology, route);
  }
  for (const auto& [what, path] : expected) {
    const auto& [k, source, destination] = what;
    EXPECT_EQ(follow(fabric, k, source, destination), path) << k << ": " << source << " to " << destination;
    EXPECT_EQ(fabric.routers[at(source)].source(class_address(k, destination)), class_address(k, source));
  }
}

TEST(FabricForwarding, EveryPacketGoesItsPlannedPath) {
  for (const char* specification : {"torus:3x3", "hypercube:3", "genkautz:8,2", "random_regular:16,4,1", "mesh:3x3"}) {
    const Topology topology = make(specification);
    expect_exact_paths(topology, sssp_routes(topology).value(), 3);
  }
}

TEST(FabricForwarding, DefaultsThatAreNoTreesGoTheirOwnWays) {
  // Random paths to one destination meet and part again, which tables by destination alone cannot hold.
  const Topology cube = make("hypercube:3");
  std::mt19937 random(5);
  std::vector<Route> defaults = sssp_routes(cube).value();
  for (Route& route : defaults) {
    const Route other = random_route(cube, route.source, route.destination, random);
    if (!other.links.empty()) route = other;
  }
  expect_exact_paths(cube, defaults, 2);
  const Fabric fabric = build(cube, defaults, {}, 0);
  std::size_t rules = 0;
  for (const Router& router : fabric.routers) rules += router.rules();
  EXPECT_GT(rules, 0U);
}

TEST(FabricForwarding, DimensionOrderOnEvenRingsIsATree) {
  const Topology torus = make("torus:4x4");
  expect_exact_paths(torus, dor_routes(torus).value(), 1);
}

TEST(FabricForwarding, TreesNeedNoRules) {
  const Topology torus = make("torus:3x3x3");
  const Fabric fabric = build(torus, sssp_routes(torus).value(), {}, 4);
  for (const Router& router : fabric.routers) EXPECT_EQ(router.rules(), 0U);
}

TEST(FabricForwarding, SwitchesForward) {
  const Topology star =
      Topology::make("star", {{"a", "", false}, {"b", "", false}, {"s", "", true}}, {{0, 2}, {2, 0}, {1, 2}, {2, 1}})
          .value();
  const Fabric fabric = build(star, sssp_routes(star).value(), {}, 1);
  EXPECT_EQ(follow(fabric, 1, 0, 1), (std::vector<NodeId>{0, 2, 1}));
  EXPECT_EQ(device_batch(star, 2, 1).find("ifb"), std::string::npos);
  EXPECT_EQ(route_batch(fabric.tables, star, 2).find(" src "), std::string::npos);
}

TEST(FabricForwarding, RefusesWhatIsNoRoute) {
  const Topology ring = make("ring:4");
  const std::vector<Route> defaults = sssp_routes(ring).value();
  const auto refused = [&](const Route& route) {
    const auto tables = forwarding_tables(ring, defaults, std::vector<Route>{route}, 2);
    return tables.ok() ? std::string("accepted") : tables.error().message;
  };
  const auto link = [&](NodeId a, NodeId b) { return ring.find_link(a, b); };
  EXPECT_EQ(refused({0, 2, {link(0, 1), link(1, 2)}, 0, 1}), "accepted");
  EXPECT_NE(refused({0, 2, {link(0, 1)}, 0, 1}).find("does not end there"), std::string::npos);
  EXPECT_NE(refused({0, 2, {link(1, 2)}, 0, 1}).find("not a path"), std::string::npos);
  EXPECT_NE(refused({0, 2, {99}, 0, 1}).find("not a path"), std::string::npos);
  EXPECT_NE(refused({0, 1, {link(0, 1), link(1, 0), link(0, 1)}, 0, 1}).find("twice"), std::string::npos);
  EXPECT_NE(refused({0, 2, {link(0, 1), link(1, 2)}, 0, 3}).find("expected 1 to 2"), std::string::npos);
  EXPECT_NE(refused({0, 2, {link(0, 1), link(1, 2)}, 0, 0}).find("expected 1 to 2"), std::string::npos);
  EXPECT_NE(refused({0, 4, {}, 0, 1}).find("two hosts"), std::string::npos);
}

TEST(FabricForwarding, RefusesTwoPathsOfAPairInOneClassAndMissingDefaults) {
  const Topology ring = make("ring:4");
  std::vector<Route> defaults = sssp_routes(ring).value();
  const Route one{0, 2, {ring.find_link(0, 1), ring.find_link(1, 2)}, 0, 1};
  const Route other{0, 2, {ring.find_link(0, 3), ring.find_link(3, 2)}, 0, 1};
  EXPECT_TRUE(forwarding_tables(ring, defaults, std::vector<Route>{one, one}, 1).ok());
  EXPECT_FALSE(forwarding_tables(ring, defaults, std::vector<Route>{one, other}, 1).ok());
  defaults.pop_back();
  EXPECT_FALSE(forwarding_tables(ring, defaults, {}, 1).ok());
}

TEST(FabricAddresses, AreDifferentOnALargeFabric) {
  EXPECT_EQ(class_address(0, 0), "10.100.0.1");
  EXPECT_EQ(class_address(0, 249), "10.100.0.250");
  EXPECT_EQ(class_address(0, 250), "10.100.1.1");
  EXPECT_EQ(class_address(3, 501), "10.3.2.2");
  EXPECT_EQ(management_address(250), "172.31.1.1");
  std::set<std::string> addresses = {control_address()};
  constexpr NodeId nodes = 1000;
  for (NodeId node = 0; node < nodes; ++node) {
    addresses.insert(management_address(node));
    for (const std::int32_t k : {0, 1, 2, max_route_classes}) addresses.insert(class_address(k, node));
  }
  EXPECT_EQ(addresses.size(), 1U + 5U * nodes);
}

TEST(FabricAddresses, TablesAndMacsAreDifferent) {
  std::set<std::int64_t> tables;
  for (std::int32_t k = 0; k <= max_route_classes; ++k) {
    for (const NodeId node : {0, 1, 250, max_fabric_nodes - 1}) tables.insert(source_table(k, node));
  }
  EXPECT_EQ(tables.size(), 4U * (max_route_classes + 1));
  EXPECT_GT(*tables.begin(), 255);  // main, local and default are below
  EXPECT_LT(*tables.rbegin(), std::int64_t{1} << 32U);
  EXPECT_NE(link_mac(1, 2), link_mac(2, 1));
  EXPECT_NE(link_mac(1, 256), link_mac(256, 1));
  EXPECT_EQ(link_mac(3, 258), "02:00:00:03:01:02");
}

/// What acknowledges the packets of uniring:3's links has two hops to go.
TEST(FabricConfiguration, WindowsAreLongerWhereAcknowledgementsTakeDetours) {
  EXPECT_EQ(tcp_window_factor(make("torus:3x3")), 1);
  EXPECT_EQ(tcp_window_factor(make("ring:2")), 1);
  EXPECT_EQ(tcp_window_factor(make("uniring:3")), 4);
  const auto window = [](std::int64_t factor) {
    const std::vector<KernelSetting> settings = kernel_settings(factor);
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [](const KernelSetting& setting) { return setting.path == "net/ipv4/tcp_wmem"; });
    return found == settings.end() ? std::string() : found->value;
  };
  EXPECT_EQ(window(1), "4096 65536 131072");
  EXPECT_EQ(window(4), "4096 262144 524288");
}

TEST(FabricConfiguration, LinksAreShapedAtTheirRates) {
  Topology two =
      Topology::make("two", {{"a", "", false}, {"b", "", false}}, {{0, 1, 12'500'000, 1e-6}, {1, 0, 1'250'000, 1e-6}})
          .value();
  EXPECT_EQ(shaping_line(two, 0, false), "qdisc replace dev t1 root tbf rate 100000000bit burst 128kb limit 8mb\n");
  EXPECT_EQ(shaping_line(two, 1, false), "qdisc replace dev t0 root tbf rate 10000000bit burst 128kb limit 8mb\n");
  EXPECT_EQ(shaping_line(two, 1, true), "qdisc replace dev t0 root blackhole\n");
  EXPECT_EQ(shaping_batch(two, 0, {true, false}), shaping_line(two, 0, true));
}

TEST(FabricConfiguration, OneWayLinksAreCablesToo) {
  const Topology ring = make("uniring:3");
  EXPECT_EQ(cables(ring), (std::vector<ShapedCable>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(cables(make("torus:3x3x3")).size(), 81U);
  const std::vector<pid_t> holders = {11, 12, 13};
  const std::string wiring = wiring_batch(ring, holders);
  EXPECT_NE(wiring.find("link add name t2 address 02:00:00:01:00:02 mtu 9000 netns 12 type veth peer name t1 address "
                        "02:00:00:02:00:01 mtu 9000 netns 13\n"),
            std::string::npos)
      << wiring;
}

TEST(FabricConfiguration, NeighboursHaveTheMacOfTheirEnd) {
  const std::string devices = device_batch(make("ring:3"), 0, 2);
  EXPECT_NE(devices.find("neigh replace 10.100.0.2 lladdr 02:00:00:01:00:00 nud permanent dev t1\n"),
            std::string::npos);
  EXPECT_NE(devices.find("addr add 10.2.0.1/16 dev L2 noprefixroute\n"), std::string::npos);
  EXPECT_EQ(devices.find("L3"), std::string::npos);
}

TEST(FabricTopology, RatesAreInProportion) {
  const Topology topology = Topology::make("mixed", {{"a", "x", false}, {"b", "", false}, {"s", "", true}},
                                           {{0, 1, 3000, 1e-6}, {1, 0, 2000, 1e-6}, {0, 2, 2000, 1e-6}})
                                .value();
  const Topology emulated = emulated_topology(topology, 1'000'001).value();
  EXPECT_EQ(emulated.link(1).bandwidth_bytes_per_second, 1'000'001);
  EXPECT_EQ(emulated.link(0).bandwidth_bytes_per_second, 1'500'001);  // 3/2, rounded down
  EXPECT_EQ(emulated.node(0).host, "x");
  EXPECT_EQ(emulated.node(1).host, "n1");
  EXPECT_EQ(emulated.node(2).host, "n2");
  const Topology clash = Topology::make("clash", {{"a", "n1", false}, {"b", "", false}}, {{0, 1}, {1, 0}}).value();
  EXPECT_FALSE(emulated_topology(clash, 1000).ok());
}

TEST(FabricTopology, RoutesMoveByNodeNames) {
  const Topology from = make("ring:4");
  std::vector<Link> links(from.links().begin(), from.links().end());
  std::reverse(links.begin(), links.end());
  const Topology to = Topology::make("turned", {from.nodes().begin(), from.nodes().end()}, links).value();
  const std::vector<Route> routes = sssp_routes(from).value();
  const std::vector<Route> moved = moved_routes(from, to, routes).value();
  ASSERT_EQ(moved.size(), routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) EXPECT_EQ(nodes_of(to, moved[i]), nodes_of(from, routes[i]));
  links.pop_back();
  const Topology less = Topology::make("less", {from.nodes().begin(), from.nodes().end()}, links).value();
  EXPECT_FALSE(moved_routes(from, less, routes).ok());
}

}  // namespace
}  // namespace libcoll::fabric_forwarding_test
