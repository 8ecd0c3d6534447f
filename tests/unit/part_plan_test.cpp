// Plans for parts of fabrics: among the hosts themselves where that is best, otherwise through the others' NICs.
#include "planner/part_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "planner/topology/part.h"

namespace libcoll {
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
  return plan_part(table(), topology, collective, algorithm, {});
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
  const Result<Schedule> figures = plan_part(table(), diagonal, Collective::allgather, {}, figures_only);
  ASSERT_TRUE(figures.ok());
  EXPECT_TRUE(figures->transfers.empty());
  EXPECT_EQ(figures->proof, plan(diagonal, Collective::allgather)->proof);
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
}  // namespace libcoll
