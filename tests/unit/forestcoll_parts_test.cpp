// The parts of ForestColl one by one: flow network, optimum, edge splitting, tree packing.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "planner/base/index.h"
#include "planner/broadcast/bound/flow_network.h"
#include "planner/broadcast/bound/max_flow.h"
#include "planner/broadcast/forest/edge_splitting.h"
#include "planner/topology/generators.h"
#include "tests/unit/forestcoll_checks.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/support/forest_bisection.h"

namespace libcoll::forestcoll_parts_test {

using namespace broadcast::bound;
using namespace broadcast::forest;
using namespace test;
using namespace topology;

namespace {

TEST(FlowNetwork, EqualsMaxFlowWhateverChangesAndNamesALeastCut) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 60; ++instance) {
    constexpr std::int32_t vertices = 9;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> capacity;
    for (int arc = 0; arc < 30; ++arc) {
      const auto from = static_cast<std::int32_t>(random() % vertices);
      const auto to = static_cast<std::int32_t>(random() % vertices);
      if (from != to) capacity[{from, to}] = random() % 12;
    }
    FlowNetwork network(vertices);
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> arcs;
    for (const auto& [ends, amount] : capacity) arcs[ends] = network.add_arc(ends.first, ends.second, amount);
    for (int change = 0; change < 4; ++change) {
      for (auto& [ends, amount] : capacity) {
        if (random() % 3 != 0) continue;
        amount = random() % 12;
        network.set_capacity(arcs[ends], amount);
        EXPECT_EQ(network.capacity(arcs[ends]), amount);
      }
      const auto source = static_cast<std::int32_t>(random() % (vertices - 1));
      constexpr std::int32_t sink = vertices - 1;
      MaxFlow reference(vertices);
      for (const auto& [ends, amount] : capacity) reference.add_arc(ends.first, ends.second, amount);
      const std::int64_t most = reference.run(source, sink);
      EXPECT_EQ(network.run(source, sink, most / 2), most / 2);
      EXPECT_EQ(network.run(source, sink), most);
      EXPECT_TRUE(network.on_sink_side(sink));
      EXPECT_FALSE(network.on_sink_side(source));
      std::int64_t cut = 0;
      for (const auto& [ends, amount] : capacity) {
        if (!network.on_sink_side(ends.first) && network.on_sink_side(ends.second)) cut += amount;
      }
      EXPECT_EQ(cut, most);
    }
  }
}

TEST(ForestOptimum, IsTheWorstRatioOverAllCuts) {
  // Paper 004 (1); 2^9 cuts can all be tried.
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto switches = static_cast<std::int32_t>(seed % 4);
    const Topology topology = seed % 2 == 0 ? random_cables(6, switches, 5, 12, seed) : random_digraph(8, 14, 12, seed);
    const Rational expected = best_ratio_over_all_cuts(topology);
    const auto newton = forest_optimum(topology);
    ASSERT_TRUE(newton.ok()) << newton.error().message;
    EXPECT_EQ(newton->inverse_x(), expected);
    const auto bisection = forest_optimum_by_bisection(topology);
    ASSERT_TRUE(bisection);
    EXPECT_EQ(*bisection, expected);
  }
}

