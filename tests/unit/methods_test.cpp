// Every all-to-all method of paper 003 against the optimum, the paper's figures, and the verifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/baseline/ewsp.h"
#include "planner/flow/baseline/fptas.h"
#include "planner/flow/baseline/ilp.h"
#include "planner/flow/baseline/single_path.h"
#include "planner/flow/link_mcf.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lp/child_lp.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/mcf.h"
#include "planner/flow/mcf_decomposed.h"
#include "planner/flow/p_mcf.h"
#include "planner/flow/paths/path_sets.h"
#include "planner/flow/paths/widest_paths.h"
#include "planner/flow/planners.h"
#include "planner/flow/problem/demand.h"
#include "planner/flow/problem/demand_reader.h"
#include "planner/flow/problem/injection.h"
#include "planner/flow/problem/negotiation.h"
#include "planner/flow/ts_mcf.h"
#include "planner/lp/glpk_solver.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/unit/random_regular.h"

namespace libcoll::methods_test {

using namespace flow;
using namespace flow::baseline;
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
using Plan = Result<Schedule> (*)(const Topology&, const PlanOptions&);

Topology made(const std::string& specification) { return generate(specification).value(); }

/// The 3x3x3 torus of paper 003 §5.1: 25 Gbps links, hosts that inject 100 Gbps.
Topology bottlenecked_torus() {
  Topology torus = made("torus:3x3x3");
  torus.set_injection_bytes_per_second(4 * default_bandwidth_bytes_per_second);
  return torus;
}

/// Fig. 5: a 3x3x3 torus without three cables.
Topology punctured_torus() {
  return read_topology(
             "generator = \"torus:3x3x3\"\nname = \"punctured\"\n"
             "removed_links = [[\"0\", \"1\"], [\"13\", \"14\"], [\"8\", \"26\"]]\n",
             "punctured.toml")
      .value();
}

/// Plans, with what every plan has to hold.
Schedule planned(Plan plan, const Topology& topology, PlanOptions options = {}, PlanFigures* figures = nullptr) {
  PlanFigures ignored;
  options.figures = figures == nullptr ? &ignored : figures;
  Result<Schedule> schedule = plan(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{});
  EXPECT_TRUE(channel_dependencies_acyclic(topology, schedule->routes));
  EXPECT_GT(schedule->proof.flow, 0);
  EXPECT_LE(schedule->proof.flow, schedule->proof.flow_upper_bound);
  EXPECT_LE(schedule->proof.bandwidth_bound, schedule->proof.bandwidth_time);
  return std::move(schedule).value();
}

double number(const PlanFigures& figures, const std::string& name) {
  for (const auto& [key, value] : figures.more) {
    if (key == name) return std::get<double>(value);
  }
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

double optimum(const Topology& topology) { return max_concurrent_flow(topology)->flow; }

// --- methods that reach the optimum --------------------------------------------------------------------------------

struct Method {
  const char* name;
  Plan plan;
};

const std::vector<Method>& exact_methods() {
  static const std::vector<Method> methods = {{"mcf", plan_mcf},
                                              {"mcf-decomposed", plan_mcf_decomposed},
                                              {"mcf-child", plan_mcf_child},
                                              {"mcf-extp", plan_mcf_extp}};
  return methods;
}

TEST(Methods, LinkBasedLpsAgreeOnRandomDigraphsOfUnequalLinks) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const Topology regular = random_regular(7, 2, seed);
    std::mt19937 random(seed);
    std::vector<Link> links(regular.links().begin(), regular.links().end());
    for (Link& link : links) link.bandwidth_bytes_per_second *= 1 + static_cast<std::int64_t>(random() % 3);
    const Topology topology = Topology::make("unequal", numbered_nodes(7), links).value();
    const double flow = optimum(topology);
    for (const Method& method : exact_methods()) {
      SCOPED_TRACE(method.name);
      EXPECT_NEAR(planned(method.plan, topology).proof.flow, flow, 1e-6 * flow);
    }
    PlanOptions all;
    all.paths = "all:6";  // every simple path of seven nodes
    EXPECT_NEAR(planned(plan_p_mcf, topology, all).proof.flow, flow, 1e-6 * flow);
  }
}

