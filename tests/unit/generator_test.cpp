// The families of paper 000 appendix F and Tables 8 and 9, and what is built of them, against the literature.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb/bfb.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/schedule/verify.h"
#include "planner/topology/expansion.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/isomorphism.h"
#include "planner/topology/named_graphs.h"

namespace libcoll::generator_test {

using namespace broadcast::bfb;
using namespace schedule;
using namespace topology;

namespace {

Topology made(const std::string& specification) {
  Result<Topology> topology = generate(specification);
  EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().message);
  return topology.ok() ? *topology : Topology();
}

/// T_B of BFB in M/B, equation (2).
Rational bandwidth_time_of_bfb(const Topology& topology) {
  Rational sum(0);
  const auto loads = bfb_step_loads(topology);
  EXPECT_TRUE(loads.ok()) << loads.error().message;
  for (const Rational& load : *loads) sum += load;
  return sum * Rational(degree(topology), topology.host_count());
}

std::string test_name(std::string specification) {
  std::replace_if(
      specification.begin(), specification.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return specification;
}

struct Known {
  const char* specification;
  std::int32_t nodes;
  std::int32_t degree;
  std::int32_t diameter;
};
std::ostream& operator<<(std::ostream& out, const Known& known) { return out << known.specification; }

// Paper 000 Table 8: N and T_L/α of the distance-regular graphs of degree 4.
const auto table8 = testing::Values(
    Known{"graph:octahedron", 6, 4, 2}, Known{"graph:paley9", 9, 4, 2}, Known{"graph:k55-i", 10, 4, 3},
    Known{"graph:heawood3", 14, 4, 3}, Known{"graph:line-petersen", 15, 4, 3}, Known{"hypercube:4", 16, 4, 4},
    Known{"graph:line-heawood", 21, 4, 3}, Known{"graph:pg23", 26, 4, 3}, Known{"graph:ag24", 32, 4, 4},
    Known{"graph:o4", 35, 4, 3}, Known{"graph:line-tutte8", 45, 4, 4}, Known{"graph:doubled-o4", 70, 4, 7},
    Known{"graph:gq33", 80, 4, 4}, Known{"graph:line-tutte12", 189, 4, 6}, Known{"graph:gh33", 728, 4, 6});

class DistanceRegular : public testing::TestWithParam<Known> {};

/// Whether the number of nodes i away from a and j away from b depends on i, j and the distance of a and b only
/// (paper 000 Definition 17): counted for neighbours of b, j = 1, which is enough (intersection array).
bool distance_regular(const Topology& topology) {
  const DistanceMatrix distance = hop_distances(topology);
  std::vector<std::optional<std::vector<int>>> expected(static_cast<std::size_t>(topology.node_count()));
  for (NodeId a = 0; a < topology.node_count(); ++a) {
    for (NodeId b = 0; b < topology.node_count(); ++b) {
      const auto& from_a = distance[static_cast<std::size_t>(a)];
      const auto k = static_cast<std::size_t>(from_a[static_cast<std::size_t>(b)]);
      std::vector<int> counts(3, 0);  // one nearer, as far, one farther
      for (const LinkId id : topology.out_links(b)) {
        const auto c = static_cast<std::size_t>(topology.link(id).to);
        const std::int32_t farther = from_a[c] - static_cast<std::int32_t>(k);
        ++counts[static_cast<std::size_t>(farther) + 1];
      }
      if (!expected[k]) expected[k] = counts;
      if (*expected[k] != counts) return false;
    }
  }
  return true;
}

TEST_P(DistanceRegular, AsDefined) { EXPECT_TRUE(distance_regular(made(GetParam().specification))); }

// Table 8, §F.3: BFB is bandwidth-optimal on every distance-regular graph.
TEST_P(DistanceRegular, BfbReachesTheBoundInDiameterSteps) {
  const Topology topology = made(GetParam().specification);
  EXPECT_EQ(bandwidth_time_of_bfb(topology), Rational(GetParam().nodes - 1, GetParam().nodes));
  EXPECT_EQ(std::ssize(*bfb_step_loads(topology)), GetParam().diameter);
  if (GetParam().nodes > 80) return;
  const Schedule schedule = plan_bfb_allgather(topology, {}).value();
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  EXPECT_EQ(schedule.steps, GetParam().diameter);
  EXPECT_EQ(schedule.proof.bandwidth_time, Rational(GetParam().nodes - 1, GetParam().nodes));
}

INSTANTIATE_TEST_SUITE_P(Table8, DistanceRegular, table8,
                         [](const auto& instance) { return test_name(instance.param.specification); });

/// Shortest cycle of an undirected graph without cycles of two links: by breadth-first search from every node.
std::int32_t girth(const Topology& topology) {
  std::int32_t best = topology.node_count() + 1;
  const DistanceMatrix distance = hop_distances(topology);
  for (NodeId root = 0; root < topology.node_count(); ++root) {
    const auto& from_root = distance[static_cast<std::size_t>(root)];
    for (NodeId node = 0; node < topology.node_count(); ++node) {
      const std::int32_t here = from_root[static_cast<std::size_t>(node)];
      int nearer = 0;
      for (const LinkId id : topology.out_links(node)) {
        const std::int32_t there = from_root[static_cast<std::size_t>(topology.link(id).to)];
        if (there == here) best = std::min(best, 2 * here + 1);
        if (there == here - 1) ++nearer;
      }
      if (nearer > 1) best = std::min(best, 2 * here);
    }
  }
  return best;
}

TEST(NamedGraphs, HaveTheGirthOfGeneralizedPolygons) {
  // The incidence graph of a generalized n-gon has diameter n and girth 2n; the cages (Tutte 1947) are named by girth.
  for (const auto& [name, expected] : {std::pair{"petersen", 5},
                                       {"heawood", 6},
                                       {"tutte8", 8},
                                       {"tutte12", 12},
                                       {"pg23", 6},
                                       {"gq33", 8},
                                       {"gh33", 12},
                                       {"o4", 6},
                                       {"ag24", 6},
                                       {"doubled-o4", 6}}) {
    EXPECT_EQ(girth(made(std::string("graph:") + name)), expected) << name;
  }
}

TEST(NamedGraphs, AreMadeByTheirNames) {
  std::set<std::string_view> names;
  for (const NamedGraph& graph : named_graphs()) {
    EXPECT_TRUE(names.insert(graph.name).second);
    EXPECT_EQ(made("graph:" + std::string(graph.name)), [&] {
      Topology same = graph.make().value();
      same.set_name("graph:" + std::string(graph.name));
      return same;
    }());
  }
}

TEST(NamedGraphs, Moore8IsMooreAndBandwidthOptimal) {
  // Paper 000 Table 9; two steps reach 1+2+4 = 7 nodes at most.
  EXPECT_EQ(bandwidth_time_of_bfb(made("graph:moore8")), Rational(7, 8));
}

struct Pair {
  const char* one;
  const char* other;
};

TEST(NamedGraphs, Moore16IsMooreAndBandwidthOptimal) {
  // Three steps reach 1+2+4+8 = 15 nodes at most.
  const Topology topology = made("graph:moore16");
  EXPECT_EQ(bandwidth_time_of_bfb(topology), Rational(15, 16));
}

TEST(Xpander, HasOneCableIntoEveryOtherGroup) {
  // A lift of K_{D+1} (Valadarsky et al. 2016): groups of K nodes, perfect matchings between every two.
  const Topology topology = made("xpander:4,6,3");
  EXPECT_EQ(topology.node_count(), 30);
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    std::set<NodeId> groups = {node / 6};
    for (const LinkId id : topology.out_links(node)) groups.insert(topology.link(id).to / 6);
    EXPECT_EQ(groups.size(), 5U);
    EXPECT_EQ(topology.out_links(node).size(), 4U);
  }
  EXPECT_EQ(made("xpander:4,6,3"), topology);
  EXPECT_FALSE(std::ranges::equal(made("xpander:4,6,4").links(), topology.links()));
}

TEST(Isomorphism, OfGraphsTheLiteratureSaysAreTheSame) {
  // Paper 000 Definition 16 and Theorem 10's remark (Kautz as iterated line graph of complete graphs); §F.3 (Paley 9 is
  // H(2,3), octahedron J(4,2)); K_5,5 minus a matching as a circulant of odd offsets 1, 3; §5.3 (Hamming, hypercube).
  for (const Pair pair : {Pair{"kautz:2,3", "line:line:complete:3"},
                          {"kautz:3,2", "line:complete:4"},
                          {"graph:paley9", "hamming:2,3"},
                          {"graph:octahedron", "complete_multipartite:2,2,2"},
                          {"graph:octahedron", "circulant:6,1,2"},
                          {"graph:k55-i", "circulant:10,1,3"},
                          {"hypercube:4", "power:2,torus:2x2"},
                          {"hypercube:4", "torus:4x4"},
                          {"torus:3x4", "product:ring:3+ring:4"},
                          {"complete_multipartite:2,2,2", "degree:2,complete:3"},
                          {"debruijn:2,3", "debruijn:2,3"}}) {
    EXPECT_TRUE(find_isomorphism(made(pair.one), made(pair.other))) << pair.one << " " << pair.other;
  }
  for (const Pair pair : {Pair{"hypercube:3", "twisted_hypercube:3"},
                          {"torus:4x4", "circulant:16,1,4"},
                          {"kautz:2,3", "line:line:uniring:12"},
                          {"twisted_torus:4x8", "torus:4x8"}}) {
    EXPECT_FALSE(find_isomorphism(made(pair.one), made(pair.other))) << pair.one << " " << pair.other;
  }
}

TEST(Isomorphism, MapsLinksOntoLinks) {
  const Topology a = made("kautz:2,4");
  const Topology b = made("line:kautz:2,3");
  const auto map = find_isomorphism(a, b);
  ASSERT_TRUE(map);
  EXPECT_EQ(std::set<NodeId>(map->begin(), map->end()).size(), 24U);
  for (const Link& link : a.links()) {
    EXPECT_GE(b.find_link((*map)[static_cast<std::size_t>(link.from)], (*map)[static_cast<std::size_t>(link.to)]), 0);
  }
}

TEST(Isomorphism, ReverseSymmetryOfTable9) {
  // Paper 000 Table 9 and Theorem 2: Kautz, de Bruijn, circulant, rings are; generalized Kautz need not be.
  for (const char* specification : {"kautz:2,3", "debruijn:2,4", "directed_circulant:6,1,2,3,4", "uniring:5",
                                    "graph:gq33", "line:complete_bipartite:2,2", "degree:2,uniring:4"}) {
    const Topology topology = made(specification);
    const auto map = reverse_symmetry(topology);
    ASSERT_TRUE(map) << specification;
    for (const Link& link : topology.links()) {
      EXPECT_GE(
          topology.find_link((*map)[static_cast<std::size_t>(link.to)], (*map)[static_cast<std::size_t>(link.from)]),
          0);
    }
  }
  // Node 0 has three links out and one in; no node has it the other way round.
  const std::vector<Link> links = {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {2, 1}, {3, 2}};
  EXPECT_FALSE(reverse_symmetry(Topology::make("", std::vector<Node>(4), links).value()));
}

TEST(Expansions, LineGraphLinksFollowOneAnother) {
  const Topology base = made("genkautz:9,2");
  const Topology line = line_graph(base).value();
  EXPECT_EQ(line.node_count(), base.link_count());
  for (const Link& link : line.links()) EXPECT_EQ(base.link(link.from).to, base.link(link.to).from);
}

}  // namespace
}  // namespace libcoll::generator_test
