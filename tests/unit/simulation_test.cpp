// Times of schedules, transfer by transfer, against formulas.
#include "planner/simulate/simulation.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::simulation_test {

using namespace broadcast;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace simulate;
using namespace test;
using namespace topology;

namespace {

constexpr double alpha = 3e-7;
constexpr auto bandwidth = static_cast<double>(default_bandwidth_bytes_per_second);

Schedule planned(const std::string& algorithm, Collective collective, const std::string& specification) {
  const Topology topology = generate(specification).value();
  Result<Schedule> schedule = find_planner(broadcast_planners(), collective, algorithm)->plan(topology, {});
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{});
  return std::move(schedule).value();
}

Simulation simulated(const Schedule& schedule, const SimulationOptions& options) {
  Result<Simulation> result = simulate::simulate(schedule, options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

/// Hops one after the other, and in S segments N − 2 + S times what one segment takes.
TEST(Simulation, ABroadcastAlongAChain) {
  const Schedule chain = ring_broadcast(6, 2);
  const double bytes = 5e6;
  const Simulation whole = simulated(chain, {.bytes = bytes, .alpha_seconds = alpha});
  EXPECT_NEAR(whole.seconds, 5 * (alpha + default_latency_seconds + bytes / bandwidth), 1e-12);
  EXPECT_NEAR(whole.busiest_link_seconds, bytes / bandwidth, 1e-12);
  EXPECT_EQ(whole.messages, 5U);
  ASSERT_EQ(whole.step_seconds.size(), 5U);
  EXPECT_NEAR(whole.step_seconds[1], 2 * (alpha + default_latency_seconds + bytes / bandwidth), 1e-12);
  const Simulation cut = simulated(chain, {.bytes = bytes, .alpha_seconds = alpha, .segment_bytes = 50'000});
  EXPECT_EQ(cut.messages, 500U);
  EXPECT_NEAR(cut.seconds, 5 * (alpha + default_latency_seconds) + (4 + 100) * 50e3 / bandwidth, 1e-12);
}

/// N − 1 steps, a shard each: data-flow and lockstep are the same where all nodes do the same.
TEST(Simulation, RingAllgather) {
  const Schedule ring = ring_allgather(7, 2);
  for (const NodeTiming timing : {NodeTiming::data_flow, NodeTiming::lockstep}) {
    const Simulation result = simulated(ring, {.bytes = 7e5, .timing = timing});
    EXPECT_NEAR(result.busiest_link_seconds, 6 * 1e5 / bandwidth, 1e-12);
    // Two chunks to a shard: in data-flow the first moves on while the second arrives, and covers the latency.
    EXPECT_LE(result.seconds, 6 * (default_latency_seconds + 1e5 / bandwidth) + 1e-12);
    EXPECT_GE(result.seconds, 6 * 1e5 / bandwidth + default_latency_seconds - 1e-12);
  }
  const Simulation lockstep = simulated(ring, {.bytes = 7e5, .timing = NodeTiming::lockstep});
  EXPECT_NEAR(lockstep.seconds, lockstep_time(ring).seconds(7e5), 1e-12);
}

/// Both of a ring's trees of N − 1 hops carry half of the vector: T_B = M/(2b) once segments hide the hops.
TEST(Simulation, ForestsReachTheirBandwidthInSegments) {
  const Schedule forest = planned("forestcoll", Collective::broadcast, "ring:6");
  const double bytes = 1e9;
  const Simulation result = simulated(forest, {.bytes = bytes, .segment_bytes = 100'000});
  EXPECT_GE(result.seconds, bytes / 2 / bandwidth);
  EXPECT_LE(result.seconds, bytes / 2 / bandwidth + 5 * (default_latency_seconds + 1e5 / bandwidth) + 1e-9);
}

/// A contribution waits for those below it in the tree.
TEST(Simulation, AReductionWaitsForItsContributions) {
  const Schedule tree = tree_reduce(3);
  const double hop = default_latency_seconds + 1e6 / bandwidth;
  EXPECT_NEAR(simulated(tree, {.bytes = 1e6}).seconds, 2 * hop, 1e-12);
}

/// What no link forbids, NICs that take turns between messages reach: the busiest link never waits for long.
TEST(Simulation, RoutedAllToAllsReachTheirBoundInSegments) {
  constexpr double bytes = 64 << 20;
  for (const char* specification : {"torus:3x3x3", "random_regular:16,4,1", "hypercube:4", "genkautz:12,3", "mesh:3x4",
                                    "ring:7", "complete_bipartite:4,4", "torus:4x2"}) {
    const Topology topology = generate(specification).value();
    for (const char* planner : {"mcf-path", "sssp"}) {
      const Schedule schedule =
          find_planner(flow_planners(), Collective::alltoall, planner)->plan(topology, {}).value();
      const Simulation result = simulated(schedule, {.bytes = bytes, .segment_bytes = 64 << 10});
      EXPECT_LE(result.seconds, 1.05 * result.busiest_link_seconds) << planner << " on " << specification;
      EXPECT_LE(result.seconds, 1.05 * simulated(schedule, {.bytes = bytes, .timing = NodeTiming::lockstep}).seconds)
          << planner << " on " << specification;
    }
  }
}

TEST(Simulation, RoutesForwardAtOnceAndAddTheirLatencies) {
  // Both messages of the switched pair go at once, two links each.
  const Simulation result = simulated(switched_allgather(), {.bytes = 2e6});
  EXPECT_NEAR(result.seconds, 2 * default_latency_seconds + 1e6 / bandwidth, 1e-12);
}

TEST(Simulation, NeverBeatsWhatTheBusiestLinkCarries) {
  for (const Schedule& schedule : all_small_schedules()) {
    for (const std::int64_t segment : {0, 1000}) {
      const Simulation result = simulated(schedule, {.bytes = 1e6, .segment_bytes = segment});
      EXPECT_GE(result.seconds, result.busiest_link_seconds) << name_of(schedule);
      EXPECT_GE(simulated(schedule, {.bytes = 1e6, .timing = NodeTiming::lockstep}).seconds,
                result.busiest_link_seconds)
          << name_of(schedule);
    }
  }
  EXPECT_EQ(simulated(make_schedule(Collective::allgather, make_topology("one", 1, 0, {}), 1, 0), {}).seconds, 0);
}

TEST(Simulation, RefusesWhatHasStepsOnlyOrDoesNotFit) {
  Schedule rewired = ring_allgather(4);
  rewired.wirings = {{1, "ring", 0, {}}};
  EXPECT_FALSE(simulate::simulate(rewired, {}).ok());
  EXPECT_FALSE(simulate::simulate(ring_alltoall(12, 1), {.bytes = 1e15, .segment_bytes = 1}).ok());
}

}  // namespace
}  // namespace libcoll::simulation_test