TEST(Methods, ChildLpsSplitTheMastersFlow) {
  const Topology topology = made("genkautz:12,3");
  const LinkClasses classes = link_classes(topology, {});
  const auto master = solve_master_lp(topology, classes, LpMethod::simplex);
  ASSERT_TRUE(master.ok());
  std::vector<double> amounts(12, 1);
  amounts[5] = 0;
  const auto flows = solve_child_lp(topology, 5, master->flow[5], amounts, 0);
  ASSERT_TRUE(flows.ok()) << flows.error().message;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    double sum = 0;  // (11)
    for (const std::vector<double>& flow : *flows) sum += flow.empty() ? 0 : flow[at(link)];
    EXPECT_LE(sum, master->flow[5][at(link)] + 2e-6);
  }
  for (NodeId to = 0; to < 12; ++to) {
    if (to == 5) continue;
    double arrives = 0;  // (13)
    for (const LinkId link : topology.in_links(to)) arrives += (*flows)[at(to)][at(link)];
    EXPECT_NEAR(arrives, 1, 1e-6);
  }
}

TEST(WidestPaths, TakeTheStrongestFirst) {
  // A diamond 0→{1,2}→3 with 0.7 over node 1, limited to 0.6 on its second link, and 0.4 over node 2.
  const Topology diamond =
      Topology::make("diamond", numbered_nodes(4), {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 2}}).value();
  std::vector<double> flow = {0.7, 0.3, 0.6, 0.4, 0.1};
  const PairPaths pair = extract_widest_paths(diamond, 0, 3, flow, 1);
  ASSERT_EQ(pair.paths.size(), 3U);
  EXPECT_EQ(pair.paths[0].links, (std::vector<LinkId>{0, 2}));
  EXPECT_NEAR(pair.paths[0].weight, 0.6, 1e-12);
  EXPECT_EQ(pair.paths[1].links, (std::vector<LinkId>{1, 3}));
  EXPECT_NEAR(pair.paths[1].weight, 0.3, 1e-12);
  EXPECT_EQ(pair.paths[2].links, (std::vector<LinkId>{0, 4, 3}));
  EXPECT_NEAR(pair.paths[2].weight, 0.1, 1e-12);
  EXPECT_NEAR(*std::max_element(flow.begin(), flow.end()), 0, 1e-12);
}

// --- chosen paths ------------------------------------------------------------------------------------------------

TEST(PathSets, DisjointOnesShareNoLinkAndThereAreNoMore) {
  const Topology torus = made("torus:3x3");
  const std::vector<NodeId> sources = {0, 4};
  const auto pairs = candidate_paths(torus, {}, sources);
  ASSERT_TRUE(pairs.ok());
  ASSERT_EQ(pairs->size(), 16U);
  for (const PairPaths& pair : *pairs) {
    EXPECT_EQ(pair.paths.size(), 4U);  // a torus is as connected as its degree
    std::set<LinkId> links;
    std::size_t hops = 0;
    for (const WeightedPath& path : pair.paths) {
      NodeId node = pair.source;
      std::set<NodeId> met{node};
      for (const LinkId link : path.links) {
        ASSERT_EQ(torus.link(link).from, node);
        node = torus.link(link).to;
        EXPECT_TRUE(met.insert(node).second);
        EXPECT_TRUE(links.insert(link).second);
      }
      EXPECT_EQ(node, pair.destination);
      hops += path.links.size();
    }
    // Neighbours: 1 + 2 (the ring's other way) + 3 + 3 hops; else 2 + 2 and, going round one ring each, 3 + 3.
    const std::int32_t distance = hop_distances(torus)[at(pair.source)][at(pair.destination)];
    EXPECT_EQ(hops, distance == 1 ? 9U : 10U);
  }
}

