// Plans for parts of fabrics: among the hosts themselves where that is best, otherwise through the others' NICs.
#include "planner/plan/part_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/plan/default_plan.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "planner/topology/part.h"
#include "tests/unit/random_regular.h"

namespace libcoll::part_plan_test {

using namespace broadcast;
using namespace default_plan;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Nodes = std::vector<NodeId>;

constexpr std::array all_collectives = {Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                        Collective::alltoall,  Collective::broadcast,      Collective::reduce};

Topology part(const std::string& specification, const Nodes& hosts, bool nics_forward = true) {
  Topology fabric = generate(specification).value();
  fabric.set_nics_forward(nics_forward);
  return part_of(fabric, hosts).value();
}

std::vector<Planner> table() {
  std::vector<Planner> all(broadcast_planners().begin(), broadcast_planners().end());
  all.insert(all.end(), flow_planners().begin(), flow_planners().end());
  return all;
}

Result<Schedule> plan(const Topology& topology, Collective collective, std::string_view algorithm = {}) {
  Result<DefaultPlans> plans = plan_part(table(), topology, collective, algorithm, {});
  if (!plans) return plans.error();
  return std::move(plans->least_bandwidth_time);
}

bool has_routes_of_several_links(const Schedule& schedule) {
  return std::any_of(schedule.routes.begin(), schedule.routes.end(),
                     [](const Route& route) { return route.links.size() > 1; });
}

/// Right, on the part, on default routes, and no better than the bounds it states.
void expect_good(const Result<Schedule>& schedule, const Topology& topology, const std::string& what) {
  ASSERT_TRUE(schedule.ok()) << what << ": " << schedule.error().message;
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{}) << what;
  EXPECT_EQ(schedule->topology, topology) << what;
  EXPECT_EQ(schedule->proof.max_link_load, max_link_load(*schedule)) << what;
  EXPECT_EQ(schedule->proof.bandwidth_time, bandwidth_time(*schedule)) << what;
  EXPECT_LE(schedule->proof.bandwidth_bound, schedule->proof.bandwidth_time) << what;
  std::set<std::pair<NodeId, NodeId>> pairs;
  const DistanceMatrix distance = hop_distances(topology);
  for (const Route& route : schedule->routes) {
    EXPECT_EQ(route.route_class, 0) << what;
    EXPECT_TRUE(pairs.emplace(route.source, route.destination).second) << what;
    const auto hops = distance[static_cast<std::size_t>(route.source)][static_cast<std::size_t>(route.destination)];
    EXPECT_EQ(static_cast<std::int32_t>(route.links.size()), hops) << what;
  }
  const Result<Schedule> again = read_schedule(write_schedule(*schedule), what);
  ASSERT_TRUE(again.ok()) << what << ": " << again.error().message;
  EXPECT_EQ(*again, *schedule) << what;
}

TEST(PartPlan, ARowOfATorusIsPlannedAsTheRingItIs) {
  // Every host takes two shards in over the two links of its row: load 1, T_B = d/N · 1 with the d = 6 of the torus.
  const Topology row = part("torus:3x3x3", {0, 1, 2});
  const Result<Schedule> schedule = plan(row, Collective::allgather);
  expect_good(schedule, row, "row");
  EXPECT_EQ(schedule->algorithm, "bfb");
  EXPECT_TRUE(schedule->routes.empty());
  EXPECT_EQ(schedule->proof.bandwidth_time, Rational(2));
  EXPECT_EQ(plan(row, Collective::allreduce)->proof.bandwidth_time, Rational(4));
}

TEST(PartPlan, APlaneOfATorusIsPlannedAsTheTorusItIs) {
  // 8 shards over 4 of 6 links: load 2, T_B = 6/9 · 2.
  Nodes hosts(9);
  std::iota(hosts.begin(), hosts.end(), 0);
  const Topology plane = part("torus:3x3x3", hosts);
  const Result<Schedule> schedule = plan(plane, Collective::allgather);
  expect_good(schedule, plane, "plane");
  EXPECT_EQ(schedule->proof.bandwidth_time, Rational(4, 3));
}

