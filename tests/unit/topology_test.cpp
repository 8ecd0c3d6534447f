// Families of topologies against theory, and the facts, symmetries and transposes built on them.
#include "planner/topology/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology_test {

using namespace topology;

namespace {

Topology made(const std::string& specification) {
  Result<Topology> topology = generate(specification);
  EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().message);
  return topology.ok() ? *topology : Topology();
}

std::vector<Node> named_nodes(std::int32_t count) {
  std::vector<Node> nodes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].name = std::to_string(i);
  return nodes;
}

std::string refusal(const Result<Topology>& topology) { return topology.ok() ? "accepted" : topology.error().message; }

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

// ---- families ----

TEST(Families, EveryExampleOfTheTableIsMade) {
  for (const Generator& generator : generators()) {
    const Topology topology = made(std::string(generator.example));
    EXPECT_GT(topology.link_count(), 0) << generator.name;
    EXPECT_EQ(generator.example.substr(0, generator.name.size()), generator.name);
    EXPECT_EQ(generator.form.substr(0, generator.name.size()), generator.name);
  }
}

TEST(Families, TorusIsNumberedRowMajor) {
  const Topology topology = made("torus:3x4x2");
  // Node (a,b,c) has the id (a·4 + b)·2 + c; (1,3,0) = 14 has a-neighbours 22 and 6, b-neighbours (1,0,0) = 8
  // and (1,2,0) = 12, and the one c-neighbour 15.
  std::set<NodeId> neighbours;
  for (const LinkId id : topology.out_links(14)) neighbours.insert(topology.link(id).to);
  EXPECT_EQ(neighbours, (std::set<NodeId>{22, 6, 8, 12, 15}));
}

TEST(Families, TorusOfTwosIsTheHypercube) {
  const Topology torus = made("torus:2x2x2");
  const Topology cube = made("hypercube:3");
  EXPECT_TRUE(std::equal(torus.links().begin(), torus.links().end(), cube.links().begin(), cube.links().end()));
  for (const Link& link : cube.links()) {
    const auto differing = static_cast<unsigned>(link.from ^ link.to);
    EXPECT_EQ(differing & (differing - 1), 0U) << link.from << " " << link.to;
  }
}

TEST(Families, MeshIsTheTorusWithoutItsWrap) {
  const Topology mesh = made("mesh:4x4");
  EXPECT_EQ(mesh.find_link(0, 3), -1);
  EXPECT_EQ(mesh.find_link(3, 4), -1);
  EXPECT_NE(mesh.find_link(3, 7), -1);
}

// Esfahanian, Ni and Sagan 1991: two cables of a cycle of four change partners, all others stay.
TEST(Families, TwistedHypercubeDiffersFromTheHypercubeInTwoCables) {
  for (const char* dimension : {"3", "4", "6"}) {
    const Topology twisted = made(std::string("twisted_hypercube:") + dimension);
    const Topology cube = made(std::string("hypercube:") + dimension);
    ASSERT_EQ(twisted.link_count(), cube.link_count());
    std::set<std::pair<NodeId, NodeId>> added;
    for (const Link& link : twisted.links()) {
      if (cube.find_link(link.from, link.to) < 0) added.emplace(link.from, link.to);
    }
    EXPECT_EQ(added, (std::set<std::pair<NodeId, NodeId>>{{0, 3}, {3, 0}, {1, 2}, {2, 1}}));
    for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {2, 3}, {3, 2}}) EXPECT_EQ(twisted.find_link(from, to), -1);
  }
}

std::set<std::pair<NodeId, NodeId>> ends_of(const Topology& topology) {
  std::set<std::pair<NodeId, NodeId>> ends;
  for (const Link& link : topology.links()) ends.emplace(link.from, link.to);
  return ends;
}

std::string random_regular_specification(std::int32_t n, std::int32_t d, std::int32_t seed) {
  return "random_regular:" + std::to_string(n) + "," + std::to_string(d) + "," + std::to_string(seed);
}