TEST(PathSets, DisjointOnesAroundAFlowKeepItsHeaviestPath) {
  // 0→1→3 is heaviest and 0→1→2→3 shares its first link; 0→2→3 remains.
  const Topology diamond =
      Topology::make("diamond", numbered_nodes(4), {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 2}}).value();
  const std::vector<PairPaths> sets =
      disjoint_sets_around(diamond, {{0, 3, {{{0, 4, 3}, 0.4}, {{0, 2}, 0.6}}}, {0, 2, {{{0, 4}, 1}}}});
  ASSERT_EQ(sets.size(), 2U);
  ASSERT_EQ(sets[0].paths.size(), 2U);
  EXPECT_EQ(sets[0].paths[0].links, (std::vector<LinkId>{0, 2}));
  EXPECT_EQ(sets[0].paths[1].links, (std::vector<LinkId>{1, 3}));
  ASSERT_EQ(sets[1].paths.size(), 2U);
  EXPECT_EQ(sets[1].paths[0].links, (std::vector<LinkId>{0, 4}));
  EXPECT_EQ(sets[1].paths[1].links, (std::vector<LinkId>{1}));
}

TEST(PathSets, ShortestAndBoundedOnesAreAllOfTheirKind) {
  const Topology cube = made("hypercube:3");
  const std::vector<NodeId> source = {0};
  const auto shortest = candidate_paths(cube, {PathSet::Kind::shortest, 0}, source);
  const auto bounded = candidate_paths(cube, {PathSet::Kind::all, 3}, source);
  ASSERT_TRUE(shortest.ok() && bounded.ok());
  EXPECT_EQ((*shortest)[6].paths.size(), 6U);  // to the opposite corner: 3!
  EXPECT_EQ((*bounded)[6].paths.size(), 6U);
  EXPECT_EQ((*shortest)[0].paths.size(), 1U);
  EXPECT_EQ((*bounded)[0].paths.size(), 3U);  // and two ways round a square
  EXPECT_FALSE(candidate_paths(cube, {PathSet::Kind::all, 2}, source).ok());
  EXPECT_FALSE(candidate_paths(made("torus:12x12"), {PathSet::Kind::all, 20}, source).ok());
}

TEST(PathSets, TheirNamesAreRead) {
  EXPECT_EQ(parse_path_set("")->kind, PathSet::Kind::disjoint);
  EXPECT_EQ(parse_path_set("shortest")->kind, PathSet::Kind::shortest);
  EXPECT_EQ(parse_path_set("all:7")->length, 7);
  for (const char* bad : {"all", "all:", "all:0", "all:3x", "longest"}) EXPECT_FALSE(parse_path_set(bad).ok()) << bad;
}

TEST(PMcf, DisjointPathsComeNearTheOptimumAndShortestOnesLess) {
  // Paper 003 §5.3, Fig. 8, in order; all paths of the diameter and one more reach the optimum.
  const Topology kautz = made("genkautz:16,4");
  const double flow = optimum(kautz);
  const Schedule disjoint = planned(plan_p_mcf, kautz);
  // A vertex of the link MCF splits few pairs, and the sets are made around its paths.
  EXPECT_GE(disjoint.proof.flow, 0.999 * flow);
  EXPECT_GE(planned(plan_p_mcf, made("genkautz:32,4")).proof.flow, 0.999 * optimum(made("genkautz:32,4")));
  PlanOptions options;
  options.paths = "shortest";
  const Schedule shortest = planned(plan_p_mcf, kautz, options);
  EXPECT_LT(shortest.proof.flow, disjoint.proof.flow);
  options.paths = "all:4";
  EXPECT_NEAR(planned(plan_p_mcf, kautz, options).proof.flow, flow, 1e-4 * flow);
  options.paths = "shortest";
  for (const Schedule* schedule : {&disjoint, &shortest}) {
    EXPECT_NEAR(schedule->proof.flow_upper_bound, flow, 1e-6 * flow);
  }
  for (const char* torus : {"torus:3x3x3", "complete_bipartite:4,4"}) {
    EXPECT_NEAR(planned(plan_p_mcf, made(torus), options).proof.flow, optimum(made(torus)), 1e-6) << torus;
  }
}

