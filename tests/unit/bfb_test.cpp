#include "planner/broadcast/bfb/bfb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/broadcast/bound/max_flow.h"
#include "planner/broadcast/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/support/bfb_lp.h"

namespace libcoll::bfb_test {

using namespace broadcast;
using namespace broadcast::bfb;
using namespace broadcast::bound;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

Schedule planned(Result<Schedule> (*plan)(const Topology&, const PlanOptions&), const Topology& topology,
                 const PlanOptions& options = {}) {
  Result<Schedule> schedule = plan(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{});
  return std::move(schedule).value();
}

TEST(MaxFlow, EqualsTheLeastCutOnRandomNetworks) {
  // Ford and Fulkerson 1956; the cuts of 7 vertices are few enough to try all.
  std::mt19937 random(1);
  for (int instance = 0; instance < 200; ++instance) {
    constexpr std::int32_t vertices = 7;
    MaxFlow network(vertices);
    std::vector<std::vector<std::int64_t>> capacity(vertices, std::vector<std::int64_t>(vertices, 0));
    for (int arc = 0; arc < 18; ++arc) {
      const std::size_t from = random() % vertices;
      const std::size_t to = random() % vertices;
      const std::int64_t amount = random() % 10;
      network.add_arc(static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), amount);
      if (from != to) capacity[from][to] += amount;
    }
    std::int64_t least = MaxFlow::infinite;
    for (unsigned side = 0; side < 1U << (vertices - 2); ++side) {
      const auto inside = [&](std::size_t v) { return v == 0 || (v + 1 < vertices && ((side >> (v - 1)) & 1U) != 0); };
      std::int64_t cut = 0;
      for (std::size_t u = 0; u < vertices; ++u) {
        for (std::size_t v = 0; v < vertices; ++v) {
          if (inside(u) && !inside(v)) cut += capacity[u][v];
        }
      }
      least = std::min(least, cut);
    }
    EXPECT_EQ(network.run(0, vertices - 1), least);
    EXPECT_TRUE(network.on_source_side(0));
    EXPECT_FALSE(network.on_source_side(vertices - 1));
  }
}

void expect_loads_of_the_lp(const Topology& topology) {
  const auto exact = bfb_loads(topology);
  const auto reference = bfb_lp_loads(topology);
  ASSERT_TRUE(exact.ok()) << exact.error().message;
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  ASSERT_EQ(exact->size(), reference->size());
  for (std::size_t t = 0; t < exact->size(); ++t) {
    ASSERT_EQ((*exact)[t].size(), (*reference)[t].size());
    for (std::size_t u = 0; u < (*exact)[t].size(); ++u) {
      EXPECT_NEAR((*exact)[t][u].to_double(), (*reference)[t][u], 1e-9) << "u = " << u << ", t = " << t + 1;
    }
  }
}

TEST(Bfb, LoadsAreTheOptimaOfLinearProgram1) {
  for (const char* specification : {"genkautz:27,4", "genkautz:16,3", "torus:4x3", "mesh:3x4", "circulant:11,1,3"}) {
    SCOPED_TRACE(specification);
    expect_loads_of_the_lp(generate(specification).value());
  }
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_loads_of_the_lp(random_regular(18, 3, seed));
  }
}

/// torus:3x4 with link k as fast as 2 + k mod 3 units.
Topology uneven_torus() {
  const Topology torus = generate("torus:3x4").value();
  std::vector<Link> links(torus.links().begin(), torus.links().end());
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i].bandwidth_bytes_per_second = 1'000'000'000 * static_cast<std::int64_t>(2 + i % 3);
  }
  return Topology::make("uneven", {torus.nodes().begin(), torus.nodes().end()}, links).value();
}

std::vector<Planner> bfb_planners() {
  std::vector<Planner> result;
  for (const Planner& planner : broadcast_planners()) {
    if (planner.name == "bfb") result.push_back(planner);
  }
  return result;
}

PlanOptions at_most_chunks(std::int32_t max_chunks) {
  PlanOptions options;
  options.max_chunks = max_chunks;
  return options;
}

TEST(Bfb, UnequalLinksAreBalancedByTheirCapacity) {
  expect_loads_of_the_lp(uneven_torus());
  for (const std::int32_t max_chunks : {0, 5, 1}) {
    const PlanOptions options = at_most_chunks(max_chunks);
    for (const Planner& planner : bfb_planners()) planned(planner.plan, uneven_torus(), options);
  }
}

