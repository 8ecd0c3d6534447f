#include "planner/topology/automorphisms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"

namespace libcoll::automorphisms_test {

using namespace test;
using namespace topology;

namespace {

constexpr double ample_seconds = 60;

Topology of_cables(const char* name, std::int32_t nodes, const std::vector<std::pair<NodeId, NodeId>>& cables) {
  std::vector<Link> links;
  for (const auto& [a, b] : cables) {
    links.push_back({a, b});
    links.push_back({b, a});
  }
  return Topology::make(name, numbered_nodes(nodes), links).value();
}

/// Outer ring 0-4, inner pentagram 5-9, spokes.
Topology petersen() {
  std::vector<std::pair<NodeId, NodeId>> cables;
  for (NodeId i = 0; i < 5; ++i) {
    cables.emplace_back(i, (i + 1) % 5);
    cables.emplace_back(5 + i, 5 + (i + 2) % 5);
    cables.emplace_back(i, 5 + i);
  }
  return of_cables("petersen", 10, cables);
}

struct OrderCase {
  const char* specification;
  std::int64_t order;
};

class GroupOrder : public testing::TestWithParam<OrderCase> {};

TEST_P(GroupOrder, IsFoundWholeWithGeneratorsThatHold) {
  Topology topology = generate(GetParam().specification).value();
  for (const bool named : {true, false}) {
    if (!named) topology.set_name("unknown");
    const AutomorphismGroup group = find_automorphisms(topology, ample_seconds);
    EXPECT_TRUE(group.complete);
    EXPECT_EQ(group.order, GetParam().order);
    for (const Automorphism& generator : group.generators) EXPECT_TRUE(is_automorphism(topology, generator));
  }
}

// hypercube d: 2^d·d!. torus a^n, a ≥ 5 or 3: (2a)^n·n! (the dihedral group of the ring wreath S_n); 4x4x4 is
// hypercube:6. ring n: 2n; uniring n: n; complete n: n!; K_{a,b}: a!b!, twice that for a = b; mesh 3x4: 4, 3x3: 8.
// circulant 8,1,2 (not a torus): dihedral, 16. genkautz:N,d with gcd(N, d+1) = g has at least 2g (planner-figures.md).
INSTANTIATE_TEST_SUITE_P(Known, GroupOrder,
                         testing::Values(OrderCase{"hypercube:3", 48}, OrderCase{"hypercube:5", 3840},
                                         OrderCase{"torus:4x4x4", 46080}, OrderCase{"torus:5x5", 200},
                                         OrderCase{"torus:3x3x3", 1296}, OrderCase{"torus:5x6", 120},
                                         OrderCase{"ring:9", 18}, OrderCase{"uniring:7", 7},
                                         OrderCase{"complete:6", 720}, OrderCase{"complete_bipartite:3,4", 144},
                                         OrderCase{"complete_bipartite:4,4", 1152}, OrderCase{"mesh:3x4", 4},
                                         OrderCase{"mesh:3x3", 8}, OrderCase{"circulant:8,1,2", 16}),
                         [](const auto& test) {
                           std::string name = test.param.specification;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == ':' || c == ','; }, '_');
                           return name;
                         });

TEST(Automorphisms, PetersenHas120AndNoneRegular) {
  const Topology topology = petersen();
  const AutomorphismGroup group = find_automorphisms(topology, ample_seconds);
  EXPECT_EQ(group.order, 120);  // S_5 (Holton and Sheehan 1993)
  // Vertex-transitive, but no group of order 10 acts regularly, and this one has stabilisers.
  const std::vector<Automorphism> to = transversal(topology, group.generators, 0);
  EXPECT_TRUE(std::none_of(to.begin(), to.end(), [](const Automorphism& g) { return g.empty(); }));
  EXPECT_FALSE(semiregular_group(topology, group.generators));
}

TEST(Automorphisms, TheLargestGroupsSaturate) {
  const AutomorphismGroup group = find_automorphisms(generate("complete:30").value(), ample_seconds);
  EXPECT_EQ(group.order, std::numeric_limits<std::int64_t>::max());
}

