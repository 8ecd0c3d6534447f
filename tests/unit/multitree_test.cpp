#include "planner/broadcast/forest/multitree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"

namespace libcoll::multitree_test {

using namespace broadcast::forest;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

Schedule planned(Collective collective, const Topology& topology, const PlanOptions& options = {}) {
  Result<Schedule> schedule = plan_multitree(collective, topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{}) << topology.name();
  return std::move(schedule).value();
}

Schedule planned(Collective collective, const std::string& specification) {
  return planned(collective, generate(specification).value());
}

/// N·(N−1) tree edges over as many links: no lockstep schedule has fewer steps than this, nor than the diameter.
std::int32_t least_steps(const Topology& topology) {
  const std::int32_t edges = topology.host_count() * (topology.host_count() - 1);
  return std::max((edges + topology.link_count() - 1) / topology.link_count(), graph_facts(topology).diameter);
}

TEST(MultiTree, TheMeshOfPaper001Figure3TakesTwoSteps) {
  // Figure 3: four trees on the 2×2 mesh. Step 1 uses all 8 links, the other 4 of the 12 edges follow in step 2; figure
  // 5 has the allreduce in 4 steps.
  const Schedule allgather = planned(Collective::allgather, "mesh:2x2");
  EXPECT_EQ(allgather.steps, 2);
  EXPECT_EQ(std::count_if(allgather.transfers.begin(), allgather.transfers.end(),
                          [](const Transfer& transfer) { return transfer.step == 1; }),
            8);
  EXPECT_EQ(allgather.transfers.size(), 12U);
  EXPECT_EQ(planned(Collective::allreduce, "mesh:2x2").steps, 4);
}

TEST(MultiTree, SaysWhenTheTimeIsOver) {
  PlanOptions options;
  options.time_limit_seconds = 1e-9;
  const auto late = plan_multitree(Collective::allreduce, generate("torus:4x4").value(), options);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("time was over"), std::string::npos) << late.error().message;
}

TEST(MultiTree, EveryTransferIsOneLinkAndNoLinkIsUsedTwiceInAStep) {
  for (const char* specification :
       {"torus:4x4", "torus:3x3x3", "mesh:4x4", "hypercube:4", "genkautz:16,3", "uniring:5"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const std::int32_t n = topology.host_count();
    for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
      const Schedule schedule = planned(collective, topology);
      EXPECT_TRUE(schedule.routes.empty());
      EXPECT_EQ(schedule.transfers.size(), static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1));
      for (const Rational& load : step_loads(schedule)) EXPECT_EQ(load, Rational(1));
      EXPECT_EQ(schedule.proof.bandwidth_time, Rational(degree(topology) * schedule.steps, n));
      EXPECT_GE(schedule.steps, least_steps(topology));
      EXPECT_GE(schedule.proof.bandwidth_time, schedule.proof.bandwidth_bound);
    }
  }
}

TEST(MultiTree, IsOptimalWhereEveryLinkIsBusyInEveryStep) {
  // One way round a ring there is one tree shape; on a complete graph every tree is complete after one step.
  EXPECT_EQ(planned(Collective::allgather, "uniring:7").steps, 6);
  EXPECT_EQ(planned(Collective::allgather, "complete:6").steps, 1);
  // Two-way rings: every link carries one tree's edge in each of ⌈(N−1)/2⌉ steps.
  EXPECT_EQ(planned(Collective::allgather, "ring:7").steps, 3);
  EXPECT_EQ(planned(Collective::allgather, "ring:8").steps, 4);
}

TEST(MultiTree, StaysNearTheLeastStepsOnToriAndMeshes) {
  // Paper 001 §VI-A claims near full use of links. Measured on these: at most one step in four more than the least.
  for (const char* specification : {"torus:4x4", "torus:8x8", "torus:4x4x4", "mesh:4x4", "mesh:8x8", "hypercube:5"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    // What the corners of a mesh can take in binds sooner than the sum of all links.
    const Rational bound = allgather_bandwidth_bound(topology) * Rational(topology.host_count(), degree(topology));
    const Schedule schedule = planned(Collective::allgather, topology);
    const Rational least = std::max(bound, Rational(least_steps(topology)));
    EXPECT_LE(Rational(schedule.steps), least * Rational(5, 4));
  }
}

TEST(MultiTree, ThroughSwitchesItTakesAsManyStepsAsARing) {
  // Paper 001 §VI-A: on fat trees and BiGraph "both MULTITREE and RING derive the same number of steps", N−1, as every
  // host has one link: all of them are busy in every step.
  for (const char* specification : {"dgx2:1", "fat_tree:4,2", "fat_tree:8,2", "bigraph:4x8", "bigraph:4x16"}) {
    SCOPED_TRACE(specification);
    const Schedule schedule = planned(Collective::allgather, specification);
    EXPECT_EQ(schedule.steps, schedule.topology.host_count() - 1);
    EXPECT_EQ(schedule.proof.bandwidth_time, schedule.proof.bandwidth_bound);
    EXPECT_FALSE(schedule.routes.empty());
    const Schedule allreduce = planned(Collective::allreduce, specification);
    EXPECT_EQ(allreduce.steps, 2 * (schedule.topology.host_count() - 1));
  }
}

TEST(MultiTree, BelowOneSwitchNodesTalkFirst) {
  // §III-C3 (2) and §VI-A: "nodes first communicate with the nodes that are connected to the same switch".
  const Schedule schedule = planned(Collective::allgather, "fat_tree:4,2");
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.step > 1) continue;
    EXPECT_EQ(transfer.from / 4, transfer.to / 4);
    EXPECT_EQ(schedule.routes[static_cast<std::size_t>(transfer.route)].links.size(), 2U);
  }
}