TEST(Bfb, WholeChunksLoseLessThanOneChunkOfALinkInAStep) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const Topology topology = seed == 1 ? uneven_torus() : random_regular(14, 3, seed);
    const Schedule exact = planned(plan_bfb_allreduce, topology);
    for (const std::int32_t limit : {1, 2, 7}) {
      const Schedule rounded = planned(plan_bfb_allreduce, topology, at_most_chunks(limit));
      const Rational chunk(degree(topology) * std::int64_t{rounded.steps},
                           topology.host_count() * std::int64_t{rounded.chunks_per_shard});
      EXPECT_LE(rounded.proof.bandwidth_time, exact.proof.bandwidth_time + chunk);
    }
  }
}

TEST(Bfb, AllreduceSharesOneNumberOfChunksWithinTheLimit) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const Topology topology = random_regular(15, 3, seed);
    for (const std::int32_t limit : {1, 4, 0}) {
      const Schedule schedule = planned(plan_bfb_allreduce, topology, at_most_chunks(limit));
      EXPECT_LE(schedule.chunks_per_shard, limit == 0 ? 512 : limit);
    }
  }
}

TEST(Bfb, EveryPlanOfRandomDigraphsVerifiesAndReversesBack) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology =
        random_regular(8 + static_cast<std::int32_t>(seed), 2 + static_cast<std::int32_t>(seed % 3), seed);
    const Schedule allgather = planned(plan_bfb_allgather, topology);
    EXPECT_EQ(allgather.steps, graph_facts(topology).diameter);
    EXPECT_GE(allgather.proof.bandwidth_time, allgather.proof.bandwidth_bound);
    EXPECT_EQ(bandwidth_time(allgather), allgather.proof.bandwidth_time);
    const Schedule mirrored = reverse(allgather).value();
    EXPECT_EQ(verify(mirrored), Faults{});
    EXPECT_EQ(reverse(mirrored).value(), allgather);
    const Schedule reduce_scatter = planned(plan_bfb_reduce_scatter, topology);
    EXPECT_GE(reduce_scatter.proof.bandwidth_time, reduce_scatter.proof.bandwidth_bound);
    planned(plan_bfb_allreduce, topology);
  }
}

TEST(Bfb, PlansTheSameOnAnyNumberOfThreads) {
  for (const Topology& topology : {generate("genkautz:90,4").value(), uneven_torus(), random_regular(40, 3, 2)}) {
    for (const auto plan : {plan_bfb_allgather, plan_bfb_reduce_scatter, plan_bfb_allreduce}) {
      PlanOptions options = at_most_chunks(5);
      const Schedule alone = planned(plan, topology, options);
      for (const std::int32_t threads : {2, 3}) {
        options.threads = threads;
        EXPECT_EQ(planned(plan, topology, options), alone) << topology.name();
      }
    }
  }
  for (const char* specification : {"torus:24x24", "genkautz:600,3"}) {
    const Topology topology = generate(specification).value();
    EXPECT_EQ(bfb_step_loads(topology, false, nullptr, 3).value(), bfb_step_loads(topology, false).value());
  }
}

TEST(Bfb, SaysWhenTheTimeIsOver) {
  PlanOptions options;
  options.time_limit_seconds = 1e-9;
  for (const auto plan : {plan_bfb_allgather, plan_bfb_reduce_scatter, plan_bfb_allreduce}) {
    const auto late = plan(generate("torus:4x4").value(), options);
    ASSERT_FALSE(late.ok());
    EXPECT_NE(late.error().message.find("bfb on torus:4x4: the time was over"), std::string::npos);
  }
}

TEST(Bfb, RefusesWhatItCannotPlan) {
  std::vector<Node> nodes = numbered_nodes(3);
  nodes[2].is_switch = true;
  const Topology star = Topology::make("star", nodes, {{0, 2}, {2, 0}, {1, 2}, {2, 1}}).value();
  const Topology one_way = Topology::make("one-way", numbered_nodes(2), {{0, 1}}).value();
  for (const Planner& planner : bfb_planners()) {
    const Result<Schedule> with_switch = planner.plan(star, {});
    ASSERT_FALSE(with_switch.ok());
    EXPECT_NE(with_switch.error().message.find("switch"), std::string::npos);
    const Result<Schedule> unreachable = planner.plan(one_way, {});
    ASSERT_FALSE(unreachable.ok());
    EXPECT_NE(unreachable.error().message.find("cannot reach"), std::string::npos);
  }
}

TEST(FindPlanner, ByNameByDefaultOrWithTheNamesThereAre) {
  EXPECT_EQ(find_planner(broadcast_planners(), Collective::allreduce, "")->name, "bfb");
  EXPECT_EQ(find_planner(broadcast_planners(), Collective::allgather, "bfb")->plan, plan_bfb_allgather);
  const auto unknown = find_planner(broadcast_planners(), Collective::allgather, "rings");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("bfb"), std::string::npos);
  EXPECT_FALSE(find_planner(broadcast_planners(), Collective::alltoall, "").ok());
}

}  // namespace
}  // namespace libcoll::bfb_test
