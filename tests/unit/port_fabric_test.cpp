// Hosts with ports on several switches: classes by port, and the plans that no InfiniBand has.
#include "planner/exchange/port_fabric.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/flow/mcf.h"
#include "planner/schedule/verify.h"

namespace libcoll::port_fabric_test {

using namespace exchange;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t usual = 1'000'000'000;

void cable(Subnet& subnet, DeviceId a, DeviceId b) {
  const auto next = [&](DeviceId id) {
    const std::vector<SubnetPort>& ports = subnet.devices[at(id)].ports;
    return ports.empty() ? 1 : ports.back().number + 1;
  };
  const std::int32_t of_a = next(a);
  const std::int32_t of_b = next(b);
  subnet.devices[at(a)].ports.push_back({of_a, b, of_b, usual, subnet.devices[at(a)].guid + 1U});
  subnet.devices[at(b)].ports.push_back({of_b, a, of_a, usual, subnet.devices[at(b)].guid + 1U});
}

/// `hosts` hosts of one adapter with two ports, each on a switch of its own in a ring of them, A0, A1, … and B0, B1, …;
/// a cable joins A0 and B0. Devices: the A, the B, the adapters.
Subnet two_rings(std::int32_t hosts) {
  Subnet subnet;
  for (std::int32_t i = 0; i < 3 * hosts; ++i) {
    SubnetDevice& device = subnet.devices.emplace_back();
    device.is_switch = i < 2 * hosts;
    device.guid = 0x100U * static_cast<std::uint64_t>(i + 1);
    device.description = std::string(1, "ABh"[i / hosts]) + std::to_string(i % hosts);
  }
  for (std::int32_t ring = 0; ring < 2; ++ring) {
    for (std::int32_t i = 0; i < hosts; ++i) cable(subnet, 2 * hosts + i, ring * hosts + i);
    for (std::int32_t i = 0; i < hosts; ++i) cable(subnet, ring * hosts + i, ring * hosts + (i + 1) % hosts);
  }
  cable(subnet, 0, hosts);
  return subnet;
}

/// As a port that has lost its cable.
void unlink(Subnet& subnet, DeviceId id, std::int32_t number) {
  std::vector<SubnetPort>& ports = subnet.devices[at(id)].ports;
  const SubnetPort port = *find_port(subnet.devices[at(id)], number);
  ports.erase(ports.begin() + (find_port(subnet.devices[at(id)], number) - ports.data()));
  std::vector<SubnetPort>& others = subnet.devices[at(port.peer)].ports;
  others.erase(others.begin() + (find_port(subnet.devices[at(port.peer)], port.peer_port) - others.data()));
}

Schedule plan_of_hosts(const PortFabric& ports, const SubnetTopology& fabric) {
  PlanOptions options;
  options.demand = demand_of_ports(ports);
  options.class_loss = 0;
  const Result<Schedule> plan = plan_mcf_path(ports.fabric.topology, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return schedule_of_hosts(ports, fabric.topology, *plan);
}

// Of both ports every host sends each other half a block. On a ring of odd N the most that crosses a cable is
// (N² − 1)/8 blocks, here of half a block each; a host's cable takes (N − 1)/2 blocks.
TEST(PortFabric, ARingOnEachPortCarriesHalfOfTheBlocks) {
  const Subnet subnet = two_rings(7);
  const SubnetTopology fabric = topology_of(subnet, "f").value();
  ASSERT_TRUE(has_port_fabric(subnet, fabric));
  const PortFabric ports = port_fabric(subnet, fabric).value();
  EXPECT_EQ(ports.fabric.topology.host_count(), 14);
  Schedule schedule = plan_of_hosts(ports, fabric);
  EXPECT_EQ(verify(schedule), std::vector<std::string>());
  EXPECT_EQ(schedule.proof.max_link_load, Rational(3));
  const Result<SubnetPlan> plan = plan_subnet(subnet, fabric, schedule, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(schedule), std::vector<std::string>());
  EXPECT_EQ(plan->places, 2);
  EXPECT_EQ(plan->classes.rerouted, 0);
  // Shortest paths around a ring take two lanes; classes of both ports share path bits.
  EXPECT_EQ(plan->lids.lmc, 1);
  EXPECT_EQ(plan->addresses.size(), 4U);
  EXPECT_EQ(route_ends(subnet, plan->fabric, plan->lids, schedule, plan->addresses).size(), schedule.routes.size());
}

TEST(PortFabric, TheBindingNamesTheDeviceOfEachClass) {
  const Subnet subnet = two_rings(5);
  const SubnetTopology fabric = topology_of(subnet, "f").value();
  Schedule schedule = plan_of_hosts(port_fabric(subnet, fabric).value(), fabric);
  const SubnetPlan plan = plan_subnet(subnet, fabric, schedule, {}).value();
  EXPECT_FALSE(check_devices(plan, "mlx5_0:1").ok());
  EXPECT_FALSE(check_devices(plan, "mlx5_0:1,").ok());
  EXPECT_FALSE(check_devices(plan, "a,b,c").ok());
  ASSERT_TRUE(check_devices(plan, "mlx5_0:1,mlx5_1:1").ok());
  const RouteBinding binding = subnet_binding(plan, schedule, "mlx5_0:1,mlx5_1:1");
  for (const Route& route : schedule.routes) {
    const auto& settings = binding.classes[at(route.route_class)].settings;
    const bool by_a = fabric.topology.node(fabric.topology.link(route.links.front()).to).name[0] == 'A';
    EXPECT_EQ(settings[0], (std::pair<std::string, std::string>("NET_DEVICES", by_a ? "mlx5_0:1" : "mlx5_1:1")));
  }
}

TEST(PortFabric, AHostThatLostAPortHasTheOther) {
  Subnet subnet = two_rings(5);
  unlink(subnet, 10 + 2, 1);  // h2 has its second port only, which stays the second
  const SubnetTopology fabric = topology_of(subnet, "f").value();
  const PortFabric ports = port_fabric(subnet, fabric).value();
  Schedule schedule = plan_of_hosts(ports, fabric);
  EXPECT_EQ(verify(schedule), std::vector<std::string>());
  const Result<SubnetPlan> plan = plan_subnet(subnet, fabric, schedule, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const Route& route : schedule.routes) {
    if (route.source != 2 && route.destination != 2) continue;
    EXPECT_EQ(plan->addresses[at(route.route_class) - 1].place, 1);
  }
  // With another that lost its second, the two have no port in common.
  unlink(subnet, 10 + 4, 2);
  const SubnetTopology parted = topology_of(subnet, "f").value();
  EXPECT_EQ(port_fabric(subnet, parted).error().message,
            "found no port of one name at both 'h2' and 'h4', expected one: a UCX context has one port");
}

Schedule on_route(const Topology& topology, const std::vector<std::string>& names) {
  const auto node = [&](const std::string& name) {
    for (NodeId id = 0; id < topology.node_count(); ++id) {
      if (topology.node(id).name == name) return id;
    }
    return NodeId{-1};
  };
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.topology = topology;
  Route& route = schedule.routes.emplace_back(Route{node(names.front()), node(names.back()), {}, 0, 1});
  for (std::size_t i = 1; i < names.size(); ++i) {
    route.links.push_back(topology.find_link(node(names[i - 1]), node(names[i])));
  }
  schedule.transfers.push_back({route.source * topology.host_count() + route.destination, 0, 1, route.source,
                                route.destination, 1, 0, TransferKind::copy});
  return schedule;
}

TEST(PortFabric, WhatCannotBeHadIsRefusedWithTheReason) {
  const Subnet subnet = two_rings(3);
  const SubnetTopology fabric = topology_of(subnet, "f").value();
  Schedule crossing = on_route(fabric.topology, {"h0", "A0", "B0", "B1", "h1"});
  EXPECT_EQ(
      plan_subnet(subnet, fabric, crossing, {}).error().message,
      "found route 0 from 'h0' to 'h1' that leaves by port 1 and enters by port 2, expected the same port at both "
      "ends: a UCX context has one port; a plan made here, of a topology or without PLAN, is so");
  Schedule through = on_route(fabric.topology, {"h0", "A0", "A1", "h1", "B1", "B2", "h2"});
  EXPECT_EQ(
      plan_subnet(subnet, fabric, through, {}).error().message,
      "found route 0 from 'h0' to 'h2' through 'h1', expected none through a host, which does not forward; a plan "
      "made here, of a topology or without PLAN, is so");
}

}  // namespace
}  // namespace libcoll::port_fabric_test
