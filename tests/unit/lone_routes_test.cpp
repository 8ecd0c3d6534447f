// The one route of a pair: one of its own, and links not much busier than by all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/program.h"
#include "planner/schedule/single_path_routes.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"

namespace libcoll::lone_routes_test {

using namespace flow;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Schedule by_paths(const std::string& specification) {
  Schedule schedule = find_planner(flow_planners(), Collective::alltoall, "mcf-path")
                          ->plan(generate(specification).value(), {})
                          .value();
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  return schedule;
}

std::size_t pair(const Schedule& schedule, NodeId from, NodeId to) {
  const auto nodes = static_cast<std::size_t>(schedule.topology.host_count());
  return static_cast<std::size_t>(from) * nodes + static_cast<std::size_t>(to);
}

std::int64_t busiest(const Schedule& schedule, const std::vector<std::int32_t>& routes) {
  std::vector<std::int64_t> loads(schedule.topology.links().size(), 0);
  for (const std::int32_t route : routes) {
    if (route == direct) continue;
    for (const LinkId link : schedule.routes[static_cast<std::size_t>(route)].links) {
      ++loads[static_cast<std::size_t>(link)];
    }
  }
  return *std::max_element(loads.begin(), loads.end());
}

/// The first route of each pair that a transfer takes.
std::vector<std::int32_t> first_routes(const Schedule& schedule) {
  std::vector<std::int32_t> first(pair(schedule, schedule.topology.host_count(), 0), direct);
  for (const Transfer& transfer : schedule.transfers) {
    std::int32_t& route = first[pair(schedule, transfer.from, transfer.to)];
    if (route == direct) route = transfer.route;
  }
  return first;
}

TEST(LoneRoutes, EachIsOneOfItsPair) {
  const Schedule schedule = by_paths("complete_bipartite:4,4");
  const std::vector<std::int32_t> routes = single_path_routes(schedule);
  ASSERT_EQ(routes.size(), 64U);
  for (NodeId from = 0; from < 8; ++from) {
    for (NodeId to = 0; to < 8; ++to) {
      const std::int32_t chosen = routes[pair(schedule, from, to)];
      const bool used = std::any_of(schedule.transfers.begin(), schedule.transfers.end(), [&](const Transfer& t) {
        return t.from == from && t.to == to && t.route == chosen;
      });
      EXPECT_EQ(used, from != to) << from << " to " << to;
    }
  }
}

/// On K4,4 the 32 pairs of neighbours cross one link each and the 24 pairs of one side two: 80 crossings of 32
/// links, 2.5 on the average and 3 at best where no pair is divided.
TEST(LoneRoutes, AsFewAsCanBeOnCompleteBipartite) {
  EXPECT_EQ(busiest(by_paths("complete_bipartite:4,4"), single_path_routes(by_paths("complete_bipartite:4,4"))), 3);
}

TEST(LoneRoutes, LinksAreLessBusyThanByTheFirstRoutes) {
  for (const char* specification : {"genkautz:16,4", "complete_bipartite:4,4", "genkautz:23,3"}) {
    const Schedule schedule = by_paths(specification);
    EXPECT_LT(busiest(schedule, single_path_routes(schedule)), busiest(schedule, first_routes(schedule)))
        << specification;
  }
}

/// On a ring of three each pair has one shortest path, a link.
TEST(LoneRoutes, NoneWhereNoPairHasTwo) {
  EXPECT_TRUE(single_path_routes(by_paths("ring:3")).empty());
  EXPECT_TRUE(lower(by_paths("ring:3"), 0).lone_sends.empty());
}

TEST(LoneRoutes, BothEndsKnowThem) {
  const Schedule schedule = by_paths("genkautz:16,4");
  const std::vector<std::int32_t> routes = single_path_routes(schedule);
  for (const NodeId from : {0, 5}) {
    for (const NodeId to : {3, 15}) {
      const LoneRoute sent = lower(schedule, from).lone_sends[static_cast<std::size_t>(to)];
      const auto route = static_cast<std::size_t>(routes[pair(schedule, from, to)]);
      EXPECT_EQ(sent, lower(schedule, to).lone_receives[static_cast<std::size_t>(from)]);
      EXPECT_EQ(sent.route, static_cast<std::int32_t>(route));
      EXPECT_EQ(sent.route_class, schedule.routes[route].route_class);
    }
  }
}

}  // namespace
}  // namespace libcoll::lone_routes_test