TEST(Ewsp, LosesWherePathsAreFew) {
  const Topology kautz = made("genkautz:16,4");
  EXPECT_LT(planned(plan_ewsp, kautz).proof.flow, 0.95 * optimum(kautz));
}

TEST(Ewsp, CountedPathsLoadAsListedOnes) {
  const Topology topology = random_regular(12, 3, 4);
  std::vector<NodeId> sources(12);
  for (NodeId i = 0; i < 12; ++i) sources[at(i)] = i;
  const auto pairs = candidate_paths(topology, {PathSet::Kind::shortest, 0}, sources);
  ASSERT_TRUE(pairs.ok());
  std::mt19937 random(8);
  std::vector<double> amounts(12);
  for (double& amount : amounts) amount = static_cast<double>(random() % 4);
  for (const NodeId source : sources) {
    std::vector<double> listed(at(topology.link_count()), 0);
    for (const PairPaths& pair : *pairs) {
      if (pair.source != source) continue;
      for (const WeightedPath& path : pair.paths) {
        for (const LinkId link : path.links) listed[at(link)] += path.weight * amounts[at(pair.destination)];
      }
    }
    const std::vector<double> counted = equal_shortest_flow(topology, source, amounts);
    for (std::size_t link = 0; link < listed.size(); ++link) EXPECT_NEAR(counted[link], listed[link], 1e-12);
  }
}

TEST(Fptas, StaysWithinItsPromise) {
  for (const char* specification : {"genkautz:16,4", "torus:3x3", "ring:6"}) {
    const Topology topology = made(specification);
    const double flow = optimum(topology);
    PlanOptions options;
    for (const double epsilon : {0.2, 0.05}) {
      options.epsilon = epsilon;
      options.schedule = false;
      const auto plan = plan_fptas(topology, options);
      ASSERT_TRUE(plan.ok());
      EXPECT_LE(plan->proof.flow_upper_bound, (1 + epsilon) * plan->proof.flow) << specification;
      EXPECT_LE(plan->proof.flow, flow * (1 + 1e-9));
      EXPECT_GE(plan->proof.flow_upper_bound, flow * (1 - 1e-9));
      EXPECT_TRUE(plan->transfers.empty());
    }
    planned(plan_fptas, topology);
  }
}

// --- one path per pair ------------------------------------------------------------------------------------------

TEST(Ilp, IsNoWorseThanSssp) {
  for (const char* specification : {"torus:3x3", "genkautz:16,4", "hypercube:3", "mesh:3x4"}) {
    const Topology topology = made(specification);
    const Schedule sssp = planned(plan_sssp, topology);
    PlanOptions options;
    options.time_limit_seconds = 5;
    options.gap = 0.1;  // the paper's tolerance
    PlanFigures figures;
    const Schedule disjoint = planned(plan_ilp_disjoint, topology, options, &figures);
    EXPECT_EQ(disjoint.chunks_per_shard, 1);
    EXPECT_EQ(disjoint.routes.size(), at(topology.host_count()) * at(topology.host_count() - 1));
    EXPECT_DOUBLE_EQ(number(figures, "ilp_load"), disjoint.proof.max_link_load.to_double());
    EXPECT_LE(number(figures, "ilp_bound"), number(figures, "ilp_load"));
    EXPECT_GE(number(figures, "ilp_bound"), 1 / disjoint.proof.flow_upper_bound - 1e-6);
    EXPECT_LE(disjoint.proof.max_link_load, sssp.proof.max_link_load) << specification;
    const Schedule shortest = planned(plan_ilp_shortest, topology, options);
    EXPECT_LE(shortest.proof.max_link_load, sssp.proof.max_link_load) << specification;
  }
}

