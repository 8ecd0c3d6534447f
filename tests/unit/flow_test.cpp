#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/flow/baseline/single_path.h"
#include "planner/flow/first_order/bushes.h"
#include "planner/flow/lowering/chunking.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/mcf.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/planners.h"
#include "planner/flow/problem/certificate.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/lp/glpk_solver.h"
#include "planner/registry/planner.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/flow_checks.h"
#include "tests/unit/random_regular.h"

namespace libcoll::flow_test {

using namespace flow;
using namespace flow::baseline;
using namespace flow::first_order;
using namespace flow::lowering;
using namespace flow::paths;
using namespace flow::problem;
using namespace flow_lp;
using namespace lp;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

/// Four hosts on one switch, every cable as fast as the next.
Topology star() {
  std::vector<Node> nodes = numbered_nodes(5);
  nodes[4].is_switch = true;
  std::vector<Link> links;
  for (NodeId host = 0; host < 4; ++host) {
    links.push_back({host, 4});
    links.push_back({4, host});
  }
  return Topology::make("star", nodes, links).value();
}

// --- the LP interface -----------------------------------------------------------------------------------------

/// maximise 3x + 5y, x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: the optimum is 36 at (2, 6) with duals 0, 3/2, 1 (Hillier and
/// Lieberman's Wyndor Glass example).
LinearProgram textbook_program() {
  LinearProgram program{Sense::maximise, {}, {}};
  const std::int32_t x = program.add_column({0, no_bound, 3});
  const std::int32_t y = program.add_column({0, no_bound, 5});
  program.add_row({-no_bound, 4, {{x, 1}}});
  program.add_row({-no_bound, 12, {{y, 2}}});
  program.add_row({-no_bound, 18, {{x, 3}, {y, 2}}});
  return program;
}

void expect_textbook_optimum(const Result<LpSolution>& solution) {
  ASSERT_TRUE(solution.ok()) << solution.error().message;
  ASSERT_EQ(solution->status, LpStatus::optimal);
  EXPECT_NEAR(solution->objective, 36, 1e-5);
  EXPECT_NEAR(solution->primal[0], 2, 1e-5);
  EXPECT_NEAR(solution->primal[1], 6, 1e-5);
  EXPECT_NEAR(solution->row_duals[0], 0, 1e-5);
  EXPECT_NEAR(solution->row_duals[1], 1.5, 1e-5);
  EXPECT_NEAR(solution->row_duals[2], 1, 1e-5);
}

TEST(Glpk, BothMethodsFindTheTextbookOptimumSilently) {
  testing::internal::CaptureStdout();
  const auto by_simplex = solve_with_glpk(textbook_program(), LpMethod::simplex);
  const auto by_interior_point = solve_with_glpk(textbook_program(), LpMethod::interior_point);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  expect_textbook_optimum(by_simplex);
  expect_textbook_optimum(by_interior_point);
}

TEST(Glpk, SaysInfeasibleAndUnbounded) {
  LinearProgram program{Sense::maximise, {{0, no_bound, 1}}, {{2, no_bound, {{0, -1}}}}};
  auto solution = solve_with_glpk(program, LpMethod::simplex);
  ASSERT_TRUE(solution.ok()) << solution.error().message;
  EXPECT_EQ(solution->status, LpStatus::infeasible);
  program.rows[0] = {2, no_bound, {{0, 1}}};
  solution = solve_with_glpk(program, LpMethod::simplex);
  ASSERT_TRUE(solution.ok()) << solution.error().message;
  EXPECT_EQ(solution->status, LpStatus::unbounded);
}

TEST(Glpk, AMalformedProgramIsAnErrorAndTheSolverLivesOn) {
  LinearProgram program = textbook_program();
  program.rows[0].entries.push_back({99, 1});
  testing::internal::CaptureStdout();
  const auto out_of_range = solve_with_glpk(program, LpMethod::simplex);
  program = textbook_program();
  program.rows[0].entries.push_back({0, 1});
  const auto doubled = solve_with_glpk(program, LpMethod::interior_point);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_FALSE(out_of_range.ok());
  EXPECT_NE(out_of_range.error().message.find("out of range"), std::string::npos);
  ASSERT_FALSE(doubled.ok());
  EXPECT_NE(doubled.error().message.find("duplicate"), std::string::npos);
  expect_textbook_optimum(solve_with_glpk(textbook_program(), LpMethod::simplex));
}

// --- the fluid optimum ----------------------------------------------------------------------------------------

/// Outer ring 0-4, inner pentagram 5-9, spokes: vertex-transitive, but every host is left in place by 12 of the 120
/// automorphisms.
Topology petersen() {
  std::vector<Link> links;
  for (NodeId i = 0; i < 5; ++i) {
    for (const auto& [a, b] : {std::pair{i, (i + 1) % 5}, {5 + i, 5 + (i + 2) % 5}, {i, 5 + i}}) {
      links.push_back({a, b});
      links.push_back({b, a});
    }
  }
  return Topology::make("petersen", numbered_nodes(10), links).value();
}

TEST(ConcurrentFlow, SymmetryIsFoundAndChangesNothing) {
  // Petersen: 3 hosts at distance 1, 6 at 2, arc-transitive: U = 10·15/30 = 5. The others against the LP without.
  for (const Topology& topology : {petersen(), generate("mesh:3x4").value(), generate("genkautz:15,2").value(),
                                   generate("genkautz:20,4").value(), generate("complete_bipartite:3,4").value()}) {
    SCOPED_TRACE(topology.name());
    FlowOptions plain;
    plain.symmetry = false;
    const auto without = max_concurrent_flow(topology, plain);
    ASSERT_TRUE(without.ok());
    EXPECT_EQ(without->symmetry_order, 1);
    for (const bool paths : {true, false}) {
      FlowOptions options;
      options.paths = paths;
      const auto with = max_concurrent_flow(topology, options);
      ASSERT_TRUE(with.ok());
      EXPECT_GT(with->symmetry_order, 1);
      EXPECT_NEAR(with->flow, without->flow, 1e-8);
      EXPECT_LE(with->certificate.flow_upper_bound / with->flow - 1, 1e-6);
      EXPECT_EQ(with->pairs.empty(), !paths);
      const std::size_t hosts = with->classes.sources.size() * with->classes.images.size();
      EXPECT_EQ(hosts, paths ? static_cast<std::size_t>(topology.host_count()) : 0);
    }
  }
  EXPECT_NEAR(max_concurrent_flow(petersen())->flow, 0.2, 1e-9);
  EXPECT_EQ(max_concurrent_flow(petersen())->symmetry_order, 120);
}

TEST(ConcurrentFlow, FirstOrderMethodsKeepWhatTheyPromise) {
  for (const auto& [specification, gap, symmetry] : {std::tuple{"genkautz:100,4", 0.01, false},
                                                     {"genkautz:100,4", 0.001, false},
                                                     {"genkautz:200,4", 0.001, true},
                                                     {"genkautz:64,4", 0.005, false},
                                                     {"random_regular:64,4,3", 0.01, true}}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    for (const bool paths : {true, false}) {
      FlowOptions options;
      options.gap = gap;
      options.symmetry = symmetry;
      options.paths = paths;
      options.threads = 2;
      const auto plan = max_concurrent_flow(topology, options);
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->method.substr(0, 6), "bushes");
      EXPECT_LE(plan->certificate.flow_upper_bound / plan->flow - 1, gap);
      EXPECT_LE(plan->flow, plan->certificate.flow_upper_bound);
    }
  }
}

