// What the emulated fabric writes down about itself, and what it reads from the kernel.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "libcoll/fabric/counters.h"
#include "libcoll/fabric/fabric.h"
#include "libcoll/fabric/namespaces.h"
#include "libcoll/fabric/processes.h"
#include "libcoll/fabric/state.h"
#include "planner/route/sssp.h"
#include "planner/topology/facts.h"
#include "planner/topology/reader.h"
#include "planner/topology/writer.h"

namespace libcoll::fabric_state_test {

using namespace fabric;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

FabricState sample(const std::string& specification) {
  FabricState state;
  state.name = "sample";
  state.control = {100, 1};
  state.topology = emulated_topology(load_topology(specification).value(), 12'500'000).value();
  for (pid_t node = 0; node < state.topology.node_count(); ++node) state.holders.push_back({101 + node, 2});
  state.cut.assign(state.topology.links().size(), false);
  state.classes = 3;
  state.ranks_per_node = 2;
  state.default_routes = "sssp";
  state.planned = sssp_routes(state.topology).value();
  for (Route& route : state.planned) route.route_class = 1 + route.source % 3;
  state.up_since = 12.34375;
  return state;
}

TEST(FabricState, ReadsBackWhatItWrote) {
  FabricState state = sample("torus:3x3");
  state.cut[5] = true;
  const Result<FabricState> read = read_state(write_state(state));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, state);
}

/// Restores the variable at the end.
class RuntimeDirectory {
 public:
  explicit RuntimeDirectory(const std::string& path) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, path.c_str(), 1);
  }
  RuntimeDirectory(const RuntimeDirectory&) = delete;
  RuntimeDirectory& operator=(const RuntimeDirectory&) = delete;
  ~RuntimeDirectory() { before_ ? setenv(name, before_->c_str(), 1) : unsetenv(name); }

 private:
  static constexpr const char* name = "XDG_RUNTIME_DIR";
  std::optional<std::string> before_;
};

// Whoever can make a directory there first can keep fabrics from coming up.
TEST(FabricState, DirectoryIsWhereNobodyElseCanMakeIt) {
  std::string own = testing::TempDir() + "libcoll-runtime-XXXXXX";
  ASSERT_NE(mkdtemp(own.data()), nullptr);  // mode 0700
  const RuntimeDirectory variable(own);
  const std::filesystem::path parent = std::filesystem::path(fabrics_directory()).parent_path();
  struct stat facts {};
  ASSERT_EQ(stat(parent.c_str(), &facts), 0) << parent;
  EXPECT_EQ(facts.st_uid, geteuid()) << parent;
  EXPECT_EQ(facts.st_mode & 022U, 0U) << parent;
  // One that others can use is passed over.
  ASSERT_EQ(chmod(own.c_str(), 0777), 0);
  EXPECT_NE(std::filesystem::path(fabrics_directory()).parent_path(), own);
  std::filesystem::remove_all(own);
}

TEST(FabricState, RefusesOtherText) {
  EXPECT_FALSE(read_state("").ok());
  EXPECT_FALSE(read_state("[]").ok());
  EXPECT_FALSE(read_state("{\"format\":2}").ok());
  std::string text = write_state(sample("ring:3"));
  const std::size_t place = text.find("\"classes\":3");
  ASSERT_NE(place, std::string::npos);
  EXPECT_FALSE(read_state(text.replace(place, 11, "\"classes\":\"\"")).ok());
  text = write_state(sample("ring:3"));
  EXPECT_FALSE(read_state(text.replace(text.find("[101,2],"), 8, "")).ok());  // a holder less than nodes
}