TEST(Ilp, SsspIsThirtyPercentWorseOnThePuncturedTorus) {
  // Paper 003 §5.2, Fig. 5: ILP-disjoint and MCF load alike, SSSP ~30 % more.
  const Topology torus = punctured_torus();
  const double flow = optimum(torus);
  const double sssp = planned(plan_sssp, torus).proof.max_link_load.to_double();
  EXPECT_GE(sssp * flow, 1.3);
  PlanOptions options;
  options.time_limit_seconds = 5;
  options.gap = 0.05;
  EXPECT_LE(planned(plan_ilp_disjoint, torus, options).proof.max_link_load.to_double() * flow, 1.1);
}

// --- time-stepped ------------------------------------------------------------------------------------------------

TEST(TsMcf, LoadIsTheSumOfItsSteps) {
  for (const char* specification : {"torus:3x3", "hypercube:3", "complete_bipartite:4,4", "torus:3x3x3", "ring:5"}) {
    SCOPED_TRACE(specification);
    PlanFigures figures;
    const Schedule schedule = planned(plan_ts_mcf, made(specification), {}, &figures);
    double steps = 0;
    for (const Rational& of_step : step_loads(schedule)) steps += of_step.to_double();
    EXPECT_NEAR(steps, number(figures, "stepped_load_chunks"), 1e-9);
  }
}

TEST(TsMcf, StepsNeverBeatTheFluidBoundAndMoreOfThemNeverHurt) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const Topology topology = random_regular(8, 2, seed);
    const double fluid = 1 / optimum(topology);
    const std::int32_t diameter = graph_facts(topology).diameter;
    double before = no_bound;
    for (std::int32_t steps = diameter; steps <= diameter + 2; ++steps) {
      PlanOptions options;
      options.steps = steps;
      PlanFigures figures;
      const Schedule schedule = planned(plan_ts_mcf, topology, options, &figures);
      EXPECT_EQ(schedule.steps, steps);
      const double load = number(figures, "stepped_load");
      EXPECT_GE(load, fluid * (1 - 1e-6));
      EXPECT_LE(load, before * (1 + 1e-6));
      before = load;
    }
    PlanOptions too_few;
    too_few.steps = diameter - 1;
    const auto refused = plan_ts_mcf(topology, too_few);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("at least the diameter"), std::string::npos);
  }
}

// --- host-NIC bottleneck ------------------------------------------------------------------------------------------

TEST(Injection, TheTorusOfThePaper) {
  // §5.2: 2/27 and (N−1)·F·b = 6.01 GB/s where hosts forward, 1/9 where NICs do.
  const Topology torus = bottlenecked_torus();
  const InjectionNetwork by_hosts = with_injection(torus, ForwardedBy::hosts);
  const InjectionNetwork by_nics = with_injection(torus, ForwardedBy::nics);
  const double on_links = optimum(by_hosts.topology);
  EXPECT_NEAR(on_links, 2.0 / 27, 1e-7);
  EXPECT_NEAR(26 * on_links * 3.125, 6.0185, 1e-3);
  EXPECT_NEAR(optimum(by_nics.topology), 1.0 / 9, 1e-7);
  EXPECT_FALSE(with_injection(made("torus:3x3x3"), ForwardedBy::hosts).bottleneck);
  PlanFigures figures;
  const Schedule stepped = planned(plan_ts_mcf, torus, {}, &figures);
  EXPECT_NEAR(number(figures, "stepped_load"), 27.0 / 2, 1e-6);
  EXPECT_NEAR(stepped.proof.flow_upper_bound, 2.0 / 27, 1e-6);
  EXPECT_EQ(stepped.proof.max_link_load, Rational(27, 2));
  for (const Plan plan : {plan_mcf_decomposed, plan_mcf_path}) {
    const Schedule routed = planned(plan, torus);
    EXPECT_NEAR(routed.proof.flow, 1.0 / 9, 1e-6);
    EXPECT_EQ(routed.proof.max_link_load, Rational(9));
  }
  const Schedule stored = planned(plan_mcf_link, torus);
  EXPECT_NEAR(stored.proof.flow, 2.0 / 27, 1e-9);
  EXPECT_NEAR(stored.proof.flow_upper_bound, 2.0 / 27, 1e-9);
  EXPECT_TRUE(stored.routes.empty());
}

