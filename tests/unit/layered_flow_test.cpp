// Routes that cannot deadlock by construction: orders before routes, and the flow they allow.
#include "planner/flow/lowering/layered_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "planner/flow/baseline/ewsp.h"
#include "planner/flow/baseline/fptas.h"
#include "planner/flow/baseline/single_path.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/mcf.h"
#include "planner/flow/p_mcf.h"
#include "planner/flow/paths/path_sets.h"
#include "planner/flow/problem/demand.h"
#include "planner/route/layer_orders.h"
#include "planner/route/sssp.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/sanitized.h"

namespace libcoll::layered_flow_test {

using namespace flow;
using namespace flow::baseline;
using namespace flow::lowering;
using namespace flow::paths;
using namespace flow::problem;
using namespace flow_lp;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

Topology made(const std::string& specification) { return generate(specification).value(); }

using Figure = std::variant<std::string, double, std::int64_t>;

/// What the planner says under that name, or nullptr.
const Figure* figure(const PlanFigures& figures, const std::string& name) {
  const auto found =
      std::find_if(figures.more.begin(), figures.more.end(), [&](const auto& entry) { return entry.first == name; });
  return found == figures.more.end() ? nullptr : &found->second;
}

TEST(LayerOrders, LeaveEveryPairAWayAndFollowWhatIsWanted) {
  std::vector<Topology> topologies = {made("torus:4x4"),       made("hypercube:4"),           made("ring:7"),
                                      made("mesh:3x4"),        made("random_regular:16,4,1"), made("genkautz:16,4"),
                                      random_regular(12, 3, 2)};
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    const std::vector<Route> shortest = sssp_routes(topology).value();
    for (const std::int32_t layers : {1, 2, 3}) {
      const Result<LayerOrders> orders = layer_orders(topology, shortest, layers);
      ASSERT_TRUE(orders.ok());
      ASSERT_EQ(static_cast<std::int32_t>(orders->size()), layers);
      const LayeredFlow flow = layered_flow(topology, *orders, {}, Deadline(0));
      std::vector<Route> routes;
      for (const PairPaths& pair : flow.pairs) {
        ASSERT_FALSE(pair.paths.empty());
        for (const WeightedPath& path : pair.paths) {
          ASSERT_EQ(topology.link(path.links.front()).from, pair.source);
          ASSERT_EQ(topology.link(path.links.back()).to, pair.destination);
          ASSERT_GE(layer_of(*orders, path.links), 0);
          routes.push_back({pair.source, pair.destination, path.links, layer_of(*orders, path.links), 0});
        }
      }
      EXPECT_TRUE(channel_dependencies_acyclic(topology, routes));
    }
  }
}

TEST(LayerOrders, OneWayLinksNeedLayersEnough) {
  // Around a one-way ring every layer has to be cut somewhere: two are needed (Dally and Seitz 1987).
  const Topology ring = made("uniring:5");
  const Result<LayerOrders> refused = layer_orders(ring, {}, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("1 layer, expected"), std::string::npos) << refused.error().message;
  const std::vector<Route> shortest = sssp_routes(ring).value();
  const std::int32_t needed = layer_count(shortest);
  EXPECT_GE(needed, 2);
  const Result<LayerOrders> orders = layer_orders(ring, {}, needed);
  ASSERT_TRUE(orders.ok());
  // There is one way for every pair: the load of the ring, 1 + 2 + 3 + 4.
  EXPECT_NEAR(layered_flow(ring, *orders, {}, Deadline(0)).load, 10, 1e-9);
}

TEST(LayeredFlow, IsThatOfAllAscendingPaths) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const Topology topology = random_regular(9, 3, seed);
    const std::vector<Route> shortest = sssp_routes(topology).value();
    const std::int32_t needed = layer_count(shortest);
    const LayerOrders orders = layer_orders(topology, {}, needed).value();
    const LinkClasses classes = link_classes(topology, {});
    std::vector<PairPaths> all = candidate_paths(topology, {PathSet::Kind::all, 8}, classes.sources).value();
    for (PairPaths& pair : all) {
      std::erase_if(pair.paths, [&](const WeightedPath& path) { return layer_of(orders, path.links) < 0; });
    }
    const double optimum = solve_path_lp(topology, classes, all, {}, 0)->load;
    const LayeredFlow flow = layered_flow(topology, orders, {}, Deadline(0));
    EXPECT_LE(flow.bound, optimum * (1 + 1e-6));
    EXPECT_GE(flow.load, optimum * (1 - 1e-6));
    EXPECT_LE(flow.load, optimum * 1.02);
    EXPECT_NEAR(flow.load, largest_load(classes, flow.pairs, topology.host_count(), {}), 1e-9 * flow.load);
    for (const PairPaths& pair : flow.pairs) {
      double total = 0;
      for (const WeightedPath& path : pair.paths) total += path.weight;
      EXPECT_NEAR(total, 1, 1e-9);
    }
  }
}

TEST(MaxLayers, AreKeptAndTheirCostIsSaid) {
  const std::vector<const char*> specifications =
      sanitized ? std::vector{"torus:4x4", "ring:8"} : std::vector{"torus:5x5", "random_regular:16,4,1", "ring:8"};
  for (const char* specification : specifications) {
    SCOPED_TRACE(specification);
    const Topology topology = made(specification);
    const double best = max_concurrent_flow(topology)->flow;
    for (const auto plan : {plan_mcf_path, plan_p_mcf}) {
      double before = 0;
      for (const std::int32_t most : {1, 2, 8}) {
        PlanOptions options;
        PlanFigures figures;
        options.figures = &figures;
        options.max_layers = most;
        const Result<Schedule> schedule = plan(topology, options);
        ASSERT_TRUE(schedule.ok()) << schedule.error().message;
        EXPECT_EQ(verify(*schedule), std::vector<std::string>{});
        EXPECT_LE(layer_count(schedule->routes), most);
        EXPECT_TRUE(channel_dependencies_acyclic(topology, schedule->routes));
        EXPECT_LE(schedule->proof.flow, best * (1 + 1e-6));
        EXPECT_GE(schedule->proof.flow_upper_bound, best * (1 - 1e-6));
        EXPECT_GE(schedule->proof.flow, before * 0.98);  // more layers never hurt, but for the search
        before = schedule->proof.flow;
      }
      EXPECT_GE(before, 0.85 * best);
    }
  }
}