TEST(PartPlan, AllToAllInARow) {
  // In a ring of four, 1 + 2 + 1 hops for each of four hosts over eight links: load 2, T_B = d/N · 2 with d = 4.
  const Topology row = part("torus:4x4", {0, 1, 2, 3});
  const Result<Schedule> schedule = plan(row, Collective::alltoall);
  expect_good(schedule, row, "row");
  EXPECT_EQ(schedule->proof.bandwidth_time, Rational(2));
  const Result<Schedule> by_flow = plan(row, Collective::alltoall, "mcf-link");
  expect_good(by_flow, row, "mcf-link");
  EXPECT_EQ(by_flow->proof.bandwidth_time, Rational(2));
}

TEST(PartPlan, HostsThatAreFarApartGoThroughTheOthersNics) {
  const Topology diagonal = part("torus:4x4", {0, 5, 10, 15});
  for (const Collective collective : all_collectives) {
    const Result<Schedule> schedule = plan(diagonal, collective);
    expect_good(schedule, diagonal, "diagonal");
    EXPECT_TRUE(has_routes_of_several_links(*schedule));
  }
}

TEST(PartPlan, WhereNicsDoNotForwardHostsHaveToBeNeighbours) {
  for (const Collective collective : all_collectives) {
    EXPECT_FALSE(plan(part("torus:4x4", {0, 5, 10, 15}, false), collective).ok());
    const Topology corner = part("torus:4x4", {0, 1, 5, 6}, false);
    expect_good(plan(corner, collective), corner, "corner");
  }
}

TEST(PartPlan, ANamedPlannerIsTakenAsFarAsItGoes) {
  const Topology diagonal = part("torus:4x4", {0, 5, 10, 15});
  const Result<Schedule> ring = plan(diagonal, Collective::allreduce, "ring");
  expect_good(ring, diagonal, "ring");
  EXPECT_EQ(ring->algorithm, "ring");
  EXPECT_FALSE(plan(diagonal, Collective::allreduce, "bfb").ok());
  EXPECT_FALSE(plan(diagonal, Collective::allreduce, "no-such-planner").ok());
  EXPECT_FALSE(plan(diagonal, Collective::alltoall, "mcf-link").ok());
}

TEST(PartPlan, WithoutASolverThereIsStillTheAllgatherFamily) {
  const Topology row = part("torus:3x3", {0, 1, 2});
  EXPECT_TRUE(plan_part(broadcast_planners(), row, Collective::allreduce, {}, {}).ok());
  EXPECT_FALSE(plan_part(broadcast_planners(), row, Collective::alltoall, {}, {}).ok());
}

TEST(PartPlan, FiguresAloneAreThoseOfTheSchedule) {
  const Topology diagonal = part("torus:4x4", {0, 5, 10, 15});
  PlanOptions figures_only;
  figures_only.schedule = false;
  const Result<DefaultPlans> figures = plan_part(table(), diagonal, Collective::allgather, {}, figures_only);
  ASSERT_TRUE(figures.ok());
  EXPECT_TRUE(figures->least_bandwidth_time.transfers.empty());
  EXPECT_EQ(figures->least_bandwidth_time.proof, plan(diagonal, Collective::allgather)->proof);
}