TEST(Injection, LimitsRoutesToWhatHostsSend) {
  // Half a link's bandwidth per host: 3 blocks of 8 nodes... 7 blocks at 1/2: U = 14, whatever the links could do.
  Topology cube = made("hypercube:3");
  cube.set_injection_bytes_per_second(default_bandwidth_bytes_per_second / 2);
  for (const Plan plan : {plan_mcf_path, plan_mcf_decomposed, plan_p_mcf, plan_ewsp, plan_fptas}) {
    PlanOptions options;
    options.gap = 1e-3;
    const Schedule schedule = planned(plan, cube, options);
    EXPECT_NEAR(schedule.proof.flow, 1.0 / 14, 1e-6);
    EXPECT_NEAR(schedule.proof.flow_upper_bound, 1.0 / 14, 2e-4);
    EXPECT_EQ(schedule.proof.max_link_load, Rational(14));
  }
}

TEST(Injection, PathsOfTheNetworkAndOfTheFabric) {
  const Topology torus = bottlenecked_torus();
  const std::vector<NodeId> source = {3};
  const auto paths = candidate_paths(torus, {PathSet::Kind::shortest, 0}, source);
  for (const ForwardedBy forwarded_by : {ForwardedBy::nics, ForwardedBy::hosts}) {
    const InjectionNetwork network = with_injection(torus, forwarded_by);
    for (const PairPaths& pair : *paths) {
      const std::vector<LinkId> links = network_path(network, torus, pair.paths.front().links);
      NodeId node = pair.source;
      for (const LinkId link : links) {
        ASSERT_EQ(network.topology.link(link).from, node);
        node = network.topology.link(link).to;
      }
      EXPECT_EQ(node, pair.destination);
      EXPECT_EQ(fabric_path(network, links), pair.paths.front().links);
    }
  }
}

// --- demands ------------------------------------------------------------------------------------------------------

std::vector<double> random_demand(std::int32_t hosts, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> demand(at(hosts) * at(hosts));
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const bool own = i / at(hosts) == i % at(hosts);
    demand[i] = own ? 0 : static_cast<double>(random() % 5) / 4;
  }
  return demand;
}

TEST(Demand, MethodsAgreeOnIt) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const Topology topology = random_regular(8, 2, seed);
    PlanOptions options;
    options.demand = random_demand(8, seed);
    const double flow = planned(plan_mcf, topology, options).proof.flow;
    for (const Plan plan : {plan_mcf_decomposed, plan_mcf_path, plan_mcf_link}) {
      EXPECT_NEAR(planned(plan, topology, options).proof.flow, flow, 1e-6 * flow);
    }
    EXPECT_NEAR(planned(plan_mcf_child, topology, options).proof.flow, flow, 1e-6 * flow);
    options.paths = "all:7";
    const Schedule on_paths = planned(plan_p_mcf, topology, options);
    EXPECT_NEAR(on_paths.proof.flow, flow, 1e-6 * flow);
    EXPECT_NEAR(on_paths.proof.flow_upper_bound, flow, 1e-5 * flow);
    const Schedule approximate = planned(plan_fptas, topology, options);
    EXPECT_GE(approximate.proof.flow, flow / 1.05 * (1 - 1e-9));
    EXPECT_GE(approximate.proof.flow_upper_bound, flow * (1 - 1e-9));
    PlanFigures figures;
    planned(plan_ts_mcf, topology, options, &figures);
    EXPECT_GE(number(figures, "stepped_load"), 1 / flow * (1 - 1e-6));
  }
}

TEST(Demand, OnePairGetsEveryWayThereIs) {
  EXPECT_TRUE(takes_demand(default_demand_planner));
  EXPECT_FALSE(takes_demand("sssp"));
  // A single pair of hypercube:3 has three link-disjoint ways: F = 3.
  const Topology cube = made("hypercube:3");
  PlanOptions options;
  options.demand.assign(64, 0);
  options.demand[7] = 1;
  for (const Plan plan : {plan_mcf, plan_mcf_decomposed, plan_mcf_extp, plan_p_mcf, plan_mcf_path}) {
    PlanFigures figures;
    const Schedule schedule = planned(plan, cube, options, &figures);
    EXPECT_NEAR(schedule.proof.flow, 3, 1e-6);
    EXPECT_NEAR(schedule.proof.flow_upper_bound, 3, 1e-5);
    EXPECT_NEAR(number(figures, "demand_load"), 1.0 / 3, 1e-6);
    EXPECT_EQ(schedule.chunks_per_shard, 3);
  }
}