TEST(RandomRegular, EveryNodeHasItsCables) {
  for (std::int32_t n = 2; n <= 13; ++n) {
    for (std::int32_t d = n == 2 ? 1 : 2; d < n; ++d) {
      if (n * d % 2 != 0) continue;
      for (std::int32_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(random_regular_specification(n, d, seed));
        const Topology topology = made(random_regular_specification(n, d, seed));
        const Facts facts = graph_facts(topology);
        EXPECT_EQ(facts.nodes, n);
        EXPECT_EQ(facts.links, n * d);
        EXPECT_EQ(facts.degree_min, d);
        EXPECT_EQ(facts.degree_max, d);
        EXPECT_TRUE(facts.connected);
        for (const Link& link : topology.links()) EXPECT_NE(topology.find_link(link.to, link.from), -1);
      }
    }
  }
  const Facts large = graph_facts(made("random_regular:1000,4,1"));
  EXPECT_EQ(large.degree_min, 4);
  EXPECT_EQ(large.degree_max, 4);
}

TEST(RandomRegular, ASeedAlwaysGivesTheSameAndAnotherAnother) {
  EXPECT_EQ(made("random_regular:16,4,1"), made("random_regular:16,4,1"));
  EXPECT_NE(ends_of(made("random_regular:16,4,1")), ends_of(made("random_regular:16,4,2")));
  // The promise is to whoever quotes a seed: this very wiring, on every machine and with every standard library.
  EXPECT_EQ(ends_of(made("random_regular:6,2,1")),
            (std::set<std::pair<NodeId, NodeId>>{
                {0, 3}, {3, 0}, {0, 5}, {5, 0}, {1, 2}, {2, 1}, {1, 3}, {3, 1}, {2, 4}, {4, 2}, {4, 5}, {5, 4}}));
}

// Connected graphs of degree 2 on 6 nodes are the rings, 5!/2 = 60 of them, all equally likely. With 1200 seeds each is
// met 20 times on average (deviation 4.4) if the draw is fair.
TEST(RandomRegular, MeetsEveryGraphAboutEquallyOften) {
  std::map<std::set<std::pair<NodeId, NodeId>>, int> met;
  for (std::int32_t seed = 0; seed < 1200; ++seed) ++met[ends_of(made(random_regular_specification(6, 2, seed)))];
  EXPECT_EQ(met.size(), 60U);
  for (const auto& [graph, times] : met) {
    EXPECT_GT(times, 3);
    EXPECT_LT(times, 42);  // five deviations
  }
}

// Paper 000 Definition 16: x → −d·x − a mod N for a = 1..d.
TEST(Families, GenkautzArcsFollowTheFormula) {
  for (const auto& [n, d] : {std::pair{27, 4}, std::pair{16, 4}, std::pair{32, 4}, std::pair{11, 2}, std::pair{9, 5}}) {
    std::set<std::pair<NodeId, NodeId>> expected;
    for (int x = 0; x < n; ++x) {
      for (int a = 1; a <= d; ++a) {
        const int y = ((-d * x - a) % n + n) % n;
        if (x != y) expected.emplace(x, y);
      }
    }
    const Topology topology = made("genkautz:" + std::to_string(n) + "," + std::to_string(d));
    std::set<std::pair<NodeId, NodeId>> arcs;
    for (const Link& link : topology.links()) arcs.emplace(link.from, link.to);
    EXPECT_EQ(arcs, expected) << n << "," << d;
    EXPECT_EQ(arcs.size(), static_cast<std::size_t>(topology.link_count()));
  }
}

TEST(Families, CablesHaveBothDirections) {
  for (const std::string specification : {"torus:2x3x4", "mesh:3x5", "ring:6", "hypercube:4", "complete:6",
                                          "complete_bipartite:3,4", "circulant:10,1,5,3", "twisted_hypercube:4"}) {
    const Topology topology = made(specification);
    for (const Link& link : topology.links()) EXPECT_NE(topology.find_link(link.to, link.from), -1) << specification;
  }
}

