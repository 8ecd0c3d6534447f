// What crosses each link, by the messages of all nodes, against what the schedule's transfers say.
#include "libcoll/plan/plan_links.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/program.h"
#include "planner/schedule/single_path_routes.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::plan_links_test {

using namespace broadcast;
using namespace execute;
using namespace flow;
using namespace plan;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using LinkBytes = std::map<std::pair<NodeId, NodeId>, std::int64_t>;

/// Every transfer on its link, or on each link of its route.
LinkBytes bytes_of_transfers(const Schedule& schedule, std::int64_t chunk_bytes) {
  LinkBytes bytes;
  for (const Transfer& transfer : schedule.transfers) {
    const std::int64_t size = transfer.chunk_count * chunk_bytes;
    if (transfer.route == direct) {
      bytes[{transfer.from, transfer.to}] += size;
      continue;
    }
    for (const LinkId id : schedule.routes[static_cast<std::size_t>(transfer.route)].links) {
      const Link& link = schedule.topology.link(id);
      bytes[{link.from, link.to}] += size;
    }
  }
  return bytes;
}

/// All nodes' messages, cut with this tuning.
LinkBytes bytes_of_messages(const Schedule& schedule, std::int64_t chunk_bytes, const Tuning& tuning) {
  const std::int32_t nodes = schedule.topology.host_count();
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(nodes));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::int64_t shards = schedule.collective == Collective::allreduce ? nodes : 1;
  const Shape shape = equal_shards(shards * schedule.chunks_per_shard * chunk_bytes, 1);
  LinkBytes bytes;
  for (NodeId node = 0; node < nodes; ++node) {
    const TaskGraph task_graph = make_task_graph(lower(schedule, node), ranks, shape, tuning);
    const PlanLinks links(schedule, node);
    const std::vector<std::int64_t> sent = links.bytes_of(task_graph);
    EXPECT_EQ(sent.size(), links.ends().size());
    for (std::size_t link = 0; link < sent.size(); ++link) {
      if (sent[link] != 0) bytes[links.ends()[link]] += sent[link];
    }
  }
  return bytes;
}

void expect_same(const Schedule& schedule) {
  ASSERT_EQ(verify(schedule), std::vector<std::string>{});
  constexpr std::int64_t chunk_bytes = 1200;  // too long to leave the routes of their chunks
  const LinkBytes expected = bytes_of_transfers(schedule, chunk_bytes);
  for (const Tuning& tuning : {Tuning{1 << 20, 0, 8}, Tuning{64, 1024, 8}, Tuning{1 << 20, 2048, 8}}) {
    EXPECT_EQ(bytes_of_messages(schedule, chunk_bytes, tuning), expected) << name_of(schedule);
  }
}

TEST(PlanLinks, SmallSchedules) {
  for (const Schedule& schedule : all_small_schedules()) {
    if (!is_rooted(schedule.collective)) expect_same(schedule);  // programs run no others
  }
}

TEST(PlanLinks, PlannedSchedules) {
  for (const char* specification : {"torus:2x3", "genkautz:8,2", "hypercube:3"}) {
    const Topology topology = generate(specification).value();
    for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
      expect_same(find_planner(broadcast_planners(), collective, "")->plan(topology, {}).value());
    }
    for (const char* name : {"mcf-path", "mcf-link"}) {
      expect_same(find_planner(flow_planners(), Collective::alltoall, name)->plan(topology, {}).value());
    }
  }
}

/// On a ring of five the nodes two hops away are reached over the neighbours, and every link is crossed once by its own
/// node's message and twice by those to and from two hops away.
TEST(PlanLinks, MessagesWithoutAPlanTakeShortestPaths) {
  const Topology topology = generate("ring:5").value();
  const Schedule schedule = find_planner(broadcast_planners(), Collective::allreduce, "")->plan(topology, {}).value();
  LinkBytes bytes;
  for (NodeId node = 0; node < 5; ++node) {
    std::vector<DirectBytes> messages;
    for (NodeId other = 0; other < 5; ++other) {
      if (other != node) messages.push_back({other, 100});
    }
    const PlanLinks links(schedule, node);
    const std::vector<std::int64_t> sent = links.bytes_of(messages);
    for (std::size_t link = 0; link < sent.size(); ++link) bytes[links.ends()[link]] += sent[link];
  }
  ASSERT_EQ(bytes.size(), 10U);
  for (const auto& [link, crossing] : bytes) EXPECT_EQ(crossing, 300) << link.first << " to " << link.second;
}

/// All that two classes of one pair carry is told apart by route, not by pair.
TEST(PlanLinks, RoutesOfOnePair) {
  const Topology topology = generate("complete_bipartite:4,4").value();
  const Schedule schedule = find_planner(flow_planners(), Collective::alltoall, "mcf-path")->plan(topology, {}).value();
  expect_same(schedule);
}

/// Each block by the one route that is chosen for its pair, where chunks are short.
TEST(PlanLinks, LoneRoutesOfShortBlocks) {
  const Topology topology = generate("complete_bipartite:4,4").value();
  const Schedule schedule = find_planner(flow_planners(), Collective::alltoall, "mcf-path")->plan(topology, {}).value();
  const std::vector<std::int32_t> chosen = single_path_routes(schedule);
  ASSERT_EQ(chosen.size(), 64U);
  constexpr std::int64_t chunk_bytes = 24;
  LinkBytes expected;
  for (const std::int32_t index : chosen) {
    if (index == direct) continue;
    for (const LinkId id : schedule.routes[static_cast<std::size_t>(index)].links) {
      const Link& link = schedule.topology.link(id);
      expected[{link.from, link.to}] += schedule.chunks_per_shard * chunk_bytes;
    }
  }
  EXPECT_EQ(bytes_of_messages(schedule, chunk_bytes, Tuning{1 << 20, 1 << 20, 8}), expected);
  EXPECT_NE(bytes_of_transfers(schedule, chunk_bytes), expected);
}

}  // namespace
}  // namespace libcoll::plan_links_test