TEST(Demand, CertificatesBoundAnyPlan) {
  std::mt19937 random(5);
  const Topology topology = random_regular(9, 3, 2);
  const std::vector<double> demand = random_demand(9, 9);
  const auto master = solve_master_lp(topology, link_classes(topology, {}), LpMethod::simplex, demand);
  ASSERT_TRUE(master.ok());
  for (int i = 0; i < 20; ++i) {
    std::vector<double> prices(at(topology.link_count()));
    for (double& price : prices) price = static_cast<double>(random() % 100);
    const FlowCertificate certificate = certify_demand_flow(topology, prices, demand);
    EXPECT_GE(certificate.flow_upper_bound, 1 / master->load * (1 - 1e-9));
    EXPECT_LE(certificate.load_lower_bound.to_double(), master->load * (1 + 1e-9));
  }
  const FlowCertificate best = certify_demand_flow(topology, master->prices, demand);
  EXPECT_NEAR(best.flow_upper_bound * master->load, 1, 1e-5);
}

TEST(Demand, FilesAreRead) {
  const Topology ring = made("ring:3");
  const auto matrix = read_demand("# bytes\n0, 4, 2\n1 0\t3\n\n8,0,7\n", "m.csv", ring);
  ASSERT_TRUE(matrix.ok()) << matrix.error().message;
  EXPECT_EQ(*matrix, (std::vector<double>{0, 0.5, 0.25, 0.125, 0, 0.375, 1, 0, 0}));
  const auto table = read_demand("default = 2\n[[demand]]\nfrom = \"2\"\nto = 0\namount = 4.0\n", "d.toml", ring);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(*table, (std::vector<double>{0, 0.5, 0.5, 0.5, 0, 0.5, 1, 0.5, 0}));
}

// --- routes per pair, chunks, limits -------------------------------------------------------------------------------

std::size_t most_routes_of_a_pair(const Schedule& schedule) {
  std::map<std::pair<NodeId, NodeId>, std::size_t> count;
  std::size_t most = 0;
  for (const Route& route : schedule.routes) most = std::max(most, ++count[{route.source, route.destination}]);
  return most;
}

TEST(MaxRoutes, AreKeptAndTheirLossIsSaid) {
  const Topology kautz = made("genkautz:16,4");
  for (const Plan plan : {plan_mcf_path, plan_mcf_decomposed, plan_p_mcf}) {
    double before = 0;
    for (const std::int32_t most : {1, 2, 4}) {
      PlanOptions options;
      options.max_routes = most;
      PlanFigures figures;
      const Schedule schedule = planned(plan, kautz, options, &figures);
      EXPECT_LE(most_routes_of_a_pair(schedule), at(most));
      EXPECT_GE(figures.loss_routes, 0);
      EXPECT_LT(figures.loss_routes, 0.5);
      EXPECT_GE(schedule.proof.flow, before * (1 - 1e-3));
      before = schedule.proof.flow;
      if (most == 1 && plan != plan_mcf_path) {
        EXPECT_GT(figures.loss_routes, 0);
      }
    }
  }
}

