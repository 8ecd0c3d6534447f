// Topologies in other people's formats, and the tables of an InfiniBand subnet.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "planner/base/index.h"
#include "planner/exchange/formats.h"
#include "planner/exchange/natural_order.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/exchange/subnet_tables.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/flow/baseline/single_path.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::exchange_test {

using namespace exchange;
using namespace flow::baseline;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t usual = 1'000'000'000;  // 4xSDR

/// A fabric as cables would make it: every host of the topology on a switch of its own, host links `host_bandwidth`
/// wide; switches as they are. Ports of a switch: 1 to the host, then the links in their order.
Subnet subnet_of(const Topology& topology, std::int64_t host_bandwidth) {
  Subnet subnet;
  subnet.devices.resize(at(topology.node_count() + topology.host_count()));
  const auto port_of = [&](NodeId node, NodeId peer) {
    const auto links = topology.out_links(node);
    const auto found = std::find(links.begin(), links.end(), topology.find_link(node, peer));
    return static_cast<std::int32_t>(found - links.begin()) + 2;
  };
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    SubnetDevice& device = subnet.devices[at(node)];
    device.is_switch = true;
    device.guid = 0x200 + static_cast<std::uint64_t>(node);
    device.description = "s" + std::to_string(node);
    if (!topology.node(node).is_switch) {
      const DeviceId adapter = topology.node_count() + node;
      device.ports.push_back({1, adapter, 1, host_bandwidth});
      SubnetDevice& host = subnet.devices[at(adapter)];
      host.guid = 0x100 + static_cast<std::uint64_t>(node);
      host.description = topology.node(node).name + " HCA-1";
      host.ports.push_back({1, node, 1, host_bandwidth, 0x1000 + host.guid});
    }
    for (const LinkId link : topology.out_links(node)) {
      const NodeId peer = topology.link(link).to;
      device.ports.push_back({port_of(node, peer), peer, port_of(peer, node), usual});
    }
  }
  return subnet;
}

// ---- formats ----------------------------------------------------------------------------------------------------

Result<Topology> import_text(const char* format, const std::string& text) {
  return find_import_format(format)->read(text, "fabric.txt", {});
}

TEST(Exchange, GraphmlGivesBackWhatWasWritten) {
  for (const char* specification : {"torus:3x3", "genkautz:7,2", "fat_tree:4,2", "dgx2:1"}) {
    Topology topology = generate(specification).value();
    topology.set_injection_bytes_per_second(123456789);
    topology.set_nics_forward(false);
    const Result<std::string> text = find_export_format("graphml")->write(topology);
    const Result<Topology> again = import_text("graphml", *text);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(*again == topology) << specification;
  }
}

TEST(Exchange, TomlGivesBackWhatWasWritten) {
  const Topology topology = generate("torus:3x3").value();
  const Result<Topology> again = read_topology(*find_export_format("toml")->write(topology), "fabric.toml");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == topology);
}

TEST(Exchange, EveryExportNamesEveryNode) {
  const Topology topology = generate("fat_tree:4,2").value();
  for (const ExportFormat& format : export_formats()) {
    const Result<std::string> text = format.write(topology);
    ASSERT_TRUE(text.ok()) << format.name;
    for (const Node& node : topology.nodes()) {
      EXPECT_NE(text->find("\"" + node.name + "\""), std::string::npos) << format.name << " " << node.name;
    }
  }
}

// SimGrid's Floyd routing needs the route of every link, and nothing else.
TEST(Exchange, SimgridHasARouteForEveryLink) {
  const Topology topology = generate("genkautz:7,2").value();
  const Result<std::string> text = find_export_format("simgrid")->write(topology);
  const auto count = [&](const std::string& what) {
    std::int32_t found = 0;
    for (std::size_t place = text->find(what); place != std::string::npos; place = text->find(what, place + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<host "), topology.host_count());
  EXPECT_EQ(count("<link "), topology.link_count());
  EXPECT_EQ(count("<route "), topology.link_count());
}

TEST(Exchange, IbsimRefusesOneWayLinks) {
  const Result<std::string> text = find_export_format("ibsim")->write(generate("genkautz:5,2").value());
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("InfiniBand has no one-way cables"), std::string::npos);
}

TEST(Exchange, NamesInNaturalOrder) {
  std::vector<std::string> names = {"c10-2", "c9-11", "c9-2", "a", "c010-1", "c", "C1"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"C1", "a", "c", "c9-2", "c9-11", "c010-1", "c10-2"}));
}