TEST(ConcurrentFlow, OutOfTimeIsTheBestSoFarWithItsGap) {
  FlowOptions options;
  options.gap = 1e-9;
  options.time_limit_seconds = 1e-6;
  const auto plan = max_concurrent_flow(generate("genkautz:64,4").value(), options);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->flow, 0);
  EXPECT_LE(plan->flow, 0.0217076701);  // planner-figures.md
  EXPECT_GE(plan->certificate.flow_upper_bound, 0.0217076700);
}

TEST(MasterLp, SymmetryDoesNotChangeTheOptimum) {
  for (const char* specification : {"torus:3x4", "hypercube:3", "circulant:9,1,2"}) {
    const Topology topology = generate(specification).value();
    const auto images = translations(topology);
    ASSERT_FALSE(images.empty());
    const auto one = solve_master_lp(topology, link_classes(topology, images), LpMethod::simplex);
    const auto all = solve_master_lp(topology, link_classes(topology, {}), LpMethod::simplex);
    ASSERT_TRUE(one.ok() && all.ok());
    EXPECT_EQ(one->flow.size(), 1U);
    EXPECT_NEAR(one->load, all->load, 1e-9);
  }
}

TEST(MasterLp, InteriorPointAgreesWithSimplex) {
  const Topology topology = random_regular(16, 3, 5);
  const LinkClasses classes = link_classes(topology, {});
  const auto simplex = solve_master_lp(topology, classes, LpMethod::simplex);
  const auto interior = solve_master_lp(topology, classes, LpMethod::interior_point);
  ASSERT_TRUE(simplex.ok() && interior.ok());
  EXPECT_NEAR(simplex->load, interior->load, 1e-6 * simplex->load);
}