TEST(ForestOptimum, OfTheTopologiesOfThePaper) {
  std::int32_t rounds = 0;
  // §5.3: 15 shards into one GPU over 300 + 25 GB/s. Proposition 3: gcd(65, 12, 1) = 1 in units of 25 GB/s … k = 13.
  const Topology two = boxes(2, 8, 300, 25);
  const auto optimum = forest_optimum(two, {}, &rounds);
  ASSERT_TRUE(optimum.ok());
  EXPECT_EQ(optimum->hosts, 15);
  EXPECT_EQ(optimum->bandwidth * link_widths(two).unit, 325'000'000'000);
  EXPECT_LE(rounds, 3);
  EXPECT_EQ(optimal_trees(optimum->inverse_x(), link_widths(two)).trees, 13);
  // From three boxes on the cut around a box is narrower: 8(n−1) shards over 8·25 GB/s.
  for (const std::int32_t count : {3, 8, 16}) {
    rounds = 0;
    const auto many = forest_optimum(boxes(count, 8, 300, 25), {}, &rounds);
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(many->inverse_x() / Rational(25), Rational(count - 1, 25));
    EXPECT_LE(rounds, 3);
  }
  // Fig. 2 and 12: two clusters of four, 10b to the cluster's switch, b to the global one: 1/x* = 4/(4b), k = 1.
  const Topology figure = boxes(2, 4, 10, 1);
  EXPECT_EQ(forest_optimum(figure)->inverse_x(), Rational(1));
  EXPECT_EQ(optimal_trees(Rational(1), link_widths(figure)).trees, 1);
}

TEST(ForestOptimum, RefusesWhatIsNotConnectedOrTooFine) {
  EXPECT_FALSE(forest_optimum(Cabling(2, 0).link(0, 1, 1).topology("one way")).ok());
  // Bandwidths of 10^14 bytes per second without a common divisor: N·Σ widths over such a denominator leaves 63 bits.
  constexpr NodeId hosts = 256;
  std::vector<Node> nodes(hosts);
  std::vector<Link> links;
  for (NodeId host = 0; host < hosts; ++host) {
    for (const NodeId to : {(host + 1) % hosts, (host + hosts - 1) % hosts}) {
      Link& link = links.emplace_back();
      link.from = host;
      link.to = to;
      link.bandwidth_bytes_per_second = 100'000'000'000'000 - (host == 0 ? 1 : 0);
    }
  }
  const Topology fine = Topology::make("fine", nodes, links).value();
  EXPECT_FALSE(forest_optimum_by_bisection(fine));
  const auto refused = forest_optimum(fine);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("common unit"), std::string::npos);
}

TEST(SimplestBetween, HasTheLeastDenominator) {
  for (std::int64_t a = 0; a <= 30; ++a) {
    for (std::int64_t b = a; b <= 30; ++b) {
      const Rational low(a, 13);
      const Rational high(b, 11);
      if (high < low) continue;
      const Rational found = simplest_between(low, high);
      EXPECT_TRUE(low <= found && found <= high);
      for (std::int64_t denominator = 1; denominator < found.denominator(); ++denominator) {
        const std::int64_t numerator = (a * denominator + 12) / 13;
        EXPECT_GT(Rational(numerator, denominator), high);
      }
    }
  }
}

TEST(OptimalTrees, AreAsFewAsProposition3Allows) {
  // Proposition 3: the least k for which y = x*/k divides every bandwidth.
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Topology topology = random_cables(5, 2, 4, 30, seed);
    const LinkWidths widths = link_widths(topology);
    const Rational inverse_x = forest_optimum(topology)->inverse_x();
    std::int64_t k = 1;
    const auto whole = [&](std::int64_t trees) {
      return std::all_of(widths.width.begin(), widths.width.end(),
                         [&](std::int64_t width) { return (Rational(width * trees) * inverse_x).denominator() == 1; });
    };
    while (!whole(k)) ++k;
    const TreeCount count = optimal_trees(inverse_x, widths);
    EXPECT_EQ(count.trees, k);
    EXPECT_EQ(count.inverse_rate(), inverse_x);
  }
}