// ---- subnets as topologies --------------------------------------------------------------------------------------

TEST(SubnetTopology, WideHostLinksMakeHostAndSwitchOneNode) {
  const Topology torus = generate("torus:3x3x3").value();
  const Result<SubnetTopology> fabric = topology_of(subnet_of(torus, 6 * usual), "f");
  ASSERT_TRUE(fabric.ok()) << fabric.error().message;
  EXPECT_EQ(fabric->topology.node_count(), 27);
  EXPECT_EQ(fabric->topology.injection_bytes_per_second(), 0);
  EXPECT_EQ(fabric->topology.link_count(), torus.link_count());
  for (const Link& link : torus.links()) EXPECT_GE(fabric->topology.find_link(link.from, link.to), 0);
}

TEST(SubnetTopology, AHostLinkThatMayBeABottleneckKeepsItsSwitch) {
  const Subnet subnet = subnet_of(generate("torus:3x3x3").value(), 6 * usual - 1);
  const Result<SubnetTopology> kept = topology_of(subnet, "f");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->topology.host_count(), 27);
  EXPECT_EQ(kept->topology.node_count(), 54);
  const Result<SubnetTopology> collapsed = topology_of(subnet, "f", HostSwitches::collapse);
  ASSERT_TRUE(collapsed.ok());
  EXPECT_EQ(collapsed->topology.node_count(), 27);
  EXPECT_EQ(collapsed->topology.injection_bytes_per_second(), 6 * usual - 1);
}

// ---- LIDs -------------------------------------------------------------------------------------------------------

TEST(SubnetLids, AreKeptWhereTheyFitAndAligned) {
  Subnet subnet = subnet_of(generate("ring:3").value(), usual);
  subnet.devices[0].lid = 7;
  subnet.devices[3].ports[0].lid = 8;
  subnet.devices[4].ports[0].lid = 10;  // no multiple of 4
  const Result<SubnetLids> lids = assign_lids(subnet, 2);
  ASSERT_TRUE(lids.ok());
  EXPECT_EQ(lids->base[0], std::vector<std::int32_t>{7});
  EXPECT_EQ(lids->base[3], std::vector<std::int32_t>{8});
  std::vector<bool> taken(at(largest_unicast_lid) + 1, false);
  for (std::size_t device = 0; device < subnet.devices.size(); ++device) {
    const std::int32_t count = subnet.devices[device].is_switch ? 1 : 4;
    const std::int32_t base = lids->base[device].front();
    EXPECT_EQ(base % count, 0);
    for (std::int32_t lid = base; lid < base + count; ++lid) {
      EXPECT_FALSE(taken[at(lid)]) << lid;
      taken[at(lid)] = true;
    }
  }
}

// 400 hosts of 128 LIDs are 51200, and unicast LIDs end at 49151; of 64 they fit.
TEST(SubnetLids, EndWhereInfinibandEnds) {
  const Subnet subnet = subnet_of(generate("ring:400").value(), usual);
  EXPECT_TRUE(assign_lids(subnet, 6).ok());
  const Result<SubnetLids> lids = assign_lids(subnet, 7);
  ASSERT_FALSE(lids.ok());
  EXPECT_NE(lids.error().message.find("unicast LIDs end at 49151"), std::string::npos) << lids.error().message;
}

// ---- tables -----------------------------------------------------------------------------------------------------

struct Installed {
  Subnet subnet;
  SubnetPlan plan;
  Schedule schedule;
};

Result<Installed> install(const char* specification, const SubnetLimits& limits = {}) {
  const Topology topology = generate(specification).value();
  Installed installed{subnet_of(topology, 12 * usual), {}, plan_sssp(topology, {}).value()};
  const Result<SubnetTopology> fabric = topology_of(installed.subnet, "f");
  Result<SubnetPlan> plan = plan_subnet(installed.subnet, *fabric, installed.schedule, limits);
  if (!plan) return plan.error();
  installed.plan = std::move(plan).value();
  return installed;
}

