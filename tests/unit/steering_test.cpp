// Routes of a plan go by the context of their class and layer.
#include "libcoll/plan/steering.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <utility>

#include "planner/flow/baseline/single_path.h"
#include "planner/topology/generators.h"

namespace libcoll::steering_test {

using namespace flow::baseline;
using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

/// Shortest paths around a ring of five need two layers: all four hops of two directions depend on each other
/// otherwise.
Schedule plan_of_two_layers() {
  const Result<Topology> topology = generate("ring:5");
  EXPECT_TRUE(topology.ok());
  Result<Schedule> schedule = plan_sssp(*topology, {});
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  return std::move(schedule).value();
}

RouteBinding binding_of(const std::set<std::pair<std::int32_t, std::int32_t>>& contexts) {
  RouteBinding binding;
  binding.classes.emplace_back();
  for (const auto& [route_class, layer] : contexts) {
    RouteClassBinding& entry = binding.classes.emplace_back();
    std::tie(entry.route_class, entry.layer) = std::tie(route_class, layer);
  }
  return binding;
}

TEST(Steering, ALayerOfAClassHasAContextOfItsOwn) {
  Schedule schedule = plan_of_two_layers();
  const std::vector<Route> planned = schedule.routes;
  std::set<std::pair<std::int32_t, std::int32_t>> needed;
  for (const Route& route : planned) needed.emplace(route.route_class, route.layer);
  ASSERT_GE(needed.size(), 2U);
  RouteBinding binding = binding_of(needed);
  binding.routes = route_set_digest(schedule.topology, schedule.routes);
  const Status steered = steer(schedule, binding, static_cast<std::int32_t>(needed.size()) + 1);
  ASSERT_TRUE(steered.ok()) << steered.error().message;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const RouteClassBinding& entry = binding.classes[static_cast<std::size_t>(schedule.routes[i].route_class)];
    EXPECT_EQ(entry.route_class, planned[i].route_class);
    EXPECT_EQ(entry.layer, planned[i].layer);
  }
}

TEST(Steering, WhatIsMissingLeavesAllRoutesToTheFabric) {
  const Schedule schedule = plan_of_two_layers();
  const auto expect_unsteered = [&](const RouteBinding& binding, std::int32_t contexts, const std::string& reason) {
    Schedule left = schedule;
    const Status steered = steer(left, binding, contexts);
    ASSERT_FALSE(steered.ok());
    EXPECT_NE(steered.error().message.find(reason), std::string::npos) << steered.error().message;
    for (const Route& route : left.routes) EXPECT_EQ(route.route_class, 0);
  };
  expect_unsteered(binding_of({{1, 0}}), 2, "they need route class 1 in layer 1");
  expect_unsteered(binding_of({{1, 0}, {1, 1}}), 2, "they need route class 1 in layer 1");
  RouteBinding other = binding_of({{1, 0}, {1, 1}});
  other.routes = "0123456789abcdef";
  expect_unsteered(other, 3, "for other routes");
}

TEST(Steering, RoutesOfTheFabricNeedNoBinding) {
  Schedule schedule = plan_of_two_layers();
  for (Route& route : schedule.routes) route.route_class = 0;
  EXPECT_TRUE(steer(schedule, {}, 1).ok());
}

}  // namespace
}  // namespace libcoll::steering_test
