// Families of topologies against theory, and the facts, symmetries and transposes built on them.
#include "planner/topology/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <string>

#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll {
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

struct Family {
  std::string specification;
  std::int32_t nodes;
  std::int32_t links;
  std::int32_t degree_min;
  std::int32_t degree_max;
  std::int32_t diameter;
};

std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.specification; }

class FamilyTest : public testing::TestWithParam<Family> {};

TEST_P(FamilyTest, HasTheFactsOfTheory) {
  const Family& expected = GetParam();
  const Topology topology = made(expected.specification);
  const Facts facts = graph_facts(topology);
  EXPECT_EQ(topology.name(), expected.specification);
  EXPECT_EQ(topology.host_count(), expected.nodes);
  EXPECT_EQ(facts.nodes, expected.nodes);
  EXPECT_EQ(facts.links, expected.links);
  EXPECT_EQ(facts.degree_min, expected.degree_min);
  EXPECT_EQ(facts.degree_max, expected.degree_max);
  EXPECT_EQ(facts.diameter, expected.diameter);
  EXPECT_TRUE(facts.connected);
}

// Torus: Π sizes nodes, 2 links per dimension and node (1 where the size is 2, 0 where it is 1), diameter
// Σ ⌊size/2⌋. Mesh: 2·Π·Σ (size−1)/size links, diameter Σ (size−1). Hypercube: d·2^d links, diameter d.
// Twisted hypercube: a hypercube but for its diameter, d−1 (Esfahanian, Ni and Sagan 1991). Random regular: of degree
// N−1 it can only be complete, of degree 2 only a ring. Complete: diameter 1; complete bipartite: 2. Circulant(12;2,3):
// ±2, ±3 in one hop, 1 = 3−2, 4, 5 and 6 in two. Kautz graph K(d,k) = genkautz(d^k + d^(k−1), d): no self-links,
// diameter k (Imase and Itoh, paper 000 [36]). genkautz(27,3): self-links where 4·x = −a (mod 27), one x for each a
// = 1..3; diameter 3 as 27 = 3^3.
INSTANTIATE_TEST_SUITE_P(
    All, FamilyTest,
    testing::Values(Family{"torus:3x3x3", 27, 162, 6, 6, 3}, Family{"torus:3x3x2", 18, 90, 5, 5, 3},
                    Family{"torus:3x3x6", 54, 324, 6, 6, 5}, Family{"torus:2x2x2", 8, 24, 3, 3, 3},
                    Family{"torus:5", 5, 10, 2, 2, 2}, Family{"torus:4x1x3", 12, 48, 4, 4, 3},
                    Family{"torus:4x7", 28, 112, 4, 4, 5}, Family{"mesh:4x4", 16, 48, 2, 4, 6},
                    Family{"mesh:2x3x1", 6, 14, 2, 3, 3}, Family{"ring:8", 8, 16, 2, 2, 4},
                    Family{"ring:2", 2, 2, 1, 1, 1}, Family{"uniring:8", 8, 8, 1, 1, 7},
                    Family{"uniring:2", 2, 2, 1, 1, 1}, Family{"hypercube:1", 2, 2, 1, 1, 1},
                    Family{"hypercube:3", 8, 24, 3, 3, 3}, Family{"hypercube:6", 64, 384, 6, 6, 6},
                    Family{"twisted_hypercube:3", 8, 24, 3, 3, 2}, Family{"twisted_hypercube:4", 16, 64, 4, 4, 3},
                    Family{"twisted_hypercube:5", 32, 160, 5, 5, 4}, Family{"twisted_hypercube:8", 256, 2048, 8, 8, 7},
                    Family{"random_regular:6,5,3", 6, 30, 5, 5, 1}, Family{"random_regular:2,1,0", 2, 2, 1, 1, 1},
                    Family{"random_regular:7,2,9", 7, 14, 2, 2, 3}, Family{"complete:5", 5, 20, 4, 4, 1},
                    Family{"complete_bipartite:4,4", 8, 32, 4, 4, 2}, Family{"complete_bipartite:2,5", 7, 20, 2, 5, 2},
                    Family{"circulant:12,2,3", 12, 48, 4, 4, 2}, Family{"circulant:12,1,6", 12, 36, 3, 3, 3},
                    Family{"circulant:7,1", 7, 14, 2, 2, 3}, Family{"genkautz:12,3", 12, 36, 3, 3, 2},
                    Family{"genkautz:20,4", 20, 80, 4, 4, 2}, Family{"genkautz:24,2", 24, 48, 2, 2, 4},
                    Family{"genkautz:27,3", 27, 78, 2, 3, 3}, Family{"genkautz:5,4", 5, 20, 4, 4, 1},
                    Family{"genkautz:3,9", 3, 6, 2, 2, 1}),
    [](const auto& instance) {
      std::string name = instance.param.specification;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == ':' || c == ','; }, '_');
      return name;
    });

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

struct Nonsense {
  std::string specification;
  std::string refusal;
};

