// Topology files, host lists and bandwidths: what is read, and what is refused with file, line and expectation.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::topology_reader_test {

using namespace topology;

namespace {

const std::string instances = std::string(LIBCOLL_TEST_INSTANCES) + "/topology/";
const std::string samples = std::string(LIBCOLL_TEST_INSTANCES) + "/../../config/topologies/";

std::string message(const Result<Topology>& topology) { return topology.ok() ? "accepted" : topology.error().message; }

Topology read(const std::string& text) {
  const Result<Topology> topology = read_topology(text, "test.toml");
  EXPECT_TRUE(topology.ok()) << message(topology);
  return topology.ok() ? *topology : Topology();
}

Topology load(const std::string& path) {
  const Result<Topology> topology = load_topology(path);
  EXPECT_TRUE(topology.ok()) << message(topology);
  return topology.ok() ? *topology : Topology();
}

/// Node names in order of ids, one blank between them.
std::string names(const Topology& topology) {
  std::string result;
  for (const Node& node : topology.nodes()) result += (result.empty() ? "" : " ") + node.name;
  return result;
}

std::string hosts(const Topology& topology) {
  std::string result;
  for (const Node& node : topology.nodes()) result += (result.empty() ? "" : " ") + node.host;
  return result;
}

bool has_link(const Topology& topology, const std::string& from, const std::string& to) {
  const auto is_it = [&](const Link& link) {
    return topology.node(link.from).name == from && topology.node(link.to).name == to;
  };
  return std::any_of(topology.links().begin(), topology.links().end(), is_it);
}

// ---- what is read ----

TEST(TopologyFile, OfAGeneratorIsWhatTheSpecificationMakes) {
  EXPECT_TRUE(read("generator = \"torus:3x3x3\"\n") == *generate("torus:3x3x3"));
  EXPECT_TRUE(load("genkautz:27,4") == *generate("genkautz:27,4"));
}

TEST(TopologyFile, DefaultsHoldForEveryLinkOfAGenerator) {
  const Topology topology = read(
      "name = \"lab\"\ngenerator = \"ring:4\"\ninjection_bandwidth = \"100Gbps\"\nnics_forward = false\n"
      "[defaults]\nbandwidth = \"100Gbps\"\nlatency = \"2us\"\n");
  EXPECT_EQ(topology.name(), "lab");
  EXPECT_FALSE(topology.nics_forward());
  EXPECT_EQ(topology.injection_bytes_per_second(), 12'500'000'000);
  ASSERT_EQ(topology.link_count(), 8);
  for (const Link& link : topology.links()) {
    EXPECT_EQ(link.bandwidth_bytes_per_second, 12'500'000'000);
    EXPECT_NEAR(link.latency_seconds, 2e-6, 1e-15);
  }
}

TEST(TopologyFile, NumbersHostsBeforeSwitches) {
  const Topology topology = load(instances + "switches.toml");
  EXPECT_EQ(topology.name(), "switched");
  EXPECT_EQ(names(topology), "a b c d s0 s1");
  EXPECT_EQ(topology.host_count(), 4);
  EXPECT_TRUE(topology.node(4).is_switch);
  EXPECT_EQ(topology.node(1).host, "n2");
  EXPECT_FALSE(topology.nics_forward());
  EXPECT_EQ(topology.injection_bytes_per_second(), 12'500'000'000);
  EXPECT_EQ(topology.link_count(), 11);  // five cables and one link
  const LinkId trunk = topology.find_link(5, 4);
  ASSERT_GE(trunk, 0);
  EXPECT_EQ(topology.link(trunk).bandwidth_bytes_per_second, 5'000'000'000);
  EXPECT_NEAR(topology.link(trunk).latency_seconds, 2e-6, 1e-15);
  EXPECT_NEAR(topology.link(topology.find_link(0, 4)).latency_seconds, 5e-7, 1e-15);
  EXPECT_NE(topology.find_link(0, 2), -1);
  EXPECT_EQ(topology.find_link(2, 0), -1);
}

TEST(TopologyFile, WithoutNodesMakesThemInOrderOfAppearance) {
  const Topology topology = read(
      "link = [{from = \"x\", to = \"c\"}, {from = \"c\", to = 7}, {from = \"a\", to = \"x\", bandwidth = 1000, "
      "latency = 0.5}]\n");
  EXPECT_EQ(names(topology), "x c 7 a");
  EXPECT_EQ(topology.name(), "test");  // the file's
  EXPECT_EQ(topology.unit_bandwidth_bytes_per_second(), 1000);
  EXPECT_EQ(topology.capacity(topology.find_link(0, 1)), Rational(3'125'000));
}

TEST(TopologyFile, RemovalsRenumberAndKeepNamesAndHosts) {
  const Topology topology = load(instances + "removals.toml");
  EXPECT_EQ(topology.name(), "torus:3x3 with removals");
  EXPECT_EQ(names(topology), "0 1 2 3 5 6 7 8");
  EXPECT_EQ(hosts(topology), "c1-01 c1-02 c2-01 c2-02 c3-02 spare1 spare2 spare3");
  EXPECT_EQ(topology.link_count(), 36 - 8 - 2 - 1);  // torus less the node's four cables, a cable, a link
  EXPECT_FALSE(has_link(topology, "0", "1"));
  EXPECT_FALSE(has_link(topology, "1", "0"));
  EXPECT_FALSE(has_link(topology, "2", "5"));
  EXPECT_TRUE(has_link(topology, "5", "2"));
  EXPECT_TRUE(translations(topology).empty());
}

TEST(TopologyFile, RemovedLinksMayTouchRemovedNodesAndOneWayLinks) {
  const Topology topology =
      read("name = \"cut\"\ngenerator = \"complete:4\"\nremoved_nodes = [\"3\"]\nremoved_links = [[2, 3], [0, 1]]\n");
  EXPECT_EQ(topology.name(), "cut");
  EXPECT_EQ(names(topology), "0 1 2");
  EXPECT_EQ(topology.link_count(), 4);
  const Topology oneway = read(
      "removed_links = [[\"c\", \"a\"]]\n"
      "link = [{from = \"a\", to = \"b\"}, {from = \"b\", to = \"c\"}, {from = \"a\", to = \"c\", oneway = true}]\n");
  EXPECT_EQ(oneway.link_count(), 4);
}

TEST(TopologyFile, HostsMayBeOneString) {
  EXPECT_EQ(hosts(read("generator = \"ring:3\"\nhosts = \"n[08-10]\"\n")), "n08 n09 n10");
}

TEST(TopologyFile, SamplesAreGood) {
  EXPECT_EQ(load(samples + "torus-3x3x3.toml").host_count(), 27);
  EXPECT_EQ(load(samples + "torus-3x3x3.toml").node(26).host, "c103-009");
  EXPECT_EQ(load(samples + "two-switches.toml").node_count(), 6);
  const Topology kautz = load(samples + "one-way.toml");  // hosts are numbered like the nodes
  for (const Node& node : kautz.nodes()) EXPECT_EQ(node.host, "n0" + node.name);
}

TEST(TopologyFile, TextThatIsNotUtf8IsRefusedWithItsLine) {
  EXPECT_EQ(message(read_topology("name = \"\xff\"\n", "test.toml")).substr(0, 12), "test.toml:1:");
}

// ---- host lists ----

std::string expanded(std::string_view list) {
  const auto names_of_list = expand_hostlist(list);
  if (!names_of_list.ok()) return "refused: " + names_of_list.error().message;
  std::string result;
  for (const std::string& name : *names_of_list) result += (result.empty() ? "" : " ") + name;
  return result;
}

TEST(HostList, ExpandsInOrder) {
  EXPECT_EQ(expanded("login"), "login");
  EXPECT_EQ(expanded("a,b"), "a b");
  EXPECT_EQ(expanded("b, a"), "b a");
  EXPECT_EQ(expanded("n[1-3]"), "n1 n2 n3");
  EXPECT_EQ(expanded("n[8-11]"), "n8 n9 n10 n11");
  EXPECT_EQ(expanded("n[008-011]"), "n008 n009 n010 n011");
  EXPECT_EQ(expanded("n[3,1,5-6].local"), "n3.local n1.local n5.local n6.local");
  EXPECT_EQ(expanded("c[101-102]-[01-02],x"), "c101-01 c101-02 c102-01 c102-02 x");
  EXPECT_EQ(expanded("[1-2]"), "1 2");
  EXPECT_EQ(expand_hostlist("c[101-103]-[001-009]")->size(), 27U);
  EXPECT_EQ(expand_hostlist("c[101-103]-[001-009]")->back(), "c103-009");
}

TEST(HostList, RefusesWhatItCannotRead) {
  for (const std::string list : {"", "a,", ",a", "a,,b", "n[1-3", "n1-3]", "n[]", "n[3-1]", "n[a-b]", "n[1-]", "n[-1]",
                                 "n[[1]]", "n[1,]", "a b", "n[1-2-3]", "n[0-99999999999999999999]"}) {
    EXPECT_EQ(expanded(list).substr(0, 9), "refused: ") << list;
  }
  EXPECT_EQ(expanded("a,n[3-1]"),
            "refused: found '3-1' in a host list, expected a number or a rising range such as 001-009");
  EXPECT_EQ(expanded("n[1-3"), "refused: found 'n[1-3' in a host list, expected a ']' after every '['");
}

TEST(HostList, IsBoundedInLength) {
  EXPECT_EQ(expand_hostlist("n[1-65536]")->size(), 65536U);
  for (const std::string list :
       {"n[1-65537]", "n[0-999999999999999]", "n[1-1000]-[1-1000]", "n[1-40000],m[1-40000]", "n[1-40000,1-40000]"}) {
    EXPECT_NE(expanded(list).find("expected at most 65536 names"), std::string::npos) << list;
  }
}

// ---- bandwidths and latencies ----

std::int64_t bandwidth(std::string_view text) {
  const auto value = parse_bandwidth(text);
  return value.ok() ? *value : -1;
}

// SI prefixes are powers of 1000, IEC prefixes of 1024; 8 bits to the byte.
TEST(Bandwidth, TellsBitsFromBytes) {
  EXPECT_EQ(bandwidth("25Gbps"), 3'125'000'000);
  EXPECT_EQ(bandwidth("25gbps"), 3'125'000'000);
  EXPECT_EQ(bandwidth("25 Gb/s"), 3'125'000'000);
  EXPECT_EQ(bandwidth("25GBps"), 25'000'000'000);
  EXPECT_EQ(bandwidth("25GB/s"), 25'000'000'000);
  EXPECT_EQ(bandwidth("3GB/s"), 3'000'000'000);
  EXPECT_EQ(bandwidth("3gB/S"), 3'000'000'000);
  EXPECT_EQ(bandwidth("3GiB/s"), 3'221'225'472);
  EXPECT_EQ(bandwidth("500MB/s"), 500'000'000);
  EXPECT_EQ(bandwidth("100mbit"), 12'500'000);
  EXPECT_EQ(bandwidth("100MBIT"), 12'500'000);
  EXPECT_EQ(bandwidth("10Gbit/s"), 1'250'000'000);
  EXPECT_EQ(bandwidth("8kbit"), 1'000);
  EXPECT_EQ(bandwidth("8Kibit/s"), 1'024);
  EXPECT_EQ(bandwidth("1.6Tbps"), 200'000'000'000);
  EXPECT_EQ(bandwidth("12.5Gbps"), 1'562'500'000);
  EXPECT_EQ(bandwidth("64bps"), 8);
  EXPECT_EQ(bandwidth("3bytes/s"), 3);
  EXPECT_EQ(bandwidth("12bps"), 2);  // 1.5, rounded
}

TEST(Bandwidth, APlainNumberIsBytesPerSecond) {
  EXPECT_EQ(bandwidth("3125000000"), 3'125'000'000);
  EXPECT_EQ(bandwidth("1"), 1);
  EXPECT_EQ(bandwidth("100TB/s"), max_bandwidth_bytes_per_second);
}

TEST(Bandwidth, RefusesTheRest) {
  for (const std::string text : {"",
                                 "fast",
                                 "Gbps",
                                 "25G",
                                 "25Gb",
                                 "25GB",
                                 "-25Gbps",
                                 "+25Gbps",
                                 "25Xbps",
                                 "25Gpbs",
                                 "2.5.1Gbps",
                                 ".5Gbps",
                                 "5.Gbps",
                                 " 25Gbps",
                                 "25Gbps ",
                                 "1e9",
                                 "0",
                                 "0Gbps",
                                 "1bps",
                                 "0x10",
                                 "101TB/s",
                                 "9999999999999999999",
                                 "99999999999999999TB/s",
                                 "25Gbit/m",
                                 "i",
                                 "25Giib/s"}) {
    const auto value = parse_bandwidth(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_NE(value.error().message.find("found '" + text + "', expected a bandwidth"), std::string::npos);
  }
}

TEST(Latency, HasUnits) {
  EXPECT_NEAR(*parse_latency("1us"), 1e-6, 1e-18);
  EXPECT_NEAR(*parse_latency("1µs"), 1e-6, 1e-18);
  EXPECT_NEAR(*parse_latency("500ns"), 5e-7, 1e-18);
  EXPECT_NEAR(*parse_latency("2 ms"), 2e-3, 1e-15);
  EXPECT_NEAR(*parse_latency("0.25s"), 0.25, 1e-12);
  EXPECT_NEAR(*parse_latency("3"), 3, 1e-12);
  EXPECT_NEAR(*parse_latency("0us"), 0, 1e-18);
  for (const std::string text : {"", "us", "-1us", "1min", "1US", "nan", "1..2us"})
    EXPECT_FALSE(parse_latency(text).ok()) << text;
}

}  // namespace
}  // namespace libcoll::topology_reader_test