// ---- the graph itself ----

TEST(Make, RefusesWhatIsNoSimpleDigraph) {
  const auto made_of = [](std::vector<Link> links) {
    return refusal(Topology::make("test", named_nodes(3), std::move(links)));
  };
  EXPECT_EQ(made_of({{0, 1}, {1, 2}, {2, 0}}), "accepted");
  expect_contains(made_of({{0, 1}, {1, 1}}), "found a link from '1' to '1', expected two different nodes");
  expect_contains(made_of({{0, 1}, {1, 2}, {0, 1}}), "found two links from '0' to '1'");
  expect_contains(made_of({{0, 3}}), "found a link from node 0 to node 3, expected ids below 3");
  expect_contains(made_of({{-1, 0}}), "node -1");
  expect_contains(made_of({{0, 1, 0, 0}}), "found a bandwidth of 0 bytes per second");
  expect_contains(made_of({{0, 1, -7, 0}}), "found a bandwidth of -7 bytes per second");
  expect_contains(made_of({{0, 1, 1, -1e-6}}), "latency");
  expect_contains(made_of({{0, 1, 1, std::numeric_limits<double>::quiet_NaN()}}), "latency");
}

TEST(Make, RefusesSwitchesNumberedBeforeHosts) {
  std::vector<Node> nodes = named_nodes(3);
  nodes[1].is_switch = true;
  expect_contains(refusal(Topology::make("test", nodes, {{0, 1}})), "found host '2' numbered after switch '1'");
  std::swap(nodes[1], nodes[2]);
  const Result<Topology> topology = Topology::make("test", nodes, {{0, 1}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->host_count(), 2);
  EXPECT_EQ(topology->node_count(), 3);
}

TEST(Make, CapacitiesAreExactMultiplesOfTheSmallestBandwidth) {
  const auto topology = Topology::make("test", named_nodes(2), {{0, 1, 3'125'000'000, 0}, {1, 0, 12'000'000'000, 0}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->unit_bandwidth_bytes_per_second(), 3'125'000'000);
  EXPECT_EQ(topology->capacity(0), Rational(1));
  EXPECT_EQ(topology->capacity(1), Rational(96, 25));  // 12 / 3.125
}

TEST(Make, IndexesEveryLinkAtBothEnds) {
  const Topology topology = made("genkautz:16,4");
  std::int32_t out = 0;
  std::int32_t in = 0;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    for (const LinkId id : topology.out_links(node)) out += topology.link(id).from == node ? 1 : 0;
    for (const LinkId id : topology.in_links(node)) in += topology.link(id).to == node ? 1 : 0;
  }
  EXPECT_EQ(out, topology.link_count());
  EXPECT_EQ(in, topology.link_count());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    EXPECT_EQ(topology.find_link(topology.link(id).from, topology.link(id).to), id);
  }
}

TEST(Transpose, TurnsEveryLinkInPlace) {
  const Topology topology = made("genkautz:27,4");
  const Topology turned = transpose(topology);
  ASSERT_EQ(turned.link_count(), topology.link_count());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    EXPECT_EQ(turned.link(id).from, topology.link(id).to);
    EXPECT_EQ(turned.link(id).to, topology.link(id).from);
    EXPECT_EQ(turned.find_link(topology.link(id).to, topology.link(id).from), id);
  }
  EXPECT_FALSE(turned == topology);
  EXPECT_TRUE(transpose(turned) == topology);
}

TEST(Transpose, KeepsNodesAndSettings) {
  Topology topology = made("uniring:5");
  topology.set_injection_bytes_per_second(7);
  topology.set_nics_forward(false);
  const Topology turned = transpose(topology);
  EXPECT_EQ(turned.injection_bytes_per_second(), 7);
  EXPECT_FALSE(turned.nics_forward());
  EXPECT_EQ(turned.name(), "uniring:5");
  EXPECT_EQ(turned.link(0).to, 0);
  EXPECT_EQ(turned.link(0).from, 1);
}