TEST(SubnetTables, AreReadBackAsWritten) {
  const Result<Installed> installed = install("random_regular:10,3,1");
  ASSERT_TRUE(installed.ok()) << installed.error().message;
  const std::string text = write_lfts(installed->subnet, installed->plan.tables, installed->plan.lids, "title");
  const Result<SubnetTables> again = read_lfts(text, "lfts", installed->subnet);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->port, installed->plan.tables.port);
}

// Clockwise routing on a ring of one lane deadlocks (Dally and Seitz 1987).
TEST(SubnetTables, ACircleOfWaitingChannelsIsFound) {
  const Topology ring = generate("ring:5").value();
  const Subnet subnet = subnet_of(ring, 12 * usual);
  const SubnetTopology fabric = topology_of(subnet, "f").value();
  DestinationClasses classes;
  DestinationClass& clockwise = classes.classes.emplace_back();
  for (NodeId destination = 0; destination < 5; ++destination) {
    std::vector<LinkId>& next = clockwise.next.emplace_back(5, -1);
    for (NodeId node = 0; node < 5; ++node) {
      if (node != destination) next[at(node)] = fabric.topology.find_link(node, (node + 1) % 5);
    }
  }
  const SubnetLids lids = assign_lids(subnet, 0).value();
  SubnetTables tables = subnet_tables(subnet, fabric, classes, lids);
  const Status circle = check_tables(subnet, tables, lids, std::array<std::int32_t, 1>{0});
  ASSERT_FALSE(circle.ok());
  EXPECT_NE(circle.error().message.find("circle of waiting channels in service level 0"), std::string::npos);
  // Without an entry, and with one that leads back.
  const std::int32_t lid = lids.base[5 + 3].front();
  tables.port[1][at(lid)] = no_port;
  const Status end = check_tables(subnet, tables, lids, std::array<std::int32_t, 1>{0});
  EXPECT_NE(end.error().message.find("found no entry at 's1'"), std::string::npos) << end.error().message;
  tables.port[1][at(lid)] = static_cast<std::uint8_t>(subnet.devices[1].ports[1].peer == 0 ? 2 : 3);
  const Status loop = check_tables(subnet, tables, lids, std::array<std::int32_t, 1>{0});
  EXPECT_NE(loop.error().message.find("found a loop"), std::string::npos) << loop.error().message;
}

TEST(SubnetTables, ATraceSaysWhereItEnds) {
  Result<Installed> installed = install("ring:5");
  ASSERT_TRUE(installed.ok()) << installed.error().message;
  const SubnetLids& lids = installed->plan.lids;
  const PortId source{5, 1};
  const std::int32_t lid = lids.base[5 + 2].front();
  EXPECT_TRUE(trace(installed->subnet, installed->plan.tables, lids, source, lid).ok());
  installed->plan.tables.port[0][at(lid)] = 77;
  const auto astray = trace(installed->subnet, installed->plan.tables, lids, source, lid);
  ASSERT_FALSE(astray.ok());
  EXPECT_EQ(astray.error().message, "found port 77 at switch 's0', expected one that is cabled");
}

TEST(SubnetPlan, FewerClassesChangeRoutesAndTheProof) {
  const Result<Installed> free = install("random_regular:10,3,1");
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->plan.classes.rerouted, 0);
  SubnetLimits limits;
  limits.lmc = 0;
  limits.service_levels = 1;
  const Result<Installed> capped = install("random_regular:10,3,1", limits);
  ASSERT_TRUE(capped.ok()) << capped.error().message;
  EXPECT_EQ(capped->plan.lids.lmc, 0);
  EXPECT_EQ(capped->plan.classes.layers, 1);
  EXPECT_GT(capped->plan.classes.rerouted, 0);
  EXPECT_GE(capped->schedule.proof.max_link_load, free->schedule.proof.max_link_load);
}

