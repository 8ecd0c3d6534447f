// Expanded schedules: right, and as fast as the theorems of paper 000 appendix D say.
#include "planner/broadcast/bfb/expansion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb/bfb.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/schedule/verify.h"
#include "planner/topology/expansion.h"
#include "planner/topology/generators.h"
#include "planner/topology/isomorphism.h"
#include "tests/unit/random_regular.h"

namespace libcoll::expansion_test {

using namespace broadcast::bfb;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

Schedule verified(Result<Schedule> schedule) {
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().message);
  if (!schedule.ok()) return {};
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{}) << schedule->topology.name();
  EXPECT_EQ(bandwidth_time(*schedule), schedule->proof.bandwidth_time);
  return std::move(schedule).value();
}

Schedule base_schedule(const std::string& specification) {
  return verified(plan_bfb_allgather(generate(specification).value(), {}));
}

ExpansionCost cost_of(const Schedule& schedule) {
  return {schedule.topology.host_count(), degree(schedule.topology), schedule.steps, schedule.proof.bandwidth_time};
}

// Bases that are regular: bandwidth-optimal or not, one-way or not.
const auto bases = testing::Values("complete:4", "uniring:4", "ring:5", "complete_bipartite:2,2", "kautz:2,2",
                                   "graph:moore8", "circulant:8,1,3", "genkautz:8,3", "modified_debruijn:2,3",
                                   "directed_circulant:5,1,2,3", "genkautz:12,2");

class Expanded : public testing::TestWithParam<const char*> {};

std::string test_name(const testing::TestParamInfo<const char*>& instance) {
  std::string name = instance.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

TEST_P(Expanded, LineGraphIsTheorem7) {
  const Schedule base = base_schedule(GetParam());
  const Schedule line = verified(expand_line(base));
  if (degree(base.topology) > 1) {
    EXPECT_EQ(cost_of(line), line_cost(cost_of(base)));
  }
  // Theorem 10, under a condition our copy of the paper has lost: the optimal BFB schedule of the line graph is no
  // better. Of these bases only moore8 breaks it, whose line graph is bandwidth-optimal.
  const auto loads = bfb_step_loads(line.topology).value();
  Rational sum(0);
  for (const Rational& load : loads) sum += load;
  const Rational optimum = sum * Rational(degree(line.topology), line.topology.host_count());
  const bool moore8 = std::string(GetParam()) == "graph:moore8";
  EXPECT_EQ(optimum, moore8 ? Rational(15, 16) : line.proof.bandwidth_time);
}

TEST_P(Expanded, LineGraphTwiceIsCorollary7_1) {
  const Schedule base = base_schedule(GetParam());
  if (base.topology.link_count() > 32) return;
  const Schedule twice = verified(expand_line(verified(expand_line(base))));
  if (degree(base.topology) > 1) {
    EXPECT_EQ(cost_of(twice), line_cost(line_cost(cost_of(base))));
  }
}

TEST_P(Expanded, DegreeExpansionIsTheorem11) {
  const Schedule base = base_schedule(GetParam());
  for (const std::int32_t copies : {1, 2, 3}) {
    EXPECT_EQ(cost_of(verified(expand_degree(base, copies))), degree_cost(cost_of(base), copies)) << copies;
  }
}

TEST_P(Expanded, CartesianPowerIsTheorem12) {
  const Schedule base = base_schedule(GetParam());
  for (const std::int32_t factors : {1, 2, 3}) {
    if (factors == 3 && base.topology.host_count() > 5) continue;
    EXPECT_EQ(cost_of(verified(expand_power(base, factors))), power_cost(cost_of(base), factors)) << factors;
  }
}

TEST_P(Expanded, ReduceScatterBySymmetryIsTheorem2) {
  const Schedule base = base_schedule(GetParam());
  const auto map = reverse_symmetry(base.topology);
  if (!map) return;
  Schedule mirrored = verified(reduce_scatter_by_symmetry(base, *map));
  EXPECT_EQ(mirrored.collective, Collective::reduce_scatter);
  EXPECT_EQ(mirrored.steps, base.steps);
  EXPECT_EQ(mirrored.proof.bandwidth_time, base.proof.bandwidth_time);
  EXPECT_TRUE(concatenate(mirrored, base).ok());
}

INSTANTIATE_TEST_SUITE_P(Bases, Expanded, bases, test_name);

TEST(Expansion, PreservesBandwidthOptimality) {
  // Corollaries 11.1 and 12.1; Figure 4's 4-node ring as an example.
  const Schedule ring = base_schedule("uniring:4");
  EXPECT_EQ(verified(expand_degree(ring, 2)).proof.bandwidth_time, Rational(7, 8));
  EXPECT_EQ(verified(expand_power(ring, 2)).proof.bandwidth_time, Rational(15, 16));
}

TEST(Expansion, BothDirectionsKeepStepsAndTime) {
  // Appendix A.6: T_L and T_B stay, at twice the degree. On reverse-symmetric graphs without links both ways.
  for (const char* specification : {"uniring:5", "directed_circulant:7,1,2", "directed_circulant:9,1,3"}) {
    const Schedule base = base_schedule(specification);
    const auto map = reverse_symmetry(base.topology);
    ASSERT_TRUE(map) << specification;
    const Schedule both =
        verified(expand_both_directions(base, isomorphic_image(base, *map, transpose(base.topology))));
    ExpansionCost expected = cost_of(base);
    expected.degree *= 2;
    EXPECT_EQ(cost_of(both), expected) << specification;
  }
  EXPECT_FALSE(expand_both_directions(base_schedule("ring:4"), base_schedule("ring:4")).ok());
}

TEST(Expansion, PlansAreForTheNamedTopology) {
  for (const char* specification :
       {"line:line:complete_bipartite:2,2", "power:2,graph:moore8", "degree:2,[line:complete:3]",
        "product:ring:4+complete:3", "line:[product:uniring:3+ring:4]", "bidirectional:uniring:6"}) {
    const Topology topology = generate(specification).value();
    EXPECT_EQ(plan_expansion_allgather(topology, {})->topology, topology);
    EXPECT_EQ(plan_expansion_reduce_scatter(topology, {})->topology, topology);
  }
}

TEST(Expansion, ReduceScatterWithoutReverseSymmetryIsPlannedOnTheTranspose) {
  // Node 0 has three links out and one in; no node has it the other way round, so Theorem 2 does not apply.
  const std::vector<Link> links = {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {2, 1}, {3, 2}, {1, 3}};
  std::vector<Node> nodes(4);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].name = std::to_string(i);
  const Topology lopsided = Topology::make("lopsided", nodes, links).value();
  ASSERT_FALSE(reverse_symmetry(lopsided));
  const Schedule plan = verified(plan_bfb_reduce_scatter(lopsided, {}));
  EXPECT_EQ(plan.steps, verified(plan_bfb_allgather(transpose(lopsided), {})).steps);  // Corollary 1.1
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  const Topology line = generate("line:genkautz:11,3").value();
  verified(plan_expansion_reduce_scatter(line, options));
  ASSERT_EQ(figures.more.size(), 1U);
  EXPECT_EQ(figures.more[0].first, "reverse_symmetric");
}

