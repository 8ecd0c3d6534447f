// The default plans: T_B of the bottleneck cut, T_L of the diameter.
//
// LIBCOLL_DIGRAPHS (default 20): how many random digraphs.
#include "planner/plan/default_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bound/cut_bound.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/planners.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/measured_fabrics.h"
#include "tests/unit/support/forest_bisection.h"

namespace libcoll::default_plan_test {

using namespace broadcast;
using namespace broadcast::bound;
using namespace default_plan;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// A strongly connected digraph: a cycle through all nodes in random order, and as many links again to twice as many.
Topology random_digraph(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto nodes = std::uniform_int_distribution<NodeId>(4, 40)(random);
  std::vector<NodeId> order(at(nodes));
  for (NodeId node = 0; node < nodes; ++node) order[at(node)] = node;
  std::shuffle(order.begin(), order.end(), random);
  std::set<std::pair<NodeId, NodeId>> ends;
  for (std::size_t i = 0; i < order.size(); ++i) ends.emplace(order[i], order[(i + 1) % order.size()]);
  const auto more = std::uniform_int_distribution<NodeId>(nodes, 2 * nodes)(random);
  std::uniform_int_distribution<NodeId> any(0, nodes - 1);
  for (NodeId i = 0; i < more; ++i) {
    const NodeId from = any(random);
    const NodeId to = any(random);
    if (from != to) ends.emplace(from, to);
  }
  std::vector<Link> links;
  links.reserve(ends.size());
  for (const auto& [from, to] : ends) links.push_back({from, to});
  return Topology::make("digraph-" + std::to_string(seed), numbered_nodes(nodes), std::move(links)).value();
}

void expect_best_plans(const Topology& topology) {
  // By another algorithm than the planner's: paper 004, Algorithm 1.
  const Rational inverse_x = forest_optimum_by_bisection(topology).value();
  const Rational optimum = Rational(degree(topology), topology.host_count()) * inverse_x;
  const DefaultPlans plans = plan_default(broadcast_planners(), topology, Collective::allgather, {}).value();
  const Schedule& large = plans.least_bandwidth_time;
  EXPECT_EQ(cut_bound(topology, Collective::allgather, 0), optimum) << topology.name();
  EXPECT_LE(large.proof.bandwidth_time, optimum * Rational(102, 100)) << topology.name();
  EXPECT_GE(large.proof.bandwidth_time, optimum) << topology.name();
  EXPECT_EQ(verify(large), std::vector<std::string>{}) << topology.name();
  const Schedule& small = plans.least_steps ? *plans.least_steps : large;
  EXPECT_EQ(small.steps, graph_facts(topology).diameter) << topology.name();
  EXPECT_EQ(verify(small), std::vector<std::string>{}) << topology.name();
}

TEST(DefaultPlan, IsOptimalOnRandomDigraphs) {
  const auto digraphs = static_cast<std::uint32_t>(setting("LIBCOLL_DIGRAPHS", 20));
  for (std::uint32_t seed = 1; seed <= digraphs; ++seed) expect_best_plans(random_digraph(seed));
}

TEST(DefaultPlan, TakesBfbWhereThatIsOptimal) {
  // Paper 000: BFB is bandwidth-optimal on tori, hypercubes and complete graphs.
  for (const char* specification : {"torus:3x3x3", "hypercube:4", "complete:5"}) {
    const Topology topology = generate(specification).value();
    for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
      const DefaultPlans plans = plan_default(broadcast_planners(), topology, collective, {}).value();
      EXPECT_EQ(plans.candidates.size(), 1U) << specification;
      EXPECT_EQ(plans.candidates.front().algorithm, "bfb") << specification;
      EXPECT_EQ(plans.least_bandwidth_time.proof.bandwidth_time, cut_bound(topology, collective, 0)) << specification;
    }
  }
}

TEST(DefaultPlan, ThePlanForSmallVectorsEndsWhereTheyMeet) {
  // Allreduce, degree 3, 1 us and 25 Gbps a link: T_L 4 and T_B 9/4 by BFB, 6 and 7/4 by ForestColl.
  const Topology topology = generate("random_regular:8,3,5").value();
  const DefaultPlans plans = plan_default(broadcast_planners(), topology, Collective::allreduce, {}).value();
  ASSERT_TRUE(plans.least_steps.has_value());
  EXPECT_NEAR(static_cast<double>(small_up_to(*plans.least_steps, plans.least_bandwidth_time).value()), 37500, 1);
  EXPECT_EQ(small_up_to(plans.least_bandwidth_time, *plans.least_steps), std::nullopt);  // more steps
  EXPECT_EQ(small_up_to(*plans.least_steps, *plans.least_steps), std::nullopt);
  // Without latencies steps cost nothing.
  std::vector<Link> links(topology.links().begin(), topology.links().end());
  for (Link& link : links) link.latency_seconds = 0;
  const Topology quick = Topology::make("no latency", numbered_nodes(8), std::move(links)).value();
  EXPECT_FALSE(plan_default(broadcast_planners(), quick, Collective::allreduce, {})->least_steps.has_value());
}

TEST(CutBound, OfABarbellIsThatOfItsOneCable) {
  // Two cliques of six hosts, one cable between them: six shards cross one link of capacity 1, degree 6.
  std::vector<Link> links;
  for (NodeId a = 0; a < 12; ++a) {
    for (NodeId b = 0; b < 12; ++b) {
      if (a != b && a / 6 == b / 6) links.push_back({a, b});
    }
  }
  links.push_back({5, 6});
  links.push_back({6, 5});
  const Topology barbell = Topology::make("barbell", numbered_nodes(12), std::move(links)).value();
  EXPECT_EQ(cut_bound(barbell, Collective::allgather, 0), Rational(6 * 6, 12));
  EXPECT_EQ(cut_bound(barbell, Collective::allreduce, 0), Rational(6));
  EXPECT_EQ(quick_cut_bound(barbell, Collective::reduce_scatter, 0), Rational(3));
  EXPECT_EQ(cut_bound(barbell, Collective::broadcast, 3), Rational(6));
  EXPECT_EQ(cut_bound(barbell, Collective::alltoall, 0), Rational(0));
}

}  // namespace
}  // namespace libcoll::default_plan_test