/// Σ cap·ℓ / Σ dist_ℓ, by Floyd–Warshall instead of Dijkstra.
long double bound_of_lengths(const Topology& topology, const std::vector<std::int64_t>& lengths) {
  const auto nodes = static_cast<std::size_t>(topology.node_count());
  std::vector<std::vector<std::int64_t>> distance(nodes, std::vector<std::int64_t>(nodes, std::int64_t{1} << 60));
  long double capacity = 0;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    const Link& ends = topology.link(link);
    const std::int64_t length = lengths[static_cast<std::size_t>(link)];
    distance[static_cast<std::size_t>(ends.from)][static_cast<std::size_t>(ends.to)] = length;
    capacity += static_cast<long double>(topology.capacity(link).to_double()) * static_cast<long double>(length);
  }
  for (std::size_t i = 0; i < nodes; ++i) distance[i][i] = 0;
  for (std::size_t k = 0; k < nodes; ++k) {
    for (std::size_t i = 0; i < nodes; ++i) {
      for (std::size_t j = 0; j < nodes; ++j) {
        distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
      }
    }
  }
  long double sum = 0;
  const auto hosts = static_cast<std::size_t>(topology.host_count());
  for (std::size_t i = 0; i < hosts; ++i) {
    for (std::size_t j = 0; j < hosts; ++j) sum += static_cast<long double>(distance[i][j]);
  }
  return capacity / sum;
}

TEST(Certificate, IsTheBoundOfItsLengthsForAnyPrices) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> price(0, 1);
  for (int instance = 0; instance < 20; ++instance) {
    const Topology topology = instance == 0 ? star() : random_regular(10, 3, static_cast<std::uint32_t>(instance));
    std::vector<double> prices(static_cast<std::size_t>(topology.link_count()), 0);
    if (instance % 5 != 1) std::generate(prices.begin(), prices.end(), [&] { return price(random); });
    const FlowCertificate certificate = certify_flow(topology, prices);
    const long double bound = bound_of_lengths(topology, certificate.lengths);
    EXPECT_NEAR(certificate.flow_upper_bound, static_cast<double>(bound), 1e-12);
    EXPECT_GE(static_cast<long double>(certificate.flow_upper_bound), bound * (1 - 1e-17L));
    EXPECT_LE(static_cast<long double>(certificate.load_lower_bound.to_double()), (1 / bound) * (1 + 1e-15L));
    EXPECT_NEAR(certificate.load_lower_bound.to_double(), static_cast<double>(1 / bound), 2e-9);
    // Every bound is one: none lies below what the LP reaches.
    EXPECT_GE(certificate.flow_upper_bound, max_concurrent_flow(topology)->flow);
  }
}