TEST(Expansion, WithoutScheduleKeepsTheProof) {
  PlanOptions options;
  options.schedule = false;
  const Schedule plan = plan_expansion_allgather(generate("line:complete:4").value(), options).value();
  EXPECT_TRUE(plan.transfers.empty());
  EXPECT_EQ(plan.steps, 2);
  EXPECT_EQ(plan.proof.bandwidth_time, Rational(1));  // 3/4 + 1/4
}

TEST(Expansion, RefusesWhatItCannotPlan) {
  EXPECT_FALSE(plan_expansion_allgather(generate("ring:4").value(), {}).ok());
  Topology other = generate("line:complete:3").value();
  other.set_name("line:uniring:6");
  EXPECT_FALSE(plan_expansion_allgather(other, {}).ok());
  EXPECT_FALSE(expand_line(verified(plan_bfb_reduce_scatter(generate("ring:4").value(), {}))).ok());
}

TEST(BfbSteps, AreTheMaximaOfBfbLoads) {
  std::vector<Topology> graphs;
  for (const char* specification : {"genkautz:27,4", "genkautz:50,4", "torus:5x4", "mesh:3x4", "hypercube:5",
                                    "complete:15", "debruijn:2,5", "xpander:5,4,2", "twisted_torus:4x8", "kautz:4,3"}) {
    graphs.push_back(generate(specification).value());
  }
  for (std::uint32_t seed = 1; seed <= 20; ++seed) graphs.push_back(random_regular(30, 3 + seed % 4, seed));
  for (const Topology& graph : graphs) {
    const auto all = bfb_loads(graph).value();
    const auto largest = bfb_step_loads(graph, false).value();
    EXPECT_EQ(largest, bfb_step_loads(graph).value()) << graph.name();
    ASSERT_EQ(all.size(), largest.size()) << graph.name();
    for (std::size_t t = 0; t < all.size(); ++t) {
      EXPECT_EQ(largest[t], *std::max_element(all[t].begin(), all[t].end())) << graph.name() << " step " << t + 1;
    }
  }
}

TEST(BfbSteps, GeneralizedKautzByItsFormulaIsTheGenerators) {
  for (const auto& [n, d] : {std::pair{27, 4}, {100, 2}, {63, 6}}) {
    const Topology topology = generate("genkautz:" + std::to_string(n) + "," + std::to_string(d)).value();
    const auto loads = bfb_step_loads(InNeighbours::generalized_kautz(n, d), n);
    EXPECT_EQ(loads, bfb_step_loads(topology).value());
    // x → N−1−x is an automorphism: it maps −dx−a to −d(N−1−x)−(d+1−a). Half of the nodes are enough.
    EXPECT_EQ(loads, bfb_step_loads(InNeighbours::generalized_kautz(n, d), (n + 1) / 2));
  }
}

TEST(BfbSteps, ServePlansWithoutSchedule) {
  PlanOptions options;
  options.schedule = false;
  for (const char* specification : {"torus:3x4", "genkautz:20,3", "complete:15", "mesh:3x3"}) {
    const Topology topology = generate(specification).value();
    for (const auto plan : {plan_bfb_allgather, plan_bfb_reduce_scatter, plan_bfb_allreduce}) {
      const Schedule quick = plan(topology, options).value();
      const Schedule full = verified(plan(topology, {}));
      EXPECT_TRUE(quick.transfers.empty());
      EXPECT_EQ(quick.collective, full.collective);
      EXPECT_EQ(quick.steps, full.steps);
      EXPECT_EQ(quick.proof.bandwidth_time, full.proof.bandwidth_time) << specification;
      EXPECT_EQ(quick.proof.bandwidth_bound, full.proof.bandwidth_bound);
      EXPECT_GE(quick.proof.max_link_load, full.proof.max_link_load);
    }
  }
}

TEST(BfbSteps, RefuseWhatBfbCannotPlan) {
  std::vector<Node> nodes(3);
  EXPECT_FALSE(bfb_step_loads(Topology::make("", nodes, {{0, 1}, {1, 0}}).value()).ok());
}

}  // namespace
}  // namespace libcoll::expansion_test
