// Parts of fabrics: what is left of a graph when only some hosts take part, and which parts are the same.
#include "planner/topology/part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "planner/topology/generators.h"

namespace libcoll::part_test {

using namespace topology;

namespace {

using Nodes = std::vector<NodeId>;

Topology fabric(const std::string& specification, bool nics_forward = true) {
  Topology topology = generate(specification).value();
  topology.set_nics_forward(nics_forward);
  return topology;
}

Topology part(const Topology& topology, const Nodes& hosts) { return part_of(topology, hosts).value(); }

Nodes random_hosts(std::int32_t count, std::int32_t taken, std::mt19937& random) {
  Nodes hosts(static_cast<std::size_t>(count));
  std::iota(hosts.begin(), hosts.end(), 0);
  std::shuffle(hosts.begin(), hosts.end(), random);
  hosts.resize(static_cast<std::size_t>(taken));
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

TEST(Part, TheOthersRouteWhereNicsForward) {
  const Topology row = part(fabric("torus:3x3"), {3, 4, 5});
  EXPECT_EQ(row.name(), "torus:3x3 part 3-5");
  EXPECT_EQ(row.host_count(), 3);
  EXPECT_EQ(row.node_count(), 9);
  EXPECT_EQ(row.link_count(), 36);
  EXPECT_EQ(row.node(0).name, "3");
  EXPECT_EQ(row.node(2).name, "5");
  EXPECT_FALSE(row.node(2).is_switch);
  EXPECT_TRUE(row.node(3).is_switch);
  EXPECT_EQ(row.node(3).name, "0");
  EXPECT_GE(row.find_link(0, 1), 0);
  EXPECT_GE(row.find_link(0, 3), 0);  // 3 to 0, its neighbour in the column
  EXPECT_LT(row.find_link(0, 4), 0);  // 3 to 1
}

TEST(Part, TheOthersGoWhereNicsDoNotForward) {
  const Topology row = part(fabric("torus:3x3", false), {3, 4, 5});
  EXPECT_EQ(row.node_count(), 3);
  EXPECT_EQ(row.link_count(), 6);
  EXPECT_FALSE(row.nics_forward());
  EXPECT_TRUE(check_connected(row).ok());
  EXPECT_FALSE(check_connected(part(fabric("torus:4x4", false), {0, 5, 10})).ok());
  EXPECT_TRUE(check_connected(part(fabric("torus:4x4", true), {0, 5, 10})).ok());
}

TEST(Part, SwitchesOfTheFabricStayWhateverNicsDo) {
  const Topology tree = fabric("fat_tree:4,2", false);
  const Topology two = part(tree, {0, tree.host_count() - 1});
  EXPECT_EQ(two.host_count(), 2);
  EXPECT_EQ(two.node_count(), 2 + tree.node_count() - tree.host_count());
  EXPECT_TRUE(check_connected(two).ok());
}

TEST(Part, RowsAndColumnsOfATorusAreEqualButForNames) {
  const Topology torus = fabric("torus:3x3", false);
  const Topology first = part(torus, {0, 1, 2});
  for (const Nodes& hosts : {Nodes{3, 4, 5}, Nodes{6, 7, 8}, Nodes{0, 3, 6}, Nodes{2, 5, 8}}) {
    const Topology other = part(torus, hosts);
    EXPECT_TRUE(std::equal(first.links().begin(), first.links().end(), other.links().begin(), other.links().end()));
  }
}

TEST(Part, HostsAloneKeepTheirLinks) {
  const Topology whole = part(fabric("torus:3x3"), {0, 1, 4});
  const Topology hosts = without_switches(whole);
  EXPECT_EQ(hosts.node_count(), 3);
  const std::vector<LinkId> links = links_without_switches(whole);
  ASSERT_EQ(links.size(), 4U);  // 0-1, 1-4
  for (std::size_t i = 0; i < links.size(); ++i) EXPECT_EQ(whole.link(links[i]), hosts.link(static_cast<LinkId>(i)));
}

TEST(Part, RefusesWhatIsNoPart) {
  const Topology torus = fabric("torus:3x3");
  for (const Nodes& hosts : {Nodes{}, Nodes{4}, Nodes{1, 0}, Nodes{1, 1}, Nodes{-1, 2}, Nodes{0, 9}}) {
    EXPECT_FALSE(part_of(torus, hosts).ok());
  }
}

TEST(Part, TranslationsOfASetHaveOneImage) {
  std::mt19937 random(5);
  for (const char* specification : {"torus:4x3", "hypercube:4", "circulant:12,2,3", "complete:7", "ring:9"}) {
    const Topology topology = fabric(specification);
    const std::vector<Automorphism> group = translations(topology);
    ASSERT_FALSE(group.empty()) << specification;
    for (int i = 0; i < 20; ++i) {
      const Nodes hosts = random_hosts(topology.host_count(), 2 + i % 4, random);
      const MovedHosts moved = move_hosts(group, hosts);
      EXPECT_EQ(moved.image.front(), 0);
      EXPECT_TRUE(std::is_sorted(moved.image.begin(), moved.image.end()));
      EXPECT_TRUE(std::is_permutation(moved.nodes.begin(), moved.nodes.end(), hosts.begin(), hosts.end()));
      // Some automorphism does it, so that what is planned for the image serves the set.
      EXPECT_TRUE(std::any_of(group.begin(), group.end(), [&](const Automorphism& g) {
        for (std::size_t k = 0; k < hosts.size(); ++k) {
          if (g[static_cast<std::size_t>(moved.nodes[k])] != moved.image[k]) return false;
        }
        return true;
      }));
      const Automorphism& by = group[random() % group.size()];
      Nodes other;
      for (const NodeId host : hosts) other.push_back(by[static_cast<std::size_t>(host)]);
      std::sort(other.begin(), other.end());
      EXPECT_EQ(move_hosts(group, other).image, moved.image);
    }
  }
}

TEST(Part, NothingMovesWithoutAGroup) {
  const MovedHosts moved = move_hosts({}, {2, 5});
  EXPECT_EQ(moved.image, (Nodes{2, 5}));
  EXPECT_EQ(moved.nodes, (Nodes{2, 5}));
}

TEST(Part, RangesOfNodesAsText) {
  for (const auto& [nodes, text] : {std::pair<Nodes, std::string>{{0, 1, 2, 6}, "0-2,6"},
                                    {{3}, "3"},
                                    {{0, 2, 4}, "0,2,4"},
                                    {{1, 2, 4, 5}, "1-2,4-5"}}) {
    EXPECT_EQ(node_ranges(nodes), text);
    const Result<Nodes> parsed = parse_node_ranges(text, 7);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, nodes);
  }
  for (const char* text : {"", "7", "0,", "2-1", "1,1", "0-2,2", "a", "-1", "0--1", "1 2", "99999999999"}) {
    const Result<Nodes> parsed = parse_node_ranges(text, 7);
    EXPECT_FALSE(parsed.ok()) << text;
  }
}

}  // namespace
}  // namespace libcoll::part_test