TEST(Certificate, IsSoundForAdversarialLengths) {
  // One price ten orders above the rest, prices below the resolution, all on one link, all but one zero.
  const Topology topology = generate("genkautz:16,4").value();
  const double optimum = 7.0 / 53;
  const auto links = static_cast<std::size_t>(topology.link_count());
  for (std::size_t link = 0; link < links; link += 7) {
    for (const double rest : {0.0, 1e-300, 1e-14, 1e-10, 1e-5, 0.999999999}) {
      std::vector<double> prices(links, rest);
      prices[link] = 1;
      const FlowCertificate certificate = certify_flow(topology, prices);
      const long double bound = bound_of_lengths(topology, certificate.lengths);
      EXPECT_GE(static_cast<long double>(certificate.flow_upper_bound), bound * (1 - 1e-17L));
      EXPECT_GE(certificate.flow_upper_bound, optimum);
    }
  }
}

TEST(Certificate, OneSourcePerOrbitIsAsGoodAsAll) {
  const Topology topology = generate("genkautz:20,4").value();
  const SourceOrbits orbits = source_orbits(topology, family_automorphisms(topology));
  ASSERT_LT(orbits.sources.size(), 20U);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> price(0, 1);
  std::vector<double> prices(orbits.capacity.size());
  std::generate(prices.begin(), prices.end(), [&] { return price(random); });
  const FlowCertificate certificate = certify_flow(topology, orbits, prices);
  const long double bound = bound_of_lengths(topology, certificate.lengths);
  EXPECT_NEAR(certificate.flow_upper_bound, static_cast<double>(bound), 1e-12);
  EXPECT_GE(static_cast<long double>(certificate.flow_upper_bound), bound * (1 - 1e-17L));
}

TEST(Certificate, IsExactWhereThePricesAreSmallMultiples) {
  const auto plan = max_concurrent_flow(generate("genkautz:16,4").value());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->certificate.load_lower_bound, Rational(53, 7));
}

// --- paths ------------------------------------------------------------------------------------------------------

TEST(Decomposition, CancelsCyclesAndDropsNoise) {
  // uniring:4 plus the way back: from 0, one unit to each of 1, 2, 3 over the forward links, a cycle 1→2→1 of 5 units
  // on top, flow back into the source, and noise everywhere.
  const Topology ring = generate("ring:4").value();
  std::vector<double> flow(static_cast<std::size_t>(ring.link_count()), 3e-10);
  const auto at = [&](NodeId from, NodeId to) -> double& {
    return flow[static_cast<std::size_t>(ring.find_link(from, to))];
  };
  at(0, 1) += 3 + 1e-8;
  at(1, 2) += 2 + 5 - 1e-8;
  at(2, 3) += 1 + 0.25;
  at(2, 1) += 5;
  at(3, 0) += 0.25;
  const std::vector<PairPaths> pairs = decompose(ring, 0, flow);
  ASSERT_EQ(pairs.size(), 3U);
  for (NodeId destination = 1; destination < 4; ++destination) {
    const PairPaths& pair = pairs[static_cast<std::size_t>(destination) - 1];
    EXPECT_EQ(pair.source, 0);
    EXPECT_EQ(pair.destination, destination);
    ASSERT_EQ(pair.paths.size(), 1U);
    EXPECT_EQ(pair.paths[0].links.size(), static_cast<std::size_t>(destination));
    EXPECT_NEAR(pair.paths[0].weight, 1, 1e-12);
  }
}

