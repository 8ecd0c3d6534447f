// What stands in for linear programs where those are too large, and flows of whole units.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "planner/flow/first_order/bushes.h"
#include "planner/flow/first_order/path_equilibrium.h"
#include "planner/flow/first_order/pdhg.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/paths/path_sets.h"
#include "planner/flow/timed_paths.h"
#include "planner/flow/ts_mcf.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/flow_checks.h"

namespace libcoll::equilibrium_test {

using namespace flow;
using namespace flow::first_order;
using namespace flow::lowering;
using namespace flow::paths;
using namespace flow::problem;
using namespace flow_lp;
using namespace test;
using namespace topology;

namespace {

// --- whole units ------------------------------------------------------------------------------------------------

std::size_t count(const std::vector<PairPaths>& pairs) {
  std::size_t paths = 0;
  for (const PairPaths& pair : pairs) paths += pair.paths.size();
  return paths;
}

std::size_t paths_of(const FlowProblem& problem, const FlowSolution& solution) {
  std::size_t paths = 0;
  PathDecomposition decomposition(problem);
  for (std::size_t i = 0; i < solution.flow.size(); ++i) {
    paths += count(decomposition.split(problem.sources[i], solution.flow[i]));
  }
  return paths;
}

/// The largest load of a class per unit capacity, of paths that bring a unit to every pair.
double load_of(const Topology& topology, const FlowProblem& problem, const std::vector<PairPaths>& pairs) {
  const std::size_t others = static_cast<std::size_t>(problem.hosts - 1);
  EXPECT_EQ(pairs.size(), problem.sources.size() * others);
  std::vector<double> by_id(problem.links(), 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(pairs[i].source, problem.sources[i / others]);
    double total = 0;
    for (const WeightedPath& path : pairs[i].paths) {
      NodeId node = pairs[i].source;
      for (const LinkId link : path.links) {
        EXPECT_EQ(topology.link(link).from, node);
        node = topology.link(link).to;
        by_id[static_cast<std::size_t>(link)] += problem.weight[i / others] * path.weight;
      }
      EXPECT_EQ(node, pairs[i].destination);
      total += path.weight;
    }
    EXPECT_NEAR(total, 1, 1e-12);
  }
  std::vector<double> loads(problem.classes(), 0);
  for (std::size_t link = 0; link < problem.links(); ++link) {
    loads[static_cast<std::size_t>(problem.link_class[link])] += by_id[static_cast<std::size_t>(problem.link_id[link])];
  }
  return largest_load(problem, loads);
}

TEST(WholeUnits, SplitFewerPairsWithinTheLoadAllowed) {
  for (const bool symmetry : {false, true}) {
    const Topology topology = generate("genkautz:100,4").value();
    const std::vector<Automorphism> generators =
        symmetry ? find_automorphisms(topology, 60).generators : std::vector<Automorphism>{};
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, generators));
    FlowSolution solution = solve_by_pdhg(problem, Bushes(problem).solve(gap_of(0.03)), gap_of(0.005));
    const double allowed = 1.01 * solution.bound;
    const std::size_t before = paths_of(problem, solution);
    const std::vector<PairPaths> paths = decompose_into_whole_units(problem, allowed, solution.flow);
    EXPECT_LE(load_of(topology, problem, paths), allowed * (1 + 1e-6));
    const std::size_t pairs = problem.sources.size() * 99;
    const std::size_t after = count(paths);
    EXPECT_GT(before, pairs);
    EXPECT_GE(after, pairs);
    EXPECT_LT(after - pairs, (before - pairs) / 2);
  }
}

TEST(WholeUnits, LeaveNothingToSplitWhereLoadsDoNotMatter) {
  // Flow may move between all ways to a host until one of them has a unit for it.
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_network(seed);
    const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
    FlowSolution solution = Bushes(problem).solve(gap_of(0.02));
    const std::vector<PairPaths> paths = decompose_into_whole_units(problem, 1e9, solution.flow);
    load_of(topology, problem, paths);
    EXPECT_EQ(count(paths), paths.size());
  }
}

TEST(WholeUnits, NothingIsLoadedMoreWithoutRoom) {
  const Topology topology = generate("genkautz:27,4").value();
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  FlowSolution solution = Bushes(problem).solve(gap_of(0.02));
  const double load = solution.load;
  EXPECT_LE(load_of(topology, problem, decompose_into_whole_units(problem, load, solution.flow)), load * (1 + 1e-6));
}

// --- path equilibration ------------------------------------------------------------------------------------------