TEST(PartPlan, APartThatIsAFabricOfItsOwnHasThePlansOfThatFabric) {
  // random_regular:8,3,5 with a ninth host, through whose NIC nothing passes.
  const Topology inner = generate("random_regular:8,3,5").value();
  std::vector<Link> links(inner.links().begin(), inner.links().end());
  links.push_back({0, 8});
  links.push_back({8, 0});
  Topology fabric = Topology::make("nine", numbered_nodes(9), std::move(links)).value();
  fabric.set_nics_forward(false);
  const Topology eight = part_of(fabric, Nodes{0, 1, 2, 3, 4, 5, 6, 7}).value();
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
    const DefaultPlans plans = plan_part(table(), eight, collective, {}, {}).value();
    const DefaultPlans expected = plan_default(table(), inner, collective, {}).value();
    expect_good(plans.least_bandwidth_time, eight, "usual");
    EXPECT_EQ(plans.least_bandwidth_time.proof.bandwidth_time, expected.least_bandwidth_time.proof.bandwidth_time);
    ASSERT_EQ(plans.least_steps.has_value(), expected.least_steps.has_value());
    if (!plans.least_steps) continue;
    expect_good(*plans.least_steps, eight, "small");
    EXPECT_EQ(plans.least_steps->algorithm, "bfb");
    EXPECT_EQ(plans.least_steps->steps, expected.least_steps->steps);
    EXPECT_EQ(small_up_to(*plans.least_steps, plans.least_bandwidth_time),
              small_up_to(*expected.least_steps, expected.least_bandwidth_time));
  }
  // T_L 4 and T_B 9/4 by BFB, 6 and 7/4 by ForestColl, B = 3 · 25 Gbps: M = (6 - 4) · 1 us · B / (9/4 - 7/4).
  const DefaultPlans plans = plan_part(table(), eight, Collective::allreduce, {}, {}).value();
  ASSERT_TRUE(plans.least_steps.has_value());
  EXPECT_NEAR(static_cast<double>(small_up_to(*plans.least_steps, plans.least_bandwidth_time).value()), 37500, 1);
}

TEST(PartPlan, WherePlannersAreNamedThereIsNoPlanForSmallVectors) {
  const Topology some = part("random_regular:12,3,1", {0, 1, 2, 3, 4, 5, 6});
  const DefaultPlans best = plan_part(table(), some, Collective::allreduce, {}, {}).value();
  ASSERT_TRUE(best.least_steps.has_value());
  expect_good(best.least_bandwidth_time, some, "usual");
  expect_good(*best.least_steps, some, "small");
  EXPECT_LE(best.least_steps->steps, best.least_bandwidth_time.steps);
  EXPECT_GT(best.least_steps->proof.bandwidth_time, best.least_bandwidth_time.proof.bandwidth_time);
  EXPECT_GT(best.candidates.size(), 1U);
  EXPECT_FALSE(plan_part(table(), some, Collective::allreduce, "multitree", {})->least_steps.has_value());
  EXPECT_FALSE(plan_part(table(), some, Collective::alltoall, {}, {})->least_steps.has_value());
}

TEST(PartPlan, AnyHostsOfAnyFabric) {
  std::mt19937 random(17);
  for (const char* specification : {"torus:3x2x2", "genkautz:9,2", "hypercube:3", "fat_tree:4,2", "uniring:5"}) {
    const Topology fabric = generate(specification).value();
    for (int i = 0; i < 4; ++i) {
      Nodes hosts(static_cast<std::size_t>(fabric.host_count()));
      std::iota(hosts.begin(), hosts.end(), 0);
      std::shuffle(hosts.begin(), hosts.end(), random);
      hosts.resize(2 + random() % (hosts.size() - 2));
      std::sort(hosts.begin(), hosts.end());
      const Topology some = part_of(fabric, hosts).value();
      for (const Collective collective : all_collectives) {
        expect_good(plan(some, collective), some, some.name() + " " + std::string(to_string(collective)));
      }
    }
  }
}

TEST(PartPlan, LinksOfSeveralSpeeds) {
  // A line 0-1-2 whose second cable is four times as fast, and a slow way round it through host 3.
  std::vector<Link> links;
  const auto cable = [&](NodeId a, NodeId b, std::int64_t bandwidth) {
    links.push_back({a, b, bandwidth});
    links.push_back({b, a, bandwidth});
  };
  cable(0, 1, 1'000'000);
  cable(1, 2, 4'000'000);
  cable(2, 3, 500'000);
  cable(3, 0, 500'000);
  const Topology fabric = Topology::make("speeds", {{"0", ""}, {"1", ""}, {"2", ""}, {"3", ""}}, links).value();
  const Topology some = part_of(fabric, Nodes{0, 1, 2}).value();
  for (const Collective collective : all_collectives) {
    expect_good(plan(some, collective), some, std::string(to_string(collective)));
  }
}

}  // namespace
}  // namespace libcoll::part_plan_test