TEST(Decomposition, FlowThatTheSourceDoesNotFeedCountsForNothing) {
  // From 0: one unit to 1, more than that to 4; between 2 and 3 a cycle, to which nothing leads.
  const Topology ring = generate("ring:5").value();
  std::vector<double> flow(static_cast<std::size_t>(ring.link_count()), 0);
  const auto at = [&](NodeId from, NodeId to) -> double& {
    return flow[static_cast<std::size_t>(ring.find_link(from, to))];
  };
  at(0, 1) = 1;
  at(2, 3) = at(3, 2) = 5;
  at(0, 4) = 2.5;
  const std::vector<PairPaths> pairs = decompose(ring, 0, flow);
  ASSERT_EQ(pairs.size(), 4U);
  const std::vector<std::size_t> hops = {1, 2, 2, 1};  // the ring's shortest ways
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_EQ(pairs[i].paths.size(), 1U);
    EXPECT_EQ(pairs[i].paths[0].links.size(), hops[i]);
    EXPECT_EQ(pairs[i].paths[0].weight, 1);
  }
}

TEST(Decomposition, ThreadsDoNotChangeThePaths) {
  const Topology topology = generate("genkautz:80,4").value();
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  std::vector<std::vector<double>> flow = Bushes(problem).solve(gap_of(0.02)).flow;
  renumber_by_link_id(problem, flow);
  const std::vector<PairPaths> once = decompose(topology, problem.sources, flow, 1);
  for (const std::int32_t threads : {2, 5}) {
    const std::vector<PairPaths> again = decompose(topology, problem.sources, flow, threads);
    ASSERT_EQ(again.size(), once.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(again[i].destination, once[i].destination);
      ASSERT_EQ(again[i].paths.size(), once[i].paths.size());
      for (std::size_t k = 0; k < once[i].paths.size(); ++k) {
        EXPECT_EQ(again[i].paths[k].links, once[i].paths[k].links);
        EXPECT_EQ(again[i].paths[k].weight, once[i].paths[k].weight);
      }
    }
  }
}

TEST(Decomposition, KeepsTheLoadsOfTheFlow) {
  const Topology topology = random_regular(14, 3, 9);
  const LinkClasses classes = link_classes(topology, {});
  const auto master = solve_master_lp(topology, classes, LpMethod::simplex);
  ASSERT_TRUE(master.ok());
  std::vector<double> amounts(static_cast<std::size_t>(topology.link_count()), 0);
  for (std::size_t i = 0; i < classes.sources.size(); ++i) {
    std::size_t paths = 0;
    for (const PairPaths& pair : decompose(topology, classes.sources[i], master->flow[i])) {
      double total = 0;
      for (const WeightedPath& path : pair.paths) {
        NodeId node = pair.source;
        for (const LinkId link : path.links) {
          EXPECT_EQ(topology.link(link).from, node);
          node = topology.link(link).to;
          amounts[static_cast<std::size_t>(link)] += path.weight;
        }
        EXPECT_EQ(node, pair.destination);
        total += path.weight;
      }
      paths += pair.paths.size();
      EXPECT_NEAR(total, 1, 1e-12);
    }
    EXPECT_LE(paths, static_cast<std::size_t>(topology.link_count() + topology.node_count()));
  }
  EXPECT_NEAR(largest_load(classes, amounts), master->load, 1e-6 * master->load);
}

PlanOptions limits(std::int32_t most, double loss) {
  PlanOptions options;
  options.max_chunks = most;
  options.chunk_loss = loss;
  return options;
}

TEST(Chunking, FindsExactRoundings) {
  // Shortest paths balance the links of torus 3³ and of the hypercube by symmetry, any way round; on an even torus half
  // of the ties must go each way; ring:8 has one destination opposite, whose tie only two chunks can split.
  const std::vector<std::pair<const char*, std::int32_t>> cases = {
      {"torus:3x3x3", 1}, {"hypercube:3", 1}, {"torus:4x4x4", 1}, {"torus:4x6", 1}, {"ring:8", 2}};
  for (const auto& [specification, chunks] : cases) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const auto plan = max_concurrent_flow(topology);
    ASSERT_TRUE(plan.ok());
    const Chunking chunking = round_to_chunks(topology, *plan, limits(8, 1e-9));
    EXPECT_EQ(chunking.chunks_per_shard, chunks);
    EXPECT_NEAR(chunking.loss, 0, 1e-9);
  }
}