TEST(PathEquilibrium, AgreesWithTheLinearProgram) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = random_network(seed);
    const LinkClasses classes = link_classes(topology, {});
    for (const char* text : {"disjoint", "shortest", "all:5"}) {
      SCOPED_TRACE(text);
      Result<std::vector<PairPaths>> paths = candidate_paths(topology, parse_path_set(text).value(), classes.sources);
      if (!paths) continue;  // all:5 does not reach everywhere in each of these networks
      const Result<PathFlow> exact = solve_path_lp(topology, classes, *paths, {}, 0);
      ASSERT_TRUE(exact.ok());
      constexpr double gap = 2e-3;
      const PathEquilibrium near =
          equilibrate_paths(classes, std::move(*paths), topology.host_count(), {}, gap, Deadline(0));
      EXPECT_GE(near.flow.load, exact->load * (1 - 1e-6));
      EXPECT_LE(near.bound, exact->load * (1 + 1e-6));
      // In problems so small a step of p can be too large to come back from.
      EXPECT_LE(near.flow.load, 1.03 * exact->load);
      double priced = 0;
      for (LinkId link = 0; link < topology.link_count(); ++link) {
        priced += topology.capacity(link).to_double() * near.flow.prices[static_cast<std::size_t>(link)];
      }
      EXPECT_NEAR(priced, 1, 1e-9);
    }
  }
}

TEST(PathEquilibrium, EndsNearTheOptimumWhereManyPathsShareALink) {
  for (const char* specification : {"genkautz:27,4", "genkautz:36,4"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const LinkClasses classes = link_classes(topology, {});
    const std::vector<PairPaths> paths = candidate_paths(topology, PathSet{}, classes.sources).value();
    const Result<PathFlow> exact = solve_path_lp(topology, classes, paths, {}, 0);
    ASSERT_TRUE(exact.ok());
    const PathEquilibrium near = equilibrate_paths(classes, paths, topology.host_count(), {}, 2e-3, Deadline(0));
    EXPECT_LE(near.flow.load, 1.015 * near.bound);
    EXPECT_GE(near.flow.load, exact->load * (1 - 1e-6));
    EXPECT_LE(near.bound, exact->load * (1 + 1e-6));
  }
}

TEST(PathEquilibrium, IsNoWorseThanItsStartWithoutTime) {
  const Topology topology = generate("genkautz:27,4").value();
  const LinkClasses classes = link_classes(topology, {});
  const std::vector<PairPaths> paths = candidate_paths(topology, PathSet{}, classes.sources).value();
  const Deadline over(1e-9);
  const PathEquilibrium near = equilibrate_paths(classes, paths, topology.host_count(), {}, 1e-6, over);
  EXPECT_LE(near.flow.load, largest_load(classes, paths, topology.host_count(), {}) * (1 + 1e-9));
  EXPECT_LE(near.bound, near.flow.load);
}

// --- paths in time -----------------------------------------------------------------------------------------------

TEST(PathsInTime, AreOptimalWhereThereIsOnePathOnly) {
  // On a ring of one direction the paths are given, and the LP only chooses the steps.
  for (const char* specification : {"uniring:4", "uniring:6"}) {
    const Topology topology = generate(specification).value();
    const LinkClasses rows = link_classes(topology, {});
    const std::int32_t diameter = graph_facts(topology).diameter;
    const std::vector<PairPaths> paths = candidate_paths(topology, PathSet{}, rows.sources).value();
    for (const std::int32_t steps : {diameter, diameter + 2}) {
      SCOPED_TRACE(steps);
      const auto exact = solve_time_stepped(topology, rows, steps, {}, 0);
      ASSERT_TRUE(exact.ok());
      const TimeSteppedFlow timed = paths_in_time(rows, paths, steps, topology.host_count(), {}, Deadline(0));
      EXPECT_GE(timed.load, exact->load * (1 - 1e-6));
      EXPECT_LE(timed.load, exact->load * 1.01);
    }
  }
}

TEST(PathsInTime, ComeNearTheTimeSteppedOptimum) {
  const Topology topology = generate("genkautz:16,4").value();
  const LinkClasses rows = link_classes(topology, {});
  const auto flow = max_concurrent_flow(topology);
  ASSERT_TRUE(flow.ok());
  const std::vector<PairPaths> paths = pairs_from(topology, rows.sources, *flow);
  const std::int32_t steps = graph_facts(topology).diameter + 1;
  const auto exact = solve_time_stepped(topology, rows, steps, {}, 0);
  ASSERT_TRUE(exact.ok());
  const TimeSteppedFlow timed = paths_in_time(rows, paths, steps, topology.host_count(), {}, Deadline(0));
  EXPECT_GE(timed.load, exact->load * (1 - 1e-6));
  EXPECT_LE(timed.load, exact->load * 1.1);
  for (const TimedPair& pair : timed.pairs) {
    double total = 0;
    for (const TimedPath& path : pair.paths) {
      total += path.weight;
      ASSERT_EQ(path.links.size(), path.steps.size());
      EXPECT_GE(path.steps.front(), 1);
      EXPECT_LE(path.steps.back(), steps);
      for (std::size_t i = 1; i < path.steps.size(); ++i) EXPECT_LT(path.steps[i - 1], path.steps[i]);
    }
    EXPECT_NEAR(total, 1, 1e-6);
  }
}

}  // namespace
}  // namespace libcoll::equilibrium_test
