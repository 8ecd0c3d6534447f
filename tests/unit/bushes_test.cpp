#include "planner/flow/bushes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "planner/flow/certificate.h"
#include "planner/flow/flow_problem.h"
#include "planner/flow/master_lp.h"
#include "planner/flow/pdhg.h"
#include "planner/flow/tree_columns.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/generators.h"
#include "tests/unit/flow_checks.h"
#include "tests/unit/random_regular.h"

namespace libcoll {
namespace {

TEST(Bushes, ReachTheOptimumOfRandomDigraphsWithinTheGap) {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_network(seed);
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution solution = solve_by_bushes(problem, gap_of(0.02));
    expect_feasible(problem, solution);
    EXPECT_LE(solution.gap(), 0.02);
    const double optimum = solve_master_lp(topology, link_classes(topology, {}), LpMethod::simplex)->load;
    EXPECT_GE(solution.load, optimum * (1 - 1e-9));
    EXPECT_LE(solution.load, optimum * 1.02);
    EXPECT_LE(solution.bound, optimum * (1 + 1e-5));  // single precision
  }
}

TEST(Bushes, ThreadsDoNotChangeTheResult) {
  const Topology topology = generate("genkautz:100,4").value();
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  for (const std::int32_t threads : {1, 2, 5}) {
    FlowLimits limits = gap_of(0.01);
    limits.threads = threads;
    const FlowSolution solution = solve_by_bushes(problem, limits);
    expect_feasible(problem, solution);
    EXPECT_LE(solution.gap(), 0.01);
    EXPECT_EQ(solution.load, solve_by_bushes(problem, gap_of(0.01)).load);
  }
}

TEST(Bushes, OneSourcePerOrbitGivesTheSameOptimum) {
  for (const char* specification : {"genkautz:50,4", "genkautz:27,4", "mesh:4x5", "torus:4x4"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const AutomorphismGroup group = find_automorphisms(topology, 60);
    EXPECT_GT(group.order, 1);
    const FlowProblem whole = flow_problem(topology, source_orbits(topology, {}));
    const FlowProblem part = flow_problem(topology, source_orbits(topology, group.generators));
    EXPECT_LT(part.sources.size(), whole.sources.size());
    const FlowSolution a = solve_by_bushes(whole, gap_of(0.01));
    const FlowSolution b = solve_by_bushes(part, gap_of(0.01));
    expect_feasible(part, b);
    EXPECT_LE(a.bound, b.load * (1 + 1e-6));
    EXPECT_LE(b.bound, a.load * (1 + 1e-6));
    EXPECT_NEAR(a.load, b.load, 0.011 * a.load);
  }
}

TEST(Bushes, ADeadlineInThePastStillGivesAFlowAndABound) {
  const Topology topology = generate("genkautz:64,4").value();
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  FlowLimits limits = gap_of(1e-9);
  limits.deadline = std::chrono::steady_clock::now();
  const FlowSolution solution = solve_by_bushes(problem, limits);
  expect_feasible(problem, solution);
  EXPECT_GT(solution.bound, 0);
}

TEST(TreeColumns, AreExactOnSymmetricGraphs) {
  // U: torus 10³ 1250, circulant(1000;3,50) 6250, circulant(1000;7,31) 3854.0556 (planner-figures.md); hypercube d
  // 2^(d-1).
  const std::vector<std::pair<const char*, double>> cases = {{"torus:10x10x10", 1250},
                                                             {"hypercube:8", 128},
                                                             {"circulant:1000,3,50", 6250},
                                                             {"circulant:1000,7,31", 3854.0556}};
  for (const auto& [specification, load] : cases) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, family_automorphisms(topology)));
    ASSERT_EQ(problem.sources.size(), 1U);
    const FlowSolution solution = solve_by_tree_columns(problem, gap_of(1e-9));
    expect_feasible(problem, solution);
    EXPECT_LE(solution.gap(), 1e-8);
    EXPECT_NEAR(solution.load, load, 5e-5);
  }
}

}  // namespace
}  // namespace libcoll
