// Where ranks are: placement files, host names and what schedulers call hosts, rank order.
#include "libcoll/comm/rank_nodes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "libcoll/comm/placement_file.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::rank_nodes_test {

using namespace comm;
using namespace topology;

namespace {

Topology named_ring() {
  return read_topology("generator = \"ring:3\"\nhosts = \"c1.x.org,c2.x.org,d1\"\n", "ring.toml").value();
}

RankIdentity on(const std::string& host, const std::vector<std::string>& aliases = {}) {
  RankIdentity identity;
  set_names(identity, host, aliases);
  return identity;
}

std::vector<RankIdentity> world(const std::vector<std::string>& hosts) {
  std::vector<RankIdentity> ranks;
  for (const std::string& host : hosts) {
    ranks.push_back(on(host));
    ranks.back().world_rank = static_cast<std::int32_t>(ranks.size() - 1);
    ranks.back().world_size = static_cast<std::int32_t>(hosts.size());
  }
  return ranks;
}

using Nodes = std::vector<NodeId>;

TEST(RankNodes, HostNamesTell) {
  EXPECT_EQ(nodes_of_ranks(named_ring(), world({"d1", "c1.x.org", "d1"}), false).nodes, (Nodes{2, 0, 2}));
}

TEST(RankNodes, NamesAreEqualUpToTheFirstDot) {
  EXPECT_EQ(nodes_of_ranks(named_ring(), world({"c2", "d1.y.org"}), false).nodes, (Nodes{1, 2}));
}

TEST(RankNodes, AmbiguousShortNamesTellNothing) {
  const Topology ring = read_topology("generator = \"ring:3\"\nhosts = \"a.x,a.y,b\"\n", "ring.toml").value();
  const RankNodes found = nodes_of_ranks(ring, world({"b", "a"}), false);
  EXPECT_TRUE(found.nodes.empty());
  EXPECT_EQ(found.unknown, 1U);
  EXPECT_EQ(nodes_of_ranks(ring, world({"b", "a.y"}), false).nodes, (Nodes{2, 1}));
}

TEST(RankNodes, AliasesComeAfterTheName) {
  const std::vector<RankIdentity> ranks{on("login", {"elsewhere", "d1"}), on("c1", {"d1"})};
  EXPECT_EQ(nodes_of_ranks(named_ring(), ranks, false).nodes, (Nodes{2, 0}));
}

TEST(RankNodes, TheFirstUnknownHostIsNamed) {
  const std::vector<RankIdentity> ranks = world({"c1", "e7", "e8"});
  const RankNodes found = nodes_of_ranks(named_ring(), ranks, false);
  EXPECT_TRUE(found.nodes.empty());
  ASSERT_EQ(found.unknown, 1U);
  EXPECT_EQ(unknown_host_sentence(named_ring(), ranks[1]),
            "rank 1 is on 'e7', which the topology 'ring:3' does not have; expected one of c1.x.org, c2.x.org, d1");
}

TEST(RankNodes, PlacementComesBeforeNames) {
  std::vector<RankIdentity> ranks = world({"c1", "c1"});
  ranks[0].placed = 2;
  ranks[1].placed = 1;
  EXPECT_EQ(nodes_of_ranks(named_ring(), ranks, false).nodes, (Nodes{2, 1}));
  ranks[1].placed = not_placed;  // its file is not there: nobody guesses
  EXPECT_EQ(nodes_of_ranks(named_ring(), ranks, false).unknown, 1U);
  ranks[1].placed = 3;
  EXPECT_EQ(nodes_of_ranks(named_ring(), ranks, false).unknown, 1U);
}

TEST(RankNodes, WithoutNamesRanksOrHostsAreInOrder) {
  const Topology ring = generate("ring:3").value();
  EXPECT_EQ(nodes_of_ranks(ring, world({"x", "x", "y"}), false).nodes, (Nodes{0, 1, 2}));
  EXPECT_EQ(nodes_of_ranks(ring, world({"z", "y", "z", "x"}), false).nodes, (Nodes{0, 1, 0, 2}));
  EXPECT_TRUE(nodes_of_ranks(ring, world({"x", "x", "y", "y"}), false).nodes.empty());
  EXPECT_TRUE(nodes_of_ranks(ring, world({"x", "y", "z"}), true).nodes.empty());
}

TEST(RankNodes, SchedulersNameTheHost) {
  const std::string path = (std::filesystem::temp_directory_path() / ("nodefile" + std::to_string(getpid()))).string();
  std::ofstream(path) << "c1.x.org\nc1.x.org\nc2.x.org\n";
  const auto names = [](const std::string& host, std::vector<std::string> entries) {
    std::vector<char*> environment;
    environment.reserve(entries.size() + 1);
    for (std::string& entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    return names_of_host(host, environment.data());
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("h", {"SLURMD_NODENAME=s1", "PMIX_HOSTNAME=p1"}), (Names{"p1", "s1"}));
  EXPECT_EQ(names("s1", {"SLURMD_NODENAME=s1"}), Names{});
  EXPECT_EQ(names("c2", {"PBS_NODEFILE=" + path}), Names{"c2.x.org"});
  EXPECT_EQ(names("h", {"PBS_NODEFILE=" + path, "PBS_NODENUM=1"}), Names{"c2.x.org"});
  EXPECT_EQ(names("h", {"PBS_NODEFILE=" + path, "PBS_NODENUM=2"}), Names{});
  EXPECT_EQ(names("h", {"PBS_NODEFILE=/nowhere"}), Names{});
  std::filesystem::remove(path);
}

TEST(Placement, LinesAreThoseOfARankfile) {
  const std::string text = "# by hand\nrank 0=d1 slot=0:1\n\nrank 1 = c1\nrank 2=1\n";
  EXPECT_EQ(read_placement(text, "p", named_ring(), 0).value(), 2);
  EXPECT_EQ(read_placement(text, "p", named_ring(), 1).value(), 0);
  EXPECT_EQ(read_placement(text, "p", named_ring(), 2).value(), 1);  // a node's name
}

TEST(Placement, ErrorsSayWhere) {
  const auto message = [](const std::string& text, std::int32_t rank) {
    return read_placement(text, "p", named_ring(), rank).error().message;
  };
  EXPECT_EQ(message("rank 0=d1\n", 1), "p: found no rank 1, expected a line for every rank");
  EXPECT_EQ(message("rank 0=e1\n", 0), "p:1: found 'e1', expected a host or node of 'ring:3'");
  EXPECT_EQ(message("\nrank 0=d1\nrank 0=c1\n", 0), "p:3: found rank 0 a second time, expected it once");
  EXPECT_EQ(message("0 d1\n", 0), "p:1: found '0 d1', expected a line such as rank 0=HOST");
  EXPECT_EQ(load_placement("/nowhere", named_ring(), 0).error().message.substr(0, 35),
            "found no placement file '/nowhere' ");
}

}  // namespace
}  // namespace libcoll::rank_nodes_test