TEST(FixedTrees, NewtonAndAlgorithm3AgreeWithinTheorem15) {
  for (std::uint32_t seed = 1; seed <= 15; ++seed) {
    const Topology topology = seed % 2 == 0 ? random_cables(6, 1, 4, 9, seed) : random_digraph(7, 10, 9, seed);
    const LinkWidths widths = link_widths(topology);
    const Rational inverse_x = forest_optimum(topology)->inverse_x();
    const std::int64_t narrowest = *std::min_element(widths.width.begin(), widths.width.end());
    for (std::int64_t k = 1; k <= 4; ++k) {
      const auto newton = fixed_trees(topology, k);
      const auto bisection = tree_scale_by_bisection(topology, k);
      ASSERT_TRUE(newton.ok() && bisection);
      EXPECT_EQ(newton->scale, *bisection) << "seed " << seed << ", k " << k;
      EXPECT_GE(newton->inverse_rate(), inverse_x);
      // Theorem 15: T_k − T* <= M/(N·k·min b).
      EXPECT_LE(newton->inverse_rate(), inverse_x + Rational(1, k * narrowest));
    }
    const TreeCount optimal = optimal_trees(inverse_x, widths);
    EXPECT_EQ(fixed_trees(topology, optimal.trees)->inverse_rate(), inverse_x);
  }
}

/// Σ of what paths over a link carry, and whether paths run from end to end through switches only.
void expect_paths_fit(const Topology& topology, const std::vector<LogicalLink>& links,
                      const std::vector<std::int64_t>& capacity) {
  std::vector<std::int64_t> load(capacity.size(), 0);
  std::set<std::pair<NodeId, NodeId>> pairs;
  for (const LogicalLink& logical : links) {
    EXPECT_TRUE(pairs.insert({logical.from, logical.to}).second);
    EXPECT_NE(logical.from, logical.to);
    EXPECT_LT(std::max(logical.from, logical.to), topology.host_count());
    std::int64_t total = 0;
    for (const LogicalPath& path : logical.paths) {
      total += path.capacity;
      NodeId node = logical.from;
      std::set<NodeId> visited;
      for (const LinkId id : path.links) {
        load[at(id)] += path.capacity;
        EXPECT_EQ(topology.link(id).from, node);
        EXPECT_TRUE(node == logical.from || topology.node(node).is_switch);
        EXPECT_TRUE(visited.insert(node).second);
        node = topology.link(id).to;
      }
      EXPECT_EQ(node, logical.to);
    }
    EXPECT_EQ(total, logical.capacity);
  }
  for (std::size_t link = 0; link < load.size(); ++link) EXPECT_LE(load[link], capacity[link]);
}

void expect_no_loss(const Topology& topology) {
  SCOPED_TRACE(topology.name());
  const LinkWidths widths = link_widths(topology);
  const TreeCount count = optimal_trees(forest_optimum(topology)->inverse_x(), widths);
  const std::vector<std::int64_t> capacity = tree_capacities(widths, count.scale);
  const std::vector<std::int64_t> demand(at(topology.host_count()), count.trees);
  const auto links = split_off_switches(topology, capacity, demand);
  ASSERT_TRUE(links.ok()) << links.error().message;
  expect_paths_fit(topology, *links, capacity);
  // The logical graph has the same optimum (Theorem 7): no cut became narrower than the bottleneck.
  Cabling logical(topology.host_count(), 0);
  for (const LogicalLink& link : *links) logical.link(link.from, link.to, link.capacity);
  const Topology graph = logical.topology("logical");
  const Rational inverse_x = forest_optimum(graph)->inverse_x() * Rational(1'000'000'000, link_widths(graph).unit);
  EXPECT_EQ(inverse_x, Rational(1, count.trees));
}

TEST(EdgeSplitting, KeepsTheOptimumAndItsPathsFit) {
  expect_no_loss(boxes(2, 8, 300, 25));
  expect_no_loss(boxes(3, 4, 10, 1));
  expect_no_loss(leaf_spine(4, 4, 2, 10));
  expect_no_loss(leaf_spine(4, 3, 2, 5));
  expect_no_loss(leaf_spine(3, 2, 3, 40));
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const auto switches = static_cast<std::int32_t>(1 + seed % 5);
    expect_no_loss(random_cables(6, switches, static_cast<std::int32_t>(seed % 9), 10, seed));
  }
}

