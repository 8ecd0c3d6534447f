// The topology finder against paper 000's tables, its own theorems and plain planning.
#include "planner/broadcast/bfb/finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb/bfb.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/broadcast/bfb/expansion.h"
#include "planner/broadcast/bfb/finder_database.h"
#include "planner/schedule/verify.h"
#include "planner/topology/expansion.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"

namespace libcoll::finder_test {

using namespace broadcast::bfb;
using namespace schedule;
using namespace topology;

namespace {

Schedule planned(const std::string& specification) {
  const Topology topology = generate(specification).value();
  const bool expansion = split_expansion(specification)->kind != ExpansionParts::Kind::none;
  Result<Schedule> schedule = expansion ? plan_expansion_allgather(topology, {}) : plan_bfb_allgather(topology, {});
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().message);
  return std::move(schedule).value();
}

TEST(FinderDatabase, ReadsBackWhatItWrote) {
  for (const Direction direction : {Direction::any, Direction::cables_only}) {
    const FinderDatabase found = sweep(direction, 30, {1, 3, 4});
    EXPECT_EQ(found.frontiers.size(), 29U * 3);
    const std::string text = write_database(found);
    const Result<FinderDatabase> read = read_database(text, "file");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(write_database(*read), text);
    EXPECT_EQ(write_database(sweep(direction, 30, {1, 3, 4}, 2)), text);
    EXPECT_EQ(read->direction, direction);
    TopologyFinder finder(direction);
    for (const auto& [key, members] : read->frontiers) {
      const std::vector<FoundTopology> expected = finder.frontier(key.first, key.second);
      ASSERT_EQ(members.size(), expected.size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        EXPECT_EQ(members[i].specification, expected[i].specification);
        EXPECT_EQ(members[i].cost.steps, expected[i].cost.steps);
        EXPECT_EQ(members[i].cost.bandwidth_time, expected[i].cost.bandwidth_time);
      }
    }
  }
  for (const char* wrong :
       {"", "topologies\n", "# libcoll topologies 1, links any\n4,2,two,3/4,ring:4\n",
        "# libcoll topologies 1, links any\n4,2,2,3/4,\n", "# libcoll topologies 1, links any\n4,2\n"}) {
    const Result<FinderDatabase> read = read_database(wrong, "file");
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.error().message.rfind("file:", 0), 0U);
  }
}

/// The first nodes speak for all: half of a period of the rotations that the graph has.
TEST(Finder, SymmetryOfGeneralizedKautzLosesNothing) {
  for (const std::int32_t degree : {2, 3, 4, 6}) {
    for (const std::int32_t nodes : {15, 20, 21, 26, 35, 49, 60, 64}) {
      const InNeighbours graph = InNeighbours::generalized_kautz(nodes, degree);
      const std::int32_t period = nodes / std::gcd(nodes, degree + 1);
      EXPECT_EQ(bfb_step_loads(graph, (period + 1) / 2), bfb_step_loads(graph, nodes)) << nodes << "," << degree;
    }
  }
}

TEST(Finder, MembersAreWhatPlanningThemGives) {
  TopologyFinder any;
  TopologyFinder cables(Direction::cables_only);
  for (std::int32_t nodes = 3; nodes <= 40; ++nodes) {
    for (const std::int32_t degree : {1, 2, 3, 4, 6}) {
      for (TopologyFinder* finder : {&any, &cables}) {
        for (const FoundTopology& member : finder->frontier(nodes, degree)) {
          SCOPED_TRACE(member.specification);
          const Schedule schedule = planned(member.specification);
          EXPECT_EQ(schedule.topology.host_count(), nodes);
          EXPECT_EQ(topology::degree(schedule.topology), degree);
          EXPECT_EQ(schedule.steps, member.cost.steps);
          EXPECT_EQ(schedule.proof.bandwidth_time, member.cost.bandwidth_time);
          if (nodes <= 20) {
            EXPECT_EQ(verify(schedule), std::vector<std::string>{});
          }
          if (finder == &any) continue;
          EXPECT_EQ(schedule.topology.link_count(), transpose(schedule.topology).link_count());
          for (const Link& link : schedule.topology.links())
            EXPECT_GE(schedule.topology.find_link(link.to, link.from), 0);
        }
      }
    }
  }
}