TEST(FabricState, TopologyFileIsTheFabric) {
  // Names, link order and bandwidths survive, so that a plan for the file has the same link ids and the same symmetry.
  for (const char* specification : {"torus:3x3x3", "genkautz:8,2", "hypercube:3"}) {
    const Topology topology = sample(specification).topology;
    const Result<Topology> read = read_topology(write_topology(topology), "topology.toml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, topology);
    EXPECT_EQ(translations(*read).empty(), translations(topology).empty());
  }
}

TEST(FabricState, TopologyFileKeepsStrangeNamesAndSwitches) {
  Topology topology = Topology::make("a \"b\" \\ c", {{"x\ty", "h0", false}, {"z", "h1", false}, {"s", "", true}},
                                     {{0, 2, 7, 0}, {2, 0, 7, 1.0 / 3}, {1, 2, 9, 1e-6}, {2, 1, 9, 1e-6}})
                          .value();
  topology.set_nics_forward(false);
  topology.set_injection_bytes_per_second(11);
  const Result<Topology> read = read_topology(write_topology(topology), "topology.toml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, topology);
}

TEST(FabricState, CutLinksAreGoneFromTheCurrentTopology) {
  FabricState state = sample("torus:3x3");
  EXPECT_EQ(current_topology(state), state.topology);
  const LinkId cut = state.topology.find_link(0, 1);
  state.cut[static_cast<std::size_t>(cut)] = true;
  const Topology current = current_topology(state);
  EXPECT_EQ(current.link_count(), state.topology.link_count() - 1);
  EXPECT_EQ(current.find_link(0, 1), -1);
  EXPECT_GE(current.find_link(1, 0), 0);
  EXPECT_NE(current.name(), state.topology.name());  // the name would promise the whole torus
}

TEST(FabricState, NamesAreFitForPaths) {
  for (const char* good : {"default", "a.b-c_1", "7"}) EXPECT_TRUE(check_fabric_name(good).ok()) << good;
  for (const char* bad : {"", ".", "..", "a/b", "-x", "a b", "ä"}) EXPECT_FALSE(check_fabric_name(bad).ok()) << bad;
  EXPECT_FALSE(check_fabric_name(std::string(65, 'a')).ok());
}

TEST(FabricState, NodesAreFoundByNameThenHostThenNumber) {
  const Topology topology = Topology::make("t", {{"1", "h0", false}, {"x", "h1", false}}, {{0, 1}, {1, 0}}).value();
  EXPECT_EQ(find_node(topology, "1"), 0);
  EXPECT_EQ(find_node(topology, "h1"), 1);
  EXPECT_EQ(find_node(topology, "0"), 0);
  EXPECT_EQ(find_node(topology, "2"), -1);
  EXPECT_EQ(find_node(topology, "0x"), -1);
}

TEST(FabricCounters, DevicesAreRead) {
  const auto devices = parse_devices(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n"
      "    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0 "
      "   "
      "      0\n"
      "   t12: 9000000001  20    0    3    0     0          0         0 18446744073709551615  40    5    6    0     0  "
      " "
      "    0          0\n");
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices.at("t12").bytes, 18446744073709551615U);
  EXPECT_EQ(devices.at("t12").packets, 40U);
  EXPECT_EQ(devices.at("t12").drops, 6U);
  EXPECT_TRUE(parse_devices("").empty());
}

TEST(FabricCounters, RetransmitsAreRead) {
  EXPECT_EQ(parse_retransmits("Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                              "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn InSegs OutSegs RetransSegs InErrs\n"
                              "Tcp: 1 200 120000 -1 11 12 13 14\n"),
            13U);
  EXPECT_EQ(parse_retransmits(""), 0U);
}

TEST(FabricCounters, ShaperDropsAreRead) {
  const auto drops = parse_shapers(
      R"([{"kind":"noqueue","dev":"lo","drops":0},{"kind":"tbf","dev":"t1","drops":7},{"kind":"tbf","dev":"t2"}])");
  ASSERT_EQ(drops.count("t1"), 1U);
  EXPECT_EQ(drops.at("t1"), 7U);
  EXPECT_EQ(drops.count("t2"), 0U);
  EXPECT_TRUE(parse_shapers("nonsense").empty());
}

TEST(FabricProcesses, AnotherStartTimeIsAnotherProcess) {
  const auto start = start_time(getpid());
  ASSERT_TRUE(start.has_value());
  EXPECT_TRUE(is_running({getpid(), *start}));
  EXPECT_FALSE(is_running({getpid(), *start + 1}));
  EXPECT_TRUE(open_process({getpid(), *start}));
  EXPECT_FALSE(open_process({getpid(), *start + 1}));
  EXPECT_FALSE(is_running({-1, 0}));
  EXPECT_EQ(join_namespaces({getpid(), *start + 1}).ok(), false);
}

}  // namespace
}  // namespace libcoll::fabric_state_test