TEST(Families, NonsenseIsRefusedWithWhatWasExpected) {
  const std::vector<Nonsense> cases = {
      {"torus:3x", "found '' as number 2, expected a whole number from 1 to 65536 (torus:AxBx..., for example"},
      {"torus:", "found '' as number 1"},
      {"torus:3x-3", "found '-3' as number 2"},
      {"torus:3x+3", "found '+3' as number 2"},
      {"torus:3 x3", "found '3 ' as number 1"},
      {"torus:03x3", "found '03' as number 1"},
      {"torus:3x0", "found '0' as number 2"},
      {"torus:3,3", "found '3,3' as number 1"},
      {"torus:1x1", "found a single node, expected from 2 to 65536"},
      {"torus:1000x1000", "found more than 65536 nodes"},
      {"torus:65536x65536x65536x65536x65536", "found more than 65536 nodes"},
      {"torus:99999999999999999999", "found '99999999999999999999' as number 1"},
      {"mesh:300x300", "found more than 65536 nodes"},
      {"ring:1", "found '1' as number 1, expected a whole number from 2"},
      {"ring:4,4", "found 2 numbers, expected 1"},
      {"uniring:1", "expected a whole number from 2"},
      {"hypercube:17", "expected a whole number from 1 to 16"},
      {"hypercube:2,2", "found 2 numbers, expected 1"},
      {"twisted_hypercube:2", "expected a whole number from 3 to 16"},
      {"twisted_hypercube:17", "expected a whole number from 3 to 16"},
      {"twisted_hypercube:3,3", "found 2 numbers, expected 1"},
      {"random_regular:16,4", "found 2 numbers, expected 3"},
      {"random_regular:5,3,1", "found an odd number of cable ends, expected N or D to be even"},
      {"random_regular:4,4,1", "found degree 4, expected from 1 to N-1"},
      {"random_regular:4,0,1", "found degree 0, expected from 1 to N-1"},
      {"random_regular:0,0,1", "found degree 0"},
      {"random_regular:4,1,1", "found degree 1, expected at least 2"},
      {"random_regular:4,2,-1", "found '-1' as number 3"},
      {"random_regular:65537,2,1", "found more than 65536 nodes"},
      {"random_regular:60000,1000,1", "found 60000000 links"},
      {"complete:1", "expected a whole number from 2"},
      {"complete:4000", "found 15996000 links, expected at most"},
      {"complete_bipartite:4", "found 1 numbers, expected 2"},
      {"complete_bipartite:60000,60000", "found more than 65536 nodes"},
      {"complete_bipartite:30000,30000", "found 1800000000 links"},
      {"genkautz:1,1", "found a single node"},
      {"genkautz:27", "found 1 numbers, expected 2"},
      {"genkautz:65536,65535", "found 4294901760 links"},
      {"genkautz:5,9", "found degree 9, expected from 1 to N-1"},
      {"genkautz:7,1", "found no path from node '0' to node '1'"},
      {"circulant:12", "found no offset"},
      {"circulant:12,12", "found offset 12, expected offsets below the number of nodes, 12"},
      {"circulant:12,2,10", "found offset 10 on cables that are already there"},
      {"circulant:12,3,3", "found offset 3 on cables that are already there"},
      {"circulant:12,2,4", "found no path from node '0' to node '1', expected every host to reach every other"},
      {"tours:3x3", "found topology 'tours:3x3', expected one of torus:AxBx..., mesh:AxBx..., ring:N"},
      {"torus", "found topology 'torus', expected one of"},
      {"", "expected one of"},
  };
  for (const Nonsense& nonsense : cases) expect_contains(refusal(generate(nonsense.specification)), nonsense.refusal);
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

// Paper 000 §3.2: (N−1)/N in units of M/B on regular graphs with equal links.
TEST(AllgatherBound, OfRegularGraphsIsTheTextbookBound) {
  for (const std::string specification :
       {"torus:3x3x3", "torus:3x3x2", "hypercube:4", "circulant:12,2,3", "uniring:7", "complete:5", "genkautz:12,3"}) {
    const Topology topology = made(specification);
    const std::int64_t hosts = topology.host_count();
    EXPECT_EQ(allgather_bandwidth_bound(topology), Rational(hosts - 1, hosts)) << specification;
  }
}

TEST(AllgatherBound, IsSetByTheHostWithTheLeastInwardBandwidth) {
  // A corner of the mesh has 2 of the d = 4 links: (4/16)·15/2.
  EXPECT_EQ(allgather_bandwidth_bound(made("mesh:4x4")), Rational(15, 8));
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

TEST(Symmetry, IsNotClaimedWhereTranslationsDoNotExist) {
  for (const std::string specification : {"mesh:3x3", "genkautz:27,4", "twisted_hypercube:3", "random_regular:16,4,1",
                                          "complete_bipartite:2,6", "complete_bipartite:3,5"}) {
    EXPECT_TRUE(translations(made(specification)).empty()) << specification;
  }
}

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
}  // namespace libcoll