// ---- facts ----

TEST(HopDistances, FollowTheDirectionOfLinks) {
  const DistanceMatrix distances = hop_distances(made("uniring:6"));
  for (std::size_t u = 0; u < 6; ++u) {
    for (std::size_t v = 0; v < 6; ++v) EXPECT_EQ(distances[u][v], static_cast<std::int32_t>((v + 6 - u) % 6));
  }
}

TEST(HopDistances, AreTheHammingDistancesOfAHypercube) {
  const DistanceMatrix distances = hop_distances(made("hypercube:5"));
  for (std::size_t u = 0; u < 32; ++u) {
    for (std::size_t v = 0; v < 32; ++v) EXPECT_EQ(distances[u][v], __builtin_popcountll(u ^ v));
  }
}

TEST(Facts, OfADisconnectedGraph) {
  const auto topology = Topology::make("test", named_nodes(3), {{0, 1}, {1, 0}, {0, 2}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(hop_distances(*topology)[2][0], -1);
  EXPECT_EQ(graph_facts(*topology).diameter, -1);
  EXPECT_FALSE(graph_facts(*topology).connected);
  EXPECT_EQ(unreachable_pair(*topology), (std::pair<NodeId, NodeId>{2, 0}));
  EXPECT_EQ(check_connected(*topology).error().message,
            "found no path from node '2' to node '0', expected every host to reach every other host");
  EXPECT_FALSE(check_connected(*Topology::make("one", named_nodes(1), {})).ok());
}

TEST(Facts, OfASwitchedGraphAreAboutHosts) {
  std::vector<Node> nodes = named_nodes(5);
  nodes[3].is_switch = nodes[4].is_switch = true;
  // Three hosts around switch 3; switch 4 hangs off it one way and need not be left again.
  const auto star = Topology::make("star", nodes, {{0, 3}, {3, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}, {3, 4}});
  ASSERT_TRUE(star.ok());
  const Facts facts = graph_facts(*star);
  EXPECT_TRUE(facts.connected);
  EXPECT_EQ(facts.diameter, 2);
  EXPECT_EQ(facts.degree_max, 1);
  EXPECT_EQ(degree(*star), 1);
  EXPECT_EQ(allgather_bandwidth_bound(*star), Rational(2, 3));  // one link in of capacity 1: (N−1)/N
}

TEST(Degree, IsTheLargestOfInAndOut) {
  const auto topology = Topology::make("test", named_nodes(4), {{0, 3}, {1, 3}, {2, 3}, {3, 0}, {0, 1}, {1, 2}});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(graph_facts(*topology).degree_max, 2);
  EXPECT_EQ(degree(*topology), 3);
}

TEST(AllgatherBound, IsSetByTheHostWithTheLeastInwardBandwidth) {
  // Links 0→1 and 1→0 with 1 and 4 units: d = 1, host 1 takes in 1 shard of 2 over 1 unit, host 0 over 4.
  const auto uneven = Topology::make("test", named_nodes(2), {{0, 1, 100, 0}, {1, 0, 400, 0}});
  ASSERT_TRUE(uneven.ok());
  EXPECT_EQ(allgather_bandwidth_bound(*uneven), Rational(1, 2));
  // Host 2 sends over two links and receives over one: the transpose (reduce-scatter) is bounded elsewhere.
  const auto oneway = Topology::make("test", named_nodes(3), {{2, 0}, {2, 1}, {0, 1}, {1, 0}, {1, 2}});
  ASSERT_TRUE(oneway.ok());
  EXPECT_EQ(allgather_bandwidth_bound(*oneway), Rational(4, 3));             // d = 2, in(2) = 1: (2/3)·2
  EXPECT_EQ(allgather_bandwidth_bound(transpose(*oneway)), Rational(4, 3));  // out(0) = 1
  EXPECT_EQ(allgather_bandwidth_bound(*Topology::make("one", named_nodes(1), {})), Rational(0));
}

// ---- symmetry ----

class SymmetryTest : public testing::TestWithParam<std::string> {};

TEST_P(SymmetryTest, TranslationsAreAGroupOfAutomorphismsThatActsRegularly) {
  const Topology topology = made(GetParam());
  const std::vector<Automorphism> group = translations(topology);
  ASSERT_EQ(group.size(), static_cast<std::size_t>(topology.node_count()));
  for (std::size_t s = 0; s < group.size(); ++s) {
    EXPECT_EQ(group[s][0], static_cast<NodeId>(s));
    EXPECT_TRUE(is_automorphism(topology, group[s]));
  }
  for (const Automorphism& g : group) {
    for (const Automorphism& h : group) {
      // Closed: g∘h is the element that takes 0 where g∘h takes it.
      const Automorphism& product = group[static_cast<std::size_t>(g[static_cast<std::size_t>(h[0])])];
      for (std::size_t v = 0; v < group.size(); ++v) ASSERT_EQ(g[static_cast<std::size_t>(h[v])], product[v]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SymmetryTest,
                         testing::Values("torus:3x3x3", "torus:3x4x2", "torus:5x1x3", "ring:9", "ring:2", "uniring:7",
                                         "hypercube:4", "complete:6", "complete_bipartite:4,4", "circulant:12,2,3",
                                         "circulant:10,5,2", "genkautz:5,4"));

Topology with_links(const Topology& original, std::vector<Link> links) {
  const auto nodes = std::vector<Node>(original.nodes().begin(), original.nodes().end());
  return *Topology::make(original.name(), nodes, std::move(links));
}

TEST(Symmetry, IsNotClaimedForAnAlteredGraphOfASymmetricName) {
  const Topology torus = made("torus:3x3");
  const std::vector<Link> links(torus.links().begin(), torus.links().end());
  EXPECT_FALSE(translations(with_links(torus, links)).empty());

  EXPECT_TRUE(translations(with_links(torus, {links.begin(), links.end() - 1})).empty());

  std::vector<Link> uneven = links;
  uneven[5].bandwidth_bytes_per_second *= 2;
  EXPECT_TRUE(translations(with_links(torus, uneven)).empty());

  Topology misnamed = made("torus:3x3");
  misnamed.set_name("ring:9");
  EXPECT_TRUE(translations(misnamed).empty());
  for (const std::string name :
       {"torus:3x4", "torus:3x", "torus:2147483647x2147483647x9", "hypercube:999", "laboratory"}) {
    misnamed.set_name(name);
    EXPECT_TRUE(translations(misnamed).empty()) << name;
  }
}

TEST(Symmetry, IsNotClaimedWithSwitches) {
  std::vector<Node> nodes = named_nodes(4);
  nodes[3].is_switch = true;
  const auto topology = Topology::make("ring:4", nodes, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(translations(*topology).empty());
  EXPECT_FALSE(is_automorphism(*topology, {1, 2, 3, 0}));
  EXPECT_TRUE(is_automorphism(*topology, {0, 1, 2, 3}));
}

TEST(Symmetry, AutomorphismsArePermutationsThatKeepLinks) {
  const Topology ring = made("uniring:4");
  EXPECT_TRUE(is_automorphism(ring, {1, 2, 3, 0}));
  EXPECT_FALSE(is_automorphism(ring, {3, 2, 1, 0}));  // turns the ring around
  EXPECT_TRUE(is_automorphism(made("ring:4"), {3, 2, 1, 0}));
  EXPECT_FALSE(is_automorphism(ring, {1, 2, 3}));
  EXPECT_FALSE(is_automorphism(ring, {0, 0, 0, 0}));
  EXPECT_FALSE(is_automorphism(ring, {1, 2, 3, 4}));
  EXPECT_FALSE(is_automorphism(ring, {1, 2, 3, -1}));
}

}  // namespace
}  // namespace libcoll::topology_test