TEST(Finder, FrontiersAreFrontiersAboveTheBounds) {
  TopologyFinder finder;
  for (std::int32_t nodes = 3; nodes <= 130; ++nodes) {
    for (const std::int32_t degree : {2, 4, 6}) {
      if (degree >= nodes) continue;
      const std::vector<FoundTopology> frontier = finder.frontier(nodes, degree);
      ASSERT_FALSE(frontier.empty());
      const ExpansionCost bound = moore_bound(nodes, degree);
      for (std::size_t i = 0; i < frontier.size(); ++i) {
        EXPECT_GE(frontier[i].cost.steps, bound.steps);
        EXPECT_GE(frontier[i].cost.bandwidth_time, bound.bandwidth_time);
        if (i == 0) continue;
        EXPECT_GT(frontier[i].cost.steps, frontier[i - 1].cost.steps);
        EXPECT_LT(frontier[i].cost.bandwidth_time, frontier[i - 1].cost.bandwidth_time);
      }
      // Generalized Kautz is within one step of Moore's bound (Theorem 21); of even degree there always is a
      // bandwidth-optimal topology, the circulant (§F.4).
      EXPECT_LE(frontier.front().cost.steps, bound.steps + 1) << nodes << "," << degree;
      EXPECT_EQ(frontier.back().cost.bandwidth_time, bound.bandwidth_time) << nodes << "," << degree;
    }
  }
}

/// A row of the paper: whether some member is as good in both.
void expect_matched(const std::vector<FoundTopology>& frontier, std::int64_t steps, double bandwidth_time) {
  EXPECT_TRUE(std::any_of(frontier.begin(), frontier.end(),
                          [&](const FoundTopology& member) {
                            return member.cost.steps <= steps &&
                                   member.cost.bandwidth_time.to_double() <= bandwidth_time;
                          }))
      << steps << " steps, T_B " << bandwidth_time;
}

TEST(Finder, Table4) {
  // Paper 000 Table 4, N = 1024, d = 4, 1 MiB, α = 10 µs, 100 Gbps per node: allreduce 323.5, 291.0, 328.4, 387.8 and
  // 567.6 µs, bound 267.6 µs; 2·(T_L + T_B) with T_L = 5, 6, 8, 11 and 20 α leaves T_B as below, to the 0.05 µs
  // printed.
  TopologyFinder finder;
  const std::vector<FoundTopology> frontier = finder.frontier(1024, 4);
  const double unit = 1048576.0 * 8 / 100e9;
  for (const auto& [steps, microseconds] : {std::pair{5, 323.5}, {6, 291.0}, {8, 328.4}, {11, 387.8}, {20, 567.6}}) {
    expect_matched(frontier, steps, ((microseconds + 0.05) * 1e-6 / 2 - steps * 1e-5) / unit);
  }
  const ExpansionCost bound = moore_bound(1024, 4);
  EXPECT_EQ(bound.steps, 5);
  EXPECT_NEAR(allreduce_seconds(bound, 1 << 20, 1e-5, 3.125e9) * 1e6, 267.6, 0.05);
  // The all-to-all bound of the table, 382.3 µs.
  EXPECT_NEAR(alltoall_moore_bound(1024, 4).to_double() * unit * 1e6, 382.3, 0.05);
  // L³(C(16,{3,4})): 15/16 + 1/16·(1 + 1/4 + 1/16).
  const auto line = std::find_if(frontier.begin(), frontier.end(),
                                 [](const FoundTopology& member) { return member.cost.steps == 6; });
  ASSERT_NE(line, frontier.end());
  EXPECT_LE(line->cost.bandwidth_time, Rational(15, 16) + Rational(21, 256));
}

TEST(Finder, Table5) {
  // Paper 000 Table 5, degree 4: optimal in both for N = 5 to 12, by complete graph, degree expansion, circulants,
  // complete bipartite graph and Hamming graph; two steps are Moore's bound up to 21 nodes, one at 5.
  TopologyFinder finder(Direction::cables_only);
  for (std::int32_t nodes = 5; nodes <= 12; ++nodes) {
    const std::vector<FoundTopology> frontier = finder.frontier(nodes, 4);
    ASSERT_EQ(frontier.size(), 1U) << nodes;
    EXPECT_EQ(frontier[0].cost.steps, nodes == 5 ? 1 : 2) << nodes;
    EXPECT_EQ(frontier[0].cost.bandwidth_time, Rational(nodes - 1, nodes)) << nodes;
  }
}

TEST(Finder, AlltoallBoundCountsHops) {
  // ring:4: 1 + 1 + 2 hops from each node; links carry B/2 each: (4 hops · 4 nodes)/(4 · 8) · 2 = 1.
  EXPECT_EQ(alltoall_time_bound(generate("ring:4").value()), Rational(1));
  EXPECT_EQ(alltoall_time_bound(generate("kautz:2,2").value()), Rational(2 + 2 * 3, 6));
  EXPECT_EQ(alltoall_moore_bound(6, 2), Rational(8, 6));
}

TEST(Finder, KnowsWhereNothingIs) {
  EXPECT_TRUE(TopologyFinder().frontier(4, 4).empty());
  EXPECT_TRUE(TopologyFinder(Direction::cables_only).frontier(5, 3).empty());
}

}  // namespace
}  // namespace libcoll::finder_test