TEST(EdgeSplitting, RefusesTreesThatDoNotExist) {
  const Topology topology = boxes(2, 2, 4, 1);
  const std::vector<std::int64_t> capacity = link_widths(topology).width;
  EXPECT_TRUE(split_off_switches(topology, capacity, std::vector<std::int64_t>(4, 1)).ok());
  EXPECT_FALSE(split_off_switches(topology, capacity, std::vector<std::int64_t>(4, 2)).ok());
}

std::vector<CapacityArc> arcs_of(const Topology& topology, const std::vector<std::int64_t>& capacity) {
  std::vector<CapacityArc> arcs;
  arcs.reserve(capacity.size());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    arcs.push_back({topology.link(id).from, topology.link(id).to, capacity[at(id)]});
  }
  return arcs;
}

TEST(TreePacking, FindsTheForestOfTheOptimum) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Topology topology = random_digraph(4 + static_cast<std::int32_t>(seed % 9), 20, 1 + seed % 7, seed);
    if (seed % 3 == 0) topology = random_regular(20, 3, seed);
    const LinkWidths widths = link_widths(topology);
    const TreeCount count = optimal_trees(forest_optimum(topology)->inverse_x(), widths);
    const auto arcs = arcs_of(topology, tree_capacities(widths, count.scale));
    const std::vector<std::int64_t> demand(at(topology.host_count()), count.trees);
    const auto trees = pack_out_trees(arcs, demand);
    ASSERT_TRUE(trees.ok()) << trees.error().message;
    expect_packing(arcs, demand, trees->trees);
  }
}

TEST(TreePacking, PacksUnequalDemandsUpToEdmondsBound) {
  // Edmonds 1973 (Theorem 9): the trees exist if and only if every host can take in the flow of all of them. Demands
  // are raised at random as long as they do.
  std::mt19937 random(3);
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_digraph(7, 16, 6, seed);
    const auto arcs = arcs_of(topology, link_widths(topology).width);
    std::vector<std::int64_t> demand(7, 0);
    const auto exist = [&] {
      ForestNetwork network(7, arcs, demand);
      for (NodeId host = 0; host < 7; ++host) {
        if (!network.serves(host)) return false;
      }
      return true;
    };
    for (int attempt = 0; attempt < 30; ++attempt) {
      std::int64_t& raised = demand[random() % demand.size()];
      ++raised;
      if (!exist()) --raised;
    }
    const auto trees = pack_out_trees(arcs, demand);
    ASSERT_TRUE(trees.ok()) << trees.error().message;
    expect_packing(arcs, demand, trees->trees);
    for (std::int64_t& raised : demand) raised += 100;
    EXPECT_FALSE(pack_out_trees(arcs, demand).ok());
  }
}

TEST(TreePacking, ByTranslationTakesShortestPaths) {
  // Torus, hypercube and circulant graphs have bandwidth-optimal shortest-path schedules (paper 000 §F).
  for (const char* specification : {"torus:4x4", "torus:3x5", "hypercube:4", "circulant:12,2,3", "ring:7"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const LinkWidths widths = link_widths(topology);
    const TreeCount count = optimal_trees(forest_optimum(topology)->inverse_x(), widths);
    const auto capacity = tree_capacities(widths, count.scale);
    const auto trees = pack_by_translation(topology, capacity, count.trees, translations(topology));
    ASSERT_FALSE(trees.empty());
    const std::vector<std::int64_t> demand(at(topology.host_count()), count.trees);
    expect_packing(arcs_of(topology, capacity), demand, trees);
    std::int32_t depth = 0;
    for (const OutTree& tree : trees) depth = std::max(depth, tree.edges.back().depth);
    EXPECT_EQ(depth, graph_facts(topology).diameter);
    // Not enough for one more tree.
    EXPECT_TRUE(pack_by_translation(topology, capacity, count.trees + 1, translations(topology)).empty());
  }
  const Topology kautz = generate("genkautz:9,2").value();
  EXPECT_TRUE(pack_by_translation(kautz, std::vector<std::int64_t>(18, 8), 1, {}).empty());
}

}  // namespace
}  // namespace libcoll::forestcoll_parts_test
