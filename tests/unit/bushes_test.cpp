#include "planner/flow/first_order/bushes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "planner/flow/baseline/ewsp.h"
#include "planner/flow/first_order/pdhg.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/lp/tree_columns.h"
#include "planner/flow/problem/certificate.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/generators.h"
#include "tests/unit/flow_checks.h"
#include "tests/unit/random_regular.h"

namespace libcoll::bushes_test {

using namespace flow::baseline;
using namespace flow::first_order;
using namespace flow::problem;
using namespace flow_lp;
using namespace lp;
using namespace test;
using namespace topology;

namespace {

TEST(Bushes, ReachTheOptimumOfRandomDigraphsWithinTheGap) {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_network(seed);
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution solution = Bushes(problem).solve(gap_of(0.02));
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
    const FlowSolution solution = Bushes(problem).solve(limits);
    expect_feasible(problem, solution);
    EXPECT_LE(solution.gap(), 0.01);
    EXPECT_EQ(solution.load, Bushes(problem).solve(gap_of(0.01)).load);
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
    const FlowSolution a = Bushes(whole).solve(gap_of(0.01));
    const FlowSolution b = Bushes(part).solve(gap_of(0.01));
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
  const FlowSolution solution = Bushes(problem).solve(limits);
  expect_feasible(problem, solution);
  EXPECT_GT(solution.bound, 0);
}

// --- where they start -------------------------------------------------------------------------------------------

/// Ends before the first pass.
FlowLimits no_time() {
  FlowLimits limits = gap_of(1e-12);
  limits.deadline = std::chrono::steady_clock::now();
  return limits;
}

/// With what equal prices prove.
FlowSolution start_of(const FlowProblem& problem, std::vector<std::vector<double>> flow) {
  FlowSolution start;
  start.load = largest_load(problem, class_loads(problem, flow));
  start.flow = std::move(flow);
  start.prices.assign(problem.classes(), 1);
  start.bound = load_bound(problem, start.prices, 1);
  return start;
}

/// Equal shares of all shortest paths, counted by Brandes' method.
FlowSolution equal_shares(const Topology& topology, const FlowProblem& problem) {
  const std::vector<double> amounts(static_cast<std::size_t>(problem.hosts), 1);
  std::vector<std::vector<double>> flow;
  for (const NodeId source : problem.sources) {
    const std::vector<double> by_id = equal_shortest_flow(topology, source, amounts);
    std::vector<double>& of_source = flow.emplace_back();
    for (const LinkId link : problem.link_id) of_source.push_back(by_id[static_cast<std::size_t>(link)]);
  }
  return start_of(problem, std::move(flow));
}

/// All of a source's data on one tree, the first that a depth-first search finds: a bad plan.
FlowSolution deep_trees(const FlowProblem& problem) {
  std::vector<std::vector<double>> flow;
  for (const NodeId source : problem.sources) {
    std::vector<double>& of_source = flow.emplace_back(problem.links(), 0);
    std::vector<bool> seen(static_cast<std::size_t>(problem.nodes), false);
    const std::function<double(NodeId)> visit = [&](NodeId node) {
      seen[static_cast<std::size_t>(node)] = true;
      double units = node < problem.hosts && node != source ? 1 : 0;
      const auto begin = problem.out_begin.begin() + node;
      for (std::int32_t k = *begin; k < *(begin + 1); ++k) {
        const auto link = static_cast<std::size_t>(problem.out_link[static_cast<std::size_t>(k)]);
        if (seen[static_cast<std::size_t>(problem.to[link])]) continue;
        of_source[link] = visit(problem.to[link]);
        units += of_source[link];
      }
      return units;
    };
    visit(source);
  }
  return start_of(problem, std::move(flow));
}

/// Graphs and the gaps that bushes alone reach on them: few shortest paths, many with holes, the edge of a mesh, links
/// of several bandwidths with switches.
std::vector<std::pair<Topology, double>> graphs_to_start_on() {
  std::vector<std::pair<Topology, double>> graphs;
  graphs.emplace_back(generate("genkautz:48,4").value(), 0.01);
  graphs.emplace_back(punctured(generate("torus:4x4x4").value(), 5, 1), 0.001);
  graphs.emplace_back(generate("mesh:4x5").value(), 0.001);
  graphs.emplace_back(random_network(6), 0.02);
  return graphs;
}

TEST(Bushes, StartOnTheOptimumWhereAllShortestPathsAreIt) {
  // U: on torus 4x4x4 the mean distance is 3·64/63 over 63 hosts, so 192 units of links for each of 64 sources, shared
  // by 6 links a node; hypercube d 2^(d-1). Equal prices prove both.
  for (const auto& [specification, load] : {std::pair{"torus:4x4x4", 32.0}, {"hypercube:5", 16.0}}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution solution = Bushes(problem).solve(no_time());
    expect_feasible(problem, solution);
    EXPECT_NEAR(solution.load, load, 1e-9 * load);
    EXPECT_LE(solution.gap(), 1e-5);  // single precision
  }
}

TEST(Bushes, StartOnTheBetterOfTreesAndAllShortestPaths) {
  for (const auto& [topology, gap] : graphs_to_start_on()) {
    SCOPED_TRACE(topology.name());
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution shares = equal_shares(topology, problem);
    expect_feasible(problem, shares);
    const FlowSolution solution = Bushes(problem).solve(no_time());
    expect_feasible(problem, solution);
    EXPECT_LE(solution.load, shares.load * (1 + 1e-12));
  }
  // One tree for each source cannot share what holes in a torus leave to few links.
  const Topology torus = punctured(generate("torus:6x6x6").value(), 5, 2);
  const FlowProblem problem = flow_problem(torus, source_orbits(torus, {}));
  const double shares = equal_shares(torus, problem).load;
  EXPECT_NEAR(Bushes(problem).solve(no_time()).load, shares, 1e-9 * shares);
}

TEST(Bushes, ReachTheSameGapFromAnyStart) {
  for (const auto& [topology, gap] : graphs_to_start_on()) {
    SCOPED_TRACE(topology.name());
    const SourceOrbits orbits = source_orbits(topology, {});
    const FlowProblem problem = flow_problem(topology, orbits);
    std::vector<FlowSolution> reached = {Bushes(problem).solve(gap_of(gap))};
    for (const FlowSolution& start : {equal_shares(topology, problem), deep_trees(problem)}) {
      expect_feasible(problem, start);
      Bushes bushes(problem);
      bushes.start_from(start);
      reached.push_back(bushes.solve(gap_of(gap)));
    }
    for (const FlowSolution& solution : reached) {
      expect_feasible(problem, solution);
      EXPECT_LE(solution.gap(), gap);
      // No prices bound any flow below what it reaches: F ≤ the bound, whichever start either comes from.
      const FlowCertificate certificate = certify_flow(topology, orbits, solution.prices);
      for (const FlowSolution& other : reached) EXPECT_GE(certificate.flow_upper_bound * other.load, 1 - 1e-9);
      // What the bound in floating point promised, at least.
      EXPECT_LE(certificate.flow_upper_bound * solution.bound, 1 + 1e-4);
    }
  }
}

TEST(Bushes, AStartIsNeverLost) {
  for (const auto& [topology, gap] : graphs_to_start_on()) {
    SCOPED_TRACE(topology.name());
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    const FlowSolution start = Bushes(problem).solve(gap_of(gap));
    Bushes bushes(problem);
    bushes.start_from(start);
    for (const FlowLimits& limits : {no_time(), gap_of(gap / 2)}) {
      const FlowSolution solution = bushes.solve(limits);
      expect_feasible(problem, solution);
      EXPECT_LE(solution.load, start.load * (1 + 1e-9));
      EXPECT_GE(solution.bound, start.bound);
    }
  }
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
}  // namespace libcoll::bushes_test