TEST(Automorphisms, AgreesWithTryingEveryPermutation) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Topology topology = random_regular(6, 2, seed);
    if (seed % 2 == 0) {  // some links are faster
      std::vector<Link> links(topology.links().begin(), topology.links().end());
      for (Link& link : links) link.bandwidth_bytes_per_second = random() % 4 == 0 ? 2 : 1;
      topology = Topology::make("uneven", numbered_nodes(6), links).value();
    }
    Automorphism permutation(6);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::int64_t order = 0;
    do {
      order += is_automorphism(topology, permutation) ? 1 : 0;
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    const AutomorphismGroup group = find_automorphisms(topology, ample_seconds);
    EXPECT_TRUE(group.complete);
    EXPECT_EQ(group.order, order);
  }
}

TEST(Automorphisms, SwitchesStaySwitches) {
  // Two hosts and two switches in a ring of four, alternating: exchanging the hosts, exchanging the switches.
  std::vector<Node> nodes = numbered_nodes(4);
  nodes[2].is_switch = nodes[3].is_switch = true;
  std::vector<Link> links;
  for (const auto& [a, b] : {std::pair{0, 2}, {2, 1}, {1, 3}, {3, 0}}) {
    links.push_back({a, b});
    links.push_back({b, a});
  }
  EXPECT_EQ(find_automorphisms(Topology::make("ring", nodes, links).value(), ample_seconds).order, 4);
}

TEST(Automorphisms, KautzSymmetriesByFormula) {
  // x → x + N/g, g = gcd(N, d+1), and x → −1−x generate a group of order 2g (planner-figures.md).
  for (const auto& [specification, order] :
       {std::pair{"genkautz:100,4", 10}, {"genkautz:1000,4", 10}, {"genkautz:32,4", 2}, {"genkautz:30,2", 6}}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const auto generators = family_automorphisms(topology);
    const auto group = semiregular_group(topology, generators);
    ASSERT_TRUE(group);
    EXPECT_EQ(group->size(), static_cast<std::size_t>(order));
    EXPECT_EQ(std::set<Automorphism>(group->begin(), group->end()).size(), group->size());
    for (const Automorphism& element : *group) EXPECT_TRUE(is_automorphism(topology, element));
  }
}

TEST(Automorphisms, AMisleadingNameGivesNone) {
  Topology topology = random_regular(12, 3, 3);
  for (const char* name : {"torus:3x4", "hypercube:4", "genkautz:12,3", "circulant:12,1,2", "complete:12"}) {
    topology.set_name(name);
    EXPECT_TRUE(family_automorphisms(topology).empty()) << name;
  }
}

TEST(Automorphisms, StabiliserAndTransversalMakeUpTheGroup) {
  const Topology topology = generate("hypercube:3").value();
  const AutomorphismGroup group = find_automorphisms(topology, ample_seconds);
  const std::vector<Automorphism> to = transversal(topology, group.generators, 0);
  const std::vector<Automorphism> fixed = stabiliser(group.generators, to, 0);
  for (NodeId host = 0; host < 8; ++host) EXPECT_EQ(to[static_cast<std::size_t>(host)][0], host);
  // The stabiliser of a corner permutes its three neighbours as it likes.
  std::set<std::array<NodeId, 3>> seen;
  for (const Automorphism& element : fixed) {
    EXPECT_TRUE(is_automorphism(topology, element));
    EXPECT_EQ(element[0], 0);
    seen.insert({element[1], element[2], element[4]});
  }
  EXPECT_GE(seen.size(), 2U);
}

TEST(Automorphisms, NoTimeGivesTheIdentityAndSaysSo) {
  const AutomorphismGroup group = find_automorphisms(petersen(), 0);
  EXPECT_FALSE(group.complete);
  EXPECT_TRUE(group.generators.empty());
  EXPECT_EQ(group.order, 1);
}

}  // namespace
}  // namespace libcoll::automorphisms_test