TEST(MultiTree, NeighboursInYComeBeforeThoseInX) {
  // §III-C1. The first thing tree 0 does on the torus is to go along the first dimension.
  const Schedule schedule = planned(Collective::allgather, "torus:4x5");
  std::int32_t along_y = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.step == 1 && transfer.shard == 0 && transfer.from % 5 == transfer.to % 5) ++along_y;
  }
  EXPECT_EQ(along_y, 2);
}

TEST(MultiTree, WideLinksCountAsSeveral) {
  // §VII-B: three hosts in a one-way ring, link 0→1 twice as wide; no step loads it with more than its two units.
  std::vector<Link> links{{0, 1}, {1, 2}, {2, 0}};
  links[0].bandwidth_bytes_per_second *= 2;
  const Topology topology = Topology::make("wide", numbered_nodes(3), links).value();
  const Schedule schedule = planned(Collective::allgather, topology);
  EXPECT_EQ(schedule.steps, 2);
  for (const Rational& load : step_loads(schedule)) EXPECT_LE(load, Rational(1));
  // Trunks of eight between the boards, two of them.
  const Schedule dgx2 = planned(Collective::allgather, "dgx2:2");
  for (const Rational& load : step_loads(dgx2)) EXPECT_LE(load, Rational(1));
}

TEST(MultiTree, ReduceScatterIsTheReverseOnTheTranspose) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const Topology topology = random_regular(12, 3, seed);
    const Schedule forward = planned(Collective::allgather, transpose(topology));
    const Schedule backward = planned(Collective::reduce_scatter, topology);
    EXPECT_EQ(backward.steps, forward.steps);
    std::map<std::pair<NodeId, NodeId>, std::int32_t> turned;
    for (const Transfer& t : forward.transfers) turned[{t.shard, t.to}] = t.from * 1000 + forward.steps + 1 - t.step;
    for (const Transfer& t : backward.transfers) {
      EXPECT_EQ((turned[{t.shard, t.from}]), t.to * 1000 + t.step);
    }
  }
}

TEST(MultiTree, EveryPlanOfRandomDigraphsVerifies) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology =
        random_regular(9 + static_cast<std::int32_t>(seed), 2 + static_cast<std::int32_t>(seed % 3), seed);
    for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
      const Schedule schedule = planned(collective, topology);
      EXPECT_GE(schedule.proof.bandwidth_time, schedule.proof.bandwidth_bound);
    }
  }
}

TEST(MultiTree, FiguresAndNoSchedule) {
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.schedule = false;
  const Topology topology = generate("torus:4x4").value();
  const Schedule bare = plan_multitree(Collective::allreduce, topology, options).value();
  EXPECT_TRUE(bare.transfers.empty());
  EXPECT_EQ(bare.proof, planned(Collective::allreduce, topology).proof);
  EXPECT_EQ(figures.method, "root order");
  ASSERT_EQ(figures.more.size(), 2U);
  EXPECT_EQ(figures.more[0].first, "trees");
  EXPECT_EQ(std::get<std::int64_t>(figures.more[0].second), 16);
  EXPECT_GE(std::get<std::int64_t>(figures.more[1].second), graph_facts(topology).diameter);
}

TEST(MultiTree, RefusesWhatIsNotConnected) {
  const Topology one_way = Topology::make("one-way", numbered_nodes(2), {{0, 1}}).value();
  const Result<Schedule> refused = plan_multitree(Collective::allgather, one_way, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("reach"), std::string::npos);
  EXPECT_FALSE(plan_multitree(Collective::alltoall, generate("ring:4").value(), {}).ok());
}

}  // namespace
}  // namespace libcoll::multitree_test