TEST(Negotiation, CoolsTheHottestOfEachGroup) {
  // Two commodities, both rounded onto the first of two resources in each group; one of them moves away.
  ChunkProblem problem;
  problem.capacity = {1, 1, 1, 1};
  problem.group = {0, 0, 1, 1};
  problem.groups = 2;
  const std::vector<Choice> choices = {{{{0, 1}, {2, 1}}, 1}, {{{1, 1}, {3, 1}}, 0}};
  problem.commodities = {choices, choices};
  problem.size = {1, 1};
  const ChunkSolution rounded = round_weights(problem, 1);
  EXPECT_DOUBLE_EQ(rounded.cost, 4);
  EXPECT_DOUBLE_EQ(negotiate(problem, rounded, 0).cost, 2);
  EXPECT_DOUBLE_EQ(negotiate(problem, rounded, 5).cost, 4);
  EXPECT_EQ(round_weights(problem, 3).counts[0], (std::vector<std::int32_t>{3, 0}));
}

TEST(TimeLimit, EndsWithTheBestSoFarAndItsGap) {
  const Topology kautz = made("genkautz:27,4");
  PlanOptions options;
  options.time_limit_seconds = 1e-3;
  for (const Plan plan :
       {plan_mcf, plan_mcf_decomposed, plan_mcf_extp, plan_p_mcf, plan_ts_mcf, plan_fptas, plan_ilp_disjoint}) {
    const Schedule schedule = planned(plan, kautz, options);
    EXPECT_LT(schedule.proof.flow_upper_bound / schedule.proof.flow, 4);
  }
}

TEST(BadInput, IsRefusedInASentence) {
  const Topology one_way = Topology::make("one-way", numbered_nodes(2), {{0, 1}}).value();
  const Topology alone = Topology::make("alone", numbered_nodes(1), {}).value();
  const Topology ring = made("ring:4");
  const std::vector<Plan> plans = {plan_mcf,  plan_mcf_decomposed, plan_mcf_child,    plan_mcf_extp,     plan_p_mcf,
                                   plan_ewsp, plan_ts_mcf,         plan_ilp_disjoint, plan_ilp_shortest, plan_fptas};
  for (const Plan plan : plans) {
    const auto refused = plan(one_way, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("no path from node '1' to node '0'"), std::string::npos);
    const auto one = plan(alone, {});
    ASSERT_FALSE(one.ok());
    EXPECT_NE(one.error().message.find("at least two"), std::string::npos);
    PlanOptions options;
    options.demand = {1, 2, 3};
    const auto wrong = plan(ring, options);
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("expected 16 for the 4 hosts"), std::string::npos);
    options.demand.assign(16, 2);
    EXPECT_FALSE(plan(ring, options).ok());
  }
}

// --- integer programs ----------------------------------------------------------------------------------------------

TEST(Glpk, BranchAndCutSolvesAKnapsack) {
  // maximise 5a + 4b + 3c, 2a + 3b + c ≤ 5, 4a + b + 2c ≤ 11, 3a + 4b + 2c ≤ 8 in whole numbers (Chvátal's first
  // example): the LP's optimum (2, 0, 1) is whole, 13.
  LinearProgram program{Sense::maximise, {}, {}};
  for (const double cost : {5, 4, 3}) program.add_column({0, no_bound, cost, true});
  program.add_row({-no_bound, 5, {{0, 2}, {1, 3}, {2, 1}}});
  program.add_row({-no_bound, 11, {{0, 4}, {1, 1}, {2, 2}}});
  program.add_row({-no_bound, 8, {{0, 3}, {1, 4}, {2, 2}}});
  auto solution = solve_integer_with_glpk(program, 0, 10);
  ASSERT_TRUE(solution.ok()) << solution.error().message;
  EXPECT_EQ(solution->status, LpStatus::optimal);
  EXPECT_NEAR(solution->objective, 13, 1e-9);
  EXPECT_NEAR(solution->bound, 13, 1e-6);
  // One unit less room in the last row: 7 allows (1, 0, 2) = 11 or (1, 1, 0) = 9; the LP would have 12.
  program.rows[2].upper = 7;
  solution = solve_integer_with_glpk(program, 0, 10);
  ASSERT_TRUE(solution.ok());
  EXPECT_NEAR(solution->objective, 11, 1e-9);
  program.columns[0].lower = 3;
  EXPECT_EQ(solve_integer_with_glpk(program, 0, 10)->status, LpStatus::infeasible);
}

}  // namespace
}  // namespace libcoll::methods_test