TEST(Chunking, IsExactOnTheTorusWithoutSymmetry) {
  // planner-figures.md: the prototype's search found torus 3³ exact with six chunks.
  const Topology topology = generate("torus:3x3x3").value();
  FlowOptions options;
  options.symmetry = false;
  const auto plan = max_concurrent_flow(topology, options);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->classes.images.size(), 1U);
  EXPECT_NEAR(round_to_chunks(topology, *plan, limits(6, 1e-9)).loss, 0, 1e-9);
}

TEST(Chunking, LosesNoMoreThanThePrototypeDid) {
  // planner-figures.md: GenKautz(27,4) c=3 .53 % (as U'/U − 1).
  const Topology topology = generate("genkautz:27,4").value();
  const auto plan = max_concurrent_flow(topology);
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(round_to_chunks(topology, *plan, limits(3, 0.001)).loss, 0.0053);
}

// --- schedules --------------------------------------------------------------------------------------------------

Schedule planned(Result<Schedule> (*plan)(const Topology&, const PlanOptions&), const Topology& topology,
                 const PlanOptions& options = {}) {
  Result<Schedule> schedule = plan(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{});
  EXPECT_TRUE(channel_dependencies_acyclic(topology, schedule->routes));
  EXPECT_LE(schedule->proof.flow, schedule->proof.flow_upper_bound);
  EXPECT_LE(schedule->proof.bandwidth_bound, schedule->proof.bandwidth_time);
  EXPECT_EQ(schedule->proof.bandwidth_time, bandwidth_time(*schedule));
  EXPECT_GE(schedule->proof.flow * schedule->proof.max_link_load.to_double(), 1 - 1e-9);
  return std::move(schedule).value();
}

TEST(Mcf, SwitchesForwardRoutesOnly) {
  // Every host takes in three blocks over one link: U = 3, T_B = 1/4·3.
  const Schedule routed = planned(plan_mcf_path, star());
  EXPECT_EQ(routed.proof.max_link_load, Rational(3));
  EXPECT_EQ(routed.proof.bandwidth_time, Rational(3, 4));
  EXPECT_NEAR(routed.proof.flow, 1.0 / 3, 1e-9);
  const Result<Schedule> on_links = plan_mcf_link(star(), {});
  ASSERT_FALSE(on_links.ok());
  EXPECT_NE(on_links.error().message.find("switch"), std::string::npos);
}

TEST(Mcf, UnequalLinksShareByCapacity) {
  // Two routes between the halves: hosts 0 and 1 are joined by a cable of 1 and, through 2, by cables of 3 units.
  std::vector<Link> links;
  for (const auto& [from, to, units] : {std::tuple{0, 1, 1}, {0, 2, 3}, {1, 2, 3}}) {
    const std::int64_t bandwidth = units * std::int64_t{1'000'000'000};
    links.push_back({from, to, bandwidth});
    links.push_back({to, from, bandwidth});
  }
  const Topology topology = Topology::make("triangle", numbered_nodes(3), links).value();
  // Each way x of pair (0,1) goes direct (x ≤ 1) and 1−x through 2, where 1 + 2(1−x)... per unit demand the loads are
  // x/1 and (1 + (1−x))/3 on 0→2 and 2→1 alike; equal at x = 1/2: U = 1/2.
  for (const auto plan : {plan_mcf_path, plan_mcf_link}) {
    const Schedule schedule = planned(plan, topology);
    EXPECT_NEAR(schedule.proof.flow, 2, 1e-9);
    EXPECT_EQ(schedule.proof.max_link_load, Rational(1, 2));
  }
}

TEST(Mcf, EveryPlanOfRandomDigraphsVerifies) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology =
        random_regular(8 + static_cast<std::int32_t>(seed), 2 + static_cast<std::int32_t>(seed % 3), seed);
    for (const auto plan : {plan_mcf_path, plan_mcf_link}) {
      const Schedule schedule = planned(plan, topology);
      EXPECT_LT(schedule.proof.flow_upper_bound / schedule.proof.flow - 1, 1e-6);
      EXPECT_LE(schedule.chunks_per_shard, 8);
      EXPECT_LE(planned(plan, topology, limits(1, 0.02)).chunks_per_shard, 1);
    }
  }
}