TEST(Layers, ByDefaultAreNoMoreThanFour) {
  // LASH needs five layers on this graph; its optimum, 14/1133, is of planner-figures.md (U has denominator 14).
  const Topology topology = made("genkautz:100,4");
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  const Result<Schedule> schedule = plan_mcf_path(topology, options);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{});
  EXPECT_TRUE(channel_dependencies_acyclic(topology, schedule->routes));
  EXPECT_LE(layer_count(schedule->routes), 4);
  EXPECT_LE(schedule->proof.flow, 14.0 / 1133 * (1 + 1e-9));
  EXPECT_GE(schedule->proof.flow, 14.0 / 1133 * 0.98);
  const Figure* loss = figure(figures, "loss_layers");
  ASSERT_NE(loss, nullptr);
  // By default the flow before layers is within 0.1 % of the optimum.
  const double kept = 14.0 / 1133 * (1 - std::get<double>(*loss));
  EXPECT_LE(schedule->proof.flow, kept * (1 + 1e-9));
  EXPECT_GE(schedule->proof.flow, kept * (1 - 1e-3));
  options.layer_method = "lash";
  EXPECT_GT(layer_count(plan_mcf_path(topology, options)->routes), 4);
}

/// A demand of 1/2 to 1 for every pair, the same on every machine.
std::vector<double> uneven_demand(std::int32_t hosts) {
  std::vector<double> demand;
  for (std::int32_t source = 0; source < hosts; ++source) {
    for (std::int32_t to = 0; to < hosts; ++to) demand.push_back((4 + (3 * source + 5 * to) % 5) / 8.0);
  }
  return demand;
}

TEST(Layers, OfDemandsAreNoMoreThanFourEither) {
  const Topology topology = made("xpander:4,20,1");
  PlanFigures figures;
  PlanOptions options;
  options.demand = uneven_demand(topology.host_count());
  options.layer_method = "lash";
  EXPECT_GT(layer_count(plan_fptas(topology, options)->routes), 4);
  options.layer_method.clear();
  options.figures = &figures;
  const Result<Schedule> schedule = plan_fptas(topology, options);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{});
  EXPECT_TRUE(channel_dependencies_acyclic(topology, schedule->routes));
  EXPECT_LE(layer_count(schedule->routes), 4);
  ASSERT_NE(figure(figures, "rerouted"), nullptr);
  std::vector<double> load(topology.links().size(), 0);
  for (const Transfer& transfer : schedule->transfers) {
    const double asked = share(options.demand, topology.host_count(), transfer.from, transfer.to);
    for (const LinkId link : schedule->routes[static_cast<std::size_t>(transfer.route)].links) {
      load[static_cast<std::size_t>(link)] += asked * transfer.chunk_count / schedule->chunks_per_shard;
    }
  }
  const double largest = *std::max_element(load.begin(), load.end());
  EXPECT_NEAR(std::get<double>(*figure(figures, "demand_load")), largest, 1e-6 * largest);
  // What the whole chunks reach is F less the loss that is said.
  EXPECT_NEAR(schedule->proof.flow * (1 - std::get<double>(*figure(figures, "loss_chunking"))) * largest, 1, 1e-6);
}

TEST(Layers, OfBaselinesAreAsManyAsTheirRoutesNeed) {
  const Topology topology = made("genkautz:300,4");
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  const Result<Schedule> schedule = plan_sssp(topology, options);
  ASSERT_TRUE(schedule.ok());
  EXPECT_GT(layer_count(schedule->routes), 4);
  EXPECT_NE(figure(figures, "layers_note"), nullptr);
  const std::vector<Route> routes = sssp_routes(topology).value();
  ASSERT_EQ(schedule->routes.size(), routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) EXPECT_EQ(schedule->routes[i].links, routes[i].links);
  figures.more.clear();
  ASSERT_LE(layer_count(plan_sssp(made("torus:4x4"), options)->routes), 4);
  EXPECT_EQ(figure(figures, "layers_note"), nullptr);
}

TEST(MaxLayers, OfHostsThatInjectLittleAndWithoutASchedule) {
  Topology torus = made(sanitized ? "torus:3x3" : "torus:4x4");
  torus.set_injection_bytes_per_second(2 * default_bandwidth_bytes_per_second);
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.max_layers = 1;
  const Result<Schedule> schedule = plan_mcf_path(torus, options);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{});
  EXPECT_EQ(layer_count(schedule->routes), 1);
  options.schedule = false;
  const Result<Schedule> figures_only = plan_mcf_path(torus, options);
  ASSERT_TRUE(figures_only.ok());
  EXPECT_TRUE(figures_only->routes.empty());
  EXPECT_NEAR(figures_only->proof.flow, schedule->proof.flow, 1e-9);
}

TEST(MaxLayers, RoutesThatAreGivenAreNotBent) {
  PlanOptions options;
  options.max_layers = 1;
  const Result<Schedule> refused = plan_ewsp(made("torus:4x4"), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("layers, expected at most 1"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace libcoll::layered_flow_test