TEST(SubnetPlan, TheBindingNamesPathBitsAndServiceLevels) {
  const Result<Installed> installed = install("ring:8");
  ASSERT_TRUE(installed.ok());
  const RouteBinding binding = subnet_binding(installed->plan, installed->schedule, "mlx5_0:1");
  ASSERT_EQ(binding.classes.size(), installed->plan.service_levels.size() + 1);
  EXPECT_EQ(binding.routes, route_set_digest(installed->schedule.topology, installed->schedule.routes));
  using Settings = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(binding.classes[0].settings,
            (Settings{{"NET_DEVICES", "mlx5_0:1"}, {"IB_LID_PATH_BITS", "0"}, {"IB_SL", "0"}}));
  EXPECT_EQ(binding.classes[2].settings, (Settings{{"NET_DEVICES", "mlx5_0:1"},
                                                   {"IB_LID_PATH_BITS", "1"},
                                                   {"IB_SL", std::to_string(installed->plan.service_levels[1])}}));
  EXPECT_EQ(read_route_binding(write_route_binding(binding), "b").value(), binding);
}

TEST(OpenSm, OptionsGiveEachServiceLevelALane) {
  const std::string text = write_opensm_options(3, 3, "/etc/opensm/lfts", "title");
  for (const char* line :
       {"# title\n", "\nlmc 3\n", "\nrouting_engine file,no_fallback\n", "\nlfts_file /etc/opensm/lfts\n",
        "\nqos TRUE\n", "\nqos_max_vls 4\n", "\nqos_sl2vl 0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(write_opensm_options(0, 1, "l", "t").find("qos"), std::string::npos);
}

TEST(OpenSm, ReadsIbroute) {
  const Subnet subnet = subnet_of(generate("ring:3").value(), usual);
  const std::string text =
      "Unicast lids [0x4-0x9] of switch Lid 8 guid 0x0000000000000201 (s1):\n  Lid  Out   Destination\n"
      "       Port     Info \n0x0004 002 : (Channel Adapter portguid 0x0000000000001100: 'n0')\n"
      "0x0008 000 : (Switch portguid 0x0000000000000201: 's1')\n2 valid lids dumped \n";
  const Result<SubnetTables> tables = read_lfts(text, "t", subnet);
  ASSERT_TRUE(tables.ok()) << tables.error().message;
  EXPECT_EQ(tables->port[1][4], 2);
  EXPECT_EQ(tables->port[1][8], 0);
  EXPECT_EQ(tables->port[1][5], no_port);
  EXPECT_TRUE(tables->port[0].empty());
  const Result<SubnetTables> unknown =
      read_lfts("Unicast lids [0x4-0x9] of switch Lid 8 guid 0x0000000000000999 (x):\n", "t", subnet);
  EXPECT_EQ(unknown.error().message,
            "t:1: found forwarding tables of switch 0x0000000000000999, expected a switch of the fabric");
}

TEST(OpenSm, ReadsIbtracert) {
  const Subnet subnet = subnet_of(generate("ring:3").value(), usual);
  const std::string text =
      "ibtracert 4 9\nFrom ca {0x0000000000000100} portnum 1 lid 4-7 \"0\"\n"
      "[1] -> switch port {0x0000000000000200}[1] lid 1-1 \"s0\"\n"
      "[2] -> switch port {0x0000000000000201}[2] lid 2-2 \"s1\"\n"
      "[1] -> ca port {0x0000000000001101}[1] lid 8-11 \"1\"\n"
      "To ca {0x0000000000000101} portnum 1 lid 8-11 \"1\"\n+ ibtracert 4 13\nsome complaint\n";
  const Result<std::vector<TracedPath>> paths = read_ibtracert(text, "t", subnet);
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  ASSERT_EQ(paths->size(), 2U);
  EXPECT_EQ((*paths)[0].to_lid, 9);
  EXPECT_EQ((*paths)[0].hops, (std::vector<PortId>{{3, 1}, {0, 2}, {1, 1}}));
  EXPECT_TRUE((*paths)[1].hops.empty());
}

}  // namespace
}  // namespace libcoll::exchange_test
