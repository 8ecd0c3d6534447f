#include "planner/flow/first_order/pdhg.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "planner/flow/first_order/bushes.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/generators.h"
#include "tests/unit/flow_checks.h"
#include "tests/unit/random_regular.h"

namespace libcoll::pdhg_test {

using namespace flow::first_order;
using namespace flow::problem;
using namespace flow_lp;
using namespace lp;
using namespace test;
using namespace topology;

namespace {

FlowSolution solved(const FlowProblem& problem, double gap, std::int32_t threads = 1) {
  FlowLimits limits = gap_of(0.05);
  FlowSolution start = Bushes(problem).solve(limits);
  limits.gap = gap;
  limits.threads = threads;
  return solve_by_pdhg(problem, std::move(start), limits);
}

TEST(Pdhg, ReachesATenthOfAPerCentOnKautzGraphs) {
  // F of planner-figures.md.
  for (const auto& [specification, flow] :
       {std::pair{"genkautz:32,4", 0.0470588235}, {"genkautz:64,4", 0.0217076700}, {"genkautz:100,4", 0.0123565755}}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution solution = solved(problem, 0.001);
    expect_feasible(problem, solution);
    EXPECT_LE(solution.gap(), 0.001);
    EXPECT_GE(solution.load * flow, 1 - 1e-6);
    EXPECT_LE(solution.bound * flow, 1 + 1e-5);
  }
}

TEST(Pdhg, NeverReturnsWorseThanItsStart) {
  for (std::uint32_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_network(seed);
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution start = Bushes(problem).solve(gap_of(0.05));
    const FlowSolution solution = solve_by_pdhg(problem, start, gap_of(0.002));
    expect_feasible(problem, solution);
    EXPECT_LE(solution.load, start.load);
    EXPECT_GE(solution.bound, start.bound);
    const double optimum = solve_master_lp(topology, link_classes(topology, {}), LpMethod::simplex)->load;
    EXPECT_GE(solution.load, optimum * (1 - 1e-9));
    EXPECT_LE(solution.bound, optimum * (1 + 1e-5));
  }
}

TEST(Pdhg, TwoThreadsAndOrbitsReachTheSame) {
  const Topology topology = generate("genkautz:100,4").value();
  const FlowProblem whole = flow_problem(topology, source_orbits(topology, {}));
  const FlowProblem part = flow_problem(topology, source_orbits(topology, family_automorphisms(topology)));
  EXPECT_EQ(part.sources.size(), 10U);
  for (const FlowSolution& solution : {solved(whole, 0.001, 2), solved(part, 0.001)}) {
    EXPECT_LE(solution.gap(), 0.001);
    EXPECT_NEAR(solution.load, 1 / 0.0123565755, 0.0011 / 0.0123565755);
  }
}

}  // namespace
}  // namespace libcoll::pdhg_test