TEST(Mcf, WithoutAScheduleTheFiguresAreThere) {
  PlanFigures figures;
  PlanOptions options;
  options.schedule = false;
  options.figures = &figures;
  const Result<Schedule> plan = plan_mcf_path(generate("genkautz:100,4").value(), options);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->transfers.empty() && plan->routes.empty());
  EXPECT_EQ(figures.symmetry_order, 10);
  EXPECT_FALSE(figures.method.empty());
  EXPECT_NEAR(plan->proof.flow, 0.0123565755, 0.001 * 0.0123565755);
  EXPECT_LE(plan->proof.flow, plan->proof.flow_upper_bound);
  EXPECT_LE(plan->proof.bandwidth_bound, plan->proof.bandwidth_time);
  EXPECT_GE(plan->proof.flow * plan->proof.max_link_load.to_double(), 1 - 1e-12);
}

TEST(Mcf, PlansOfPartialGroupsVerify) {
  for (const Topology& topology : {petersen(), generate("mesh:3x3").value(), generate("genkautz:15,2").value(),
                                   generate("genkautz:20,4").value()}) {
    SCOPED_TRACE(topology.name());
    for (const auto plan : {plan_mcf_path, plan_mcf_link}) planned(plan, topology);
  }
}

TEST(Mcf, ClassesTellTheRoutesOfAPairApart) {
  // A ring of eight (named as a circulant, so that there is no dimension order) splits the pairs opposite each other
  // both ways around and nothing else: two classes, the second for one route of each of these eight pairs.
  const Schedule routed = planned(plan_mcf_path, generate("circulant:8,1").value());
  std::int32_t second = 0;
  for (const Route& route : routed.routes) {
    EXPECT_GE(route.route_class, 1);
    EXPECT_LE(route.route_class, 2);
    if (route.route_class != 2) continue;
    ++second;
    EXPECT_EQ((route.destination - route.source + 8) % 8, 4);
  }
  EXPECT_EQ(second, 8);
}

TEST(SinglePath, PlansVerifyAndNeverBeatTheFluidOptimum) {
  for (const char* specification : {"torus:3x3", "mesh:3x4", "hypercube:4", "ring:6"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const double optimum = max_concurrent_flow(topology)->certificate.flow_upper_bound;
    for (const auto plan : {plan_sssp, plan_dor}) {
      const Schedule schedule = planned(plan, topology);
      EXPECT_EQ(schedule.chunks_per_shard, 1);
      EXPECT_NEAR(schedule.proof.flow_upper_bound, optimum, 1e-12);
      EXPECT_LE(schedule.proof.flow, optimum);
    }
  }
  const Schedule switched = planned(plan_sssp, star());
  EXPECT_EQ(switched.proof.max_link_load, Rational(3));  // the only routes there are
  EXPECT_EQ(switched.proof.bandwidth_time, switched.proof.bandwidth_bound);
}

TEST(Mcf, RefusesWhatItCannotPlan) {
  const Topology one_way = Topology::make("one-way", numbered_nodes(2), {{0, 1}}).value();
  const Topology alone = Topology::make("alone", numbered_nodes(1), {}).value();
  for (const Planner& planner : flow_planners()) {
    EXPECT_FALSE(planner.plan(one_way, {}).ok());
    EXPECT_FALSE(planner.plan(alone, {}).ok());
  }
  EXPECT_EQ(find_planner(flow_planners(), Collective::alltoall, "")->name, "mcf-path");
}

}  // namespace
}  // namespace libcoll::flow_test
