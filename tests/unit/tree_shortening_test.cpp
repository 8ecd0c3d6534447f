// Packings made shallower.
#include "planner/broadcast/forest/tree_shortening.h"

#include <gtest/gtest.h>

#include "planner/base/index.h"
#include "planner/topology/generators.h"
#include "tests/unit/forestcoll_checks.h"
#include "tests/unit/random_regular.h"

namespace libcoll::tree_shortening_test {

using namespace broadcast::bound;
using namespace broadcast::forest;
using namespace test;
using namespace topology;

namespace {

/// Σ count·depth², what the search goes down by.
std::int64_t squares(const std::vector<OutTree>& trees) {
  std::int64_t sum = 0;
  for (const OutTree& tree : trees) {
    for (const TreeEdge& edge : tree.edges) sum += tree.count * edge.depth * edge.depth;
  }
  return sum;
}

std::int32_t deepest(const std::vector<OutTree>& trees) {
  std::int32_t depth = 0;
  for (const OutTree& tree : trees) {
    for (const TreeEdge& edge : tree.edges) depth = std::max(depth, edge.depth);
  }
  return depth;
}

TEST(TreeShortening, TakesArcsWithRoom) {
  // A chain 0→1→2→3 beside arcs from 0 to all.
  const std::vector<CapacityArc> arcs = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {0, 2, 1}, {0, 3, 1}};
  std::vector<OutTree> trees = {{0, 1, {{0, 1}, {1, 2}, {2, 3}}}};
  shorten_trees(arcs, trees);
  EXPECT_EQ(deepest(trees), 1);
  expect_packing(arcs, {1, 0, 0, 0}, trees);
}

TEST(TreeShortening, TreesExchangeArcsThatAreFull) {
  // Every arc of a complete graph of three carries one tree, and each root has one: two of the trees are chains whose
  // last arcs the other one would rather have. Stars are all that is left when they are exchanged.
  const std::vector<CapacityArc> arcs = {{0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {1, 2, 1}, {2, 0, 1}, {2, 1, 1}};
  std::vector<OutTree> trees = {{0, 1, {{0, 1}, {3, 2}}}, {1, 1, {{2, 1}, {1, 2}}}, {2, 1, {{4, 1}, {5, 1}}}};
  shorten_trees(arcs, trees);
  EXPECT_EQ(deepest(trees), 1);
  expect_packing(arcs, {1, 1, 1}, trees);
}

TEST(TreeShortening, CopiesOfATreePart) {
  // Of four copies of the chain two fit on the arc beside it; the search makes at most four trees out of one.
  const std::vector<CapacityArc> arcs = {{0, 1, 4}, {1, 2, 4}, {0, 2, 2}};
  std::vector<OutTree> trees = {{0, 4, {{0, 1}, {1, 2}}}};
  shorten_trees(arcs, trees);
  const std::vector<OutTree> parted = {{0, 2, {{0, 1}, {1, 2}}}, {0, 2, {{0, 1}, {2, 1}}}};
  EXPECT_EQ(trees, parted);
  // No arc beside it: the copies stay together.
  trees = {{0, 4, {{0, 1}, {1, 2}}}};
  shorten_trees(std::span(arcs).first(2), trees);
  EXPECT_EQ(trees, (std::vector<OutTree>{{0, 4, {{0, 1}, {1, 2}}}}));
}

TEST(TreeShortening, KeepsPackingsAndEndsWhereNothingHelps) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = seed % 3 == 0 ? random_regular(16, 3, seed)
                                            : random_digraph(4 + static_cast<std::int32_t>(seed % 9), 20, 7, seed);
    const LinkWidths widths = link_widths(topology);
    const TreeCount count = optimal_trees(forest_optimum(topology)->inverse_x(), widths);
    const std::vector<std::int64_t> capacity = tree_capacities(widths, count.scale);
    std::vector<CapacityArc> arcs;
    arcs.reserve(capacity.size());
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      arcs.push_back({topology.link(id).from, topology.link(id).to, capacity[at(id)]});
    }
    const std::vector<std::int64_t> demand(at(topology.host_count()), count.trees);
    const auto packing = pack_out_trees(arcs, demand);
    ASSERT_TRUE(packing.ok());
    const std::int64_t before = squares(packing->trees);
    std::vector<OutTree> again = packing->trees;
    shorten_trees(arcs, again);
    EXPECT_LE(squares(again), before);
    expect_packing(arcs, demand, again);
    // With twice the room everywhere there is more to gain, and still no arc is in more trees than it may be.
    for (CapacityArc& arc : arcs) arc.capacity *= 2;
    shorten_trees(arcs, again);
    EXPECT_LE(squares(again), before);
    expect_packing(arcs, demand, again);
  }
}

TEST(TreeShortening, LeavesOverloadedArcsNoFuller) {
  // Trees made in a hurry: arc 0→1 is in both, though it should be in one.
  std::vector<CapacityArc> arcs = {{0, 1, 1}, {1, 2, 1}, {0, 2, 1}, {1, 0, 1}, {2, 1, 0}, {2, 0, 1}};
  std::vector<OutTree> trees = {{0, 1, {{0, 1}, {1, 2}}}, {0, 1, {{0, 1}, {2, 1}}}};
  shorten_trees(arcs, trees);
  std::vector<std::int64_t> load(arcs.size(), 0);
  for (const OutTree& tree : trees) {
    for (const TreeEdge& edge : tree.edges) load[at(edge.arc)] += tree.count;
  }
  EXPECT_EQ(load, (std::vector<std::int64_t>{2, 1, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace libcoll::tree_shortening_test
