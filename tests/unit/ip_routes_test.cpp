// Planned routes as ip -batch files, switch tables and route bindings.
#include "planner/exchange/ip_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/topology/reader.h"

namespace libcoll::ip_routes_test {

using namespace exchange;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

/// Two hosts, a and b, on two switches that two ways join: s0-s1 and s0-s2-s1. One route each way by way of s2, one
/// direct.
Schedule two_ways() {
  const std::string text = R"(
[[node]]
name = "a"
[[node]]
name = "b"
[[node]]
name = "s0"
switch = true
[[node]]
name = "s1"
switch = true
[[node]]
name = "s2"
switch = true
[[link]]
from = "a"
to = "s0"
[[link]]
from = "b"
to = "s1"
[[link]]
from = "s0"
to = "s1"
[[link]]
from = "s0"
to = "s2"
[[link]]
from = "s2"
to = "s1"
)";
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.topology = read_topology(text, "two.toml").value();
  const Topology& topology = schedule.topology;
  for (const std::vector<NodeId>& path :
       std::vector<std::vector<NodeId>>{{0, 2, 3, 1}, {0, 2, 4, 3, 1}, {1, 3, 2, 0}}) {
    Route route{path.front(), path.back(), {}, 0, 0};
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      route.links.push_back(topology.find_link(path[i], path[i + 1]));
      EXPECT_GE(route.links.back(), 0);
    }
    schedule.routes.push_back(route);
  }
  return schedule;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(IpRoutes, AddressesHaveClassAndHost) {
  const IpScheme scheme;
  EXPECT_EQ(ip_address(scheme, 2, 3), "10.2.0.4");
  EXPECT_EQ(ip_address(scheme, 1, 250), "10.1.1.1");
  IpScheme by_port;
  by_port.steering = IpSteering::port;
  EXPECT_EQ(ip_address(by_port, 2, 3), "10.0.0.4");
}

TEST(IpRoutes, AddressesAreParsedWhole) {
  EXPECT_EQ(parse_ipv4("172.16.0.1").value(), 0xAC100001U);
  for (const char* text : {"", "10.0.0", "10.0.0.0.0", "10.0.0.256", "10.0.0.x", "10..0.0", " 10.0.0.0"}) {
    EXPECT_EQ(parse_ipv4(text).error().message,
              "found '" + std::string(text) + "', expected an address such as 10.0.0.0");
  }
}

TEST(IpRoutes, TwoRoutesOfAPairAreTwoClasses) {
  Schedule schedule = two_ways();
  const Result<DestinationClasses> classes = plan_ip_classes(schedule);
  ASSERT_TRUE(classes.ok()) << classes.error().message;
  EXPECT_EQ(classes->classes.size(), 2U);
  const IpScheme scheme;
  const std::string table = ip_switch_table(scheme, schedule.topology, *classes, 2);
  const std::string direct = std::to_string(schedule.routes[0].route_class);
  const std::string around = std::to_string(schedule.routes[1].route_class);
  ASSERT_NE(direct, around);
  EXPECT_TRUE(has(table, "destination,udp_source_port,class,port,next\n"));
  EXPECT_TRUE(has(table, "10." + direct + ".0.2/32,," + direct + ",t3,s1\n")) << table;
  EXPECT_TRUE(has(table, "10." + around + ".0.2/32,," + around + ",t4,s2\n")) << table;
}

TEST(IpRoutes, HostsHaveATableForEachClass) {
  Schedule schedule = two_ways();
  const DestinationClasses classes = plan_ip_classes(schedule).value();
  IpScheme scheme;
  scheme.devices[{"a", "s0"}] = "eth5";
  const std::string routes = ip_routes_batch(scheme, schedule.topology, classes, 0);
  for (const char* line : {"rule flush protocol 78\nroute flush table all proto 78\n",
                           "rule add to 10.1.0.0/16 lookup 7801 pref 7801 protocol 78\n",
                           "rule add to 10.2.0.0/16 lookup 7802 pref 7802 protocol 78\n",
                           "route add 10.2.0.2/32 dev eth5 src 10.2.0.1 table 7802 proto 78\n"}) {
    EXPECT_TRUE(has(routes, line)) << line << routes;
  }
  EXPECT_TRUE(has(ip_addresses_batch(scheme, classes, 1), "addr add 10.2.0.2/16 dev L2 noprefixroute\n"));
  scheme.steering = IpSteering::port;
  EXPECT_TRUE(has(ip_routes_batch(scheme, schedule.topology, classes, 0),
                  "rule add ipproto udp sport 49154 dport 4791 lookup 7802 pref 7802 protocol 78\n"));
  EXPECT_TRUE(has(ip_switch_table(scheme, schedule.topology, classes, 2), "10.0.0.2/32,49154,2,"));
  EXPECT_EQ(ip_addresses_batch(scheme, classes, 1), "");
}

TEST(IpRoutes, BindingsChooseByDeviceAddressOrPort) {
  Schedule schedule = two_ways();
  const DestinationClasses classes = plan_ip_classes(schedule).value();
  IpScheme scheme;
  const auto setting = [&](std::size_t number, const std::string& name) {
    const RouteBinding binding = ip_binding(scheme, classes, schedule);
    for (const auto& [key, value] : binding.classes[number].settings) {
      if (key == name) return value;
    }
    return std::string();
  };
  EXPECT_EQ(ip_binding(scheme, classes, schedule).routes, route_set_digest(schedule.topology, schedule.routes));
  EXPECT_EQ(setting(2, "NET_DEVICES"), "L2");
  scheme.steering = IpSteering::gid;
  scheme.roce_device = "mlx5_0:1";
  scheme.first_gid_index = 3;
  EXPECT_EQ(setting(2, "NET_DEVICES"), "mlx5_0:1");
  EXPECT_EQ(setting(0, "IB_GID_INDEX"), "3");
  EXPECT_EQ(setting(2, "IB_GID_INDEX"), "5");
  scheme.steering = IpSteering::port;
  const RouteBinding binding = ip_binding(scheme, classes, schedule);
  EXPECT_EQ(binding.backend, SteeringBackend::uct);
  EXPECT_EQ(binding.classes[2].path_index, 2);
  const Result<RouteBinding> read = read_route_binding(write_route_binding(binding), "binding");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, binding);
}

TEST(IpRoutes, DevicesOfLinksComeFromAFile) {
  const Topology topology = two_ways().topology;
  const auto message = [&](const std::string& text) {
    const Result<LinkDevices> devices = read_link_devices(text, "d.csv", topology);
    return devices.ok() ? std::string() : devices.error().message;
  };
  EXPECT_EQ(message("# staff's\na, s0 ,eth5\ns0,a,swp1 # port\n"), "");
  EXPECT_EQ(message("a,s0\n"), "d.csv:1: found 'a,s0', expected FROM,TO,DEVICE");
  EXPECT_EQ(message("\na,s9,eth1\n"), "d.csv:2: found node 's9', expected one of the topology's");
  EXPECT_EQ(message("a,s1,eth1\n"), "d.csv:1: found 'a' and 's1', expected two nodes with a link between them");
  EXPECT_EQ(message("a,s0,x\na,s0,y\n"), "d.csv:2: found 'a' and 's0' again, expected each link once");
}

TEST(IpRoutes, SchedulesWithoutRoutesAreRefused) {
  Schedule schedule = two_ways();
  schedule.routes.clear();
  EXPECT_EQ(plan_ip_classes(schedule).error().message,
            "found a schedule without routes, expected an all-to-all on routes");
}

}  // namespace
}  // namespace libcoll::ip_routes_test
