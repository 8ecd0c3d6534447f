// Lowering: both ends agree on the order of what they exchange, and what waits for what.
#include "planner/schedule/program.h"

#include <map>

#include "planner/schedule/reverse.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::program_test {

using namespace schedule;
using namespace test;
using namespace topology;

namespace {

std::vector<Program> lower_all(const Schedule& schedule) {
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  std::vector<Program> programs;
  programs.reserve(static_cast<std::size_t>(schedule.topology.host_count()));
  for (NodeId node = 0; node < schedule.topology.host_count(); ++node) programs.push_back(lower(schedule, node));
  return programs;
}

bool overlap(const Operation& a, const Operation& b) {
  return a.shard == b.shard && std::max(a.chunk_begin, b.chunk_begin) <
                                   std::min(a.chunk_begin + a.chunk_count, b.chunk_begin + b.chunk_count);
}

std::vector<Schedule> schedules() {
  auto all = all_small_schedules();
  all.push_back(*concatenate(ring_reduce_scatter(4, 2), ring_allgather(4, 3)));
  return all;
}

TEST(Lower, CarriesTheHeadOver) {
  const Program program = lower(ring_alltoall(4, 2), 3);
  EXPECT_EQ(program.collective, Collective::alltoall);
  EXPECT_EQ(program.node, 3);
  EXPECT_EQ(program.nodes, 4);
  EXPECT_EQ(program.chunks_per_shard, 2);
  EXPECT_EQ(program.steps, 3);
}

TEST(Lower, TheKthSendMatchesTheKthReceive) {
  for (const Schedule& schedule : schedules()) {
    const std::vector<Program> programs = lower_all(schedule);
    std::map<std::pair<NodeId, NodeId>, std::vector<Operation>> sends;
    std::map<std::pair<NodeId, NodeId>, std::vector<Operation>> receives;
    for (const Program& program : programs) {
      for (const Operation& o : program.operations) {
        if (o.kind == OperationKind::send) {
          sends[{program.node, o.peer}].push_back(o);
        } else {
          receives[{o.peer, program.node}].push_back(o);
        }
      }
    }
    std::size_t matched = 0;
    ASSERT_EQ(sends.size(), receives.size());
    for (const auto& [ends, list] : sends) {
      const auto& other = receives[ends];
      ASSERT_EQ(list.size(), other.size()) << name_of(schedule);
      for (std::size_t k = 0; k < list.size(); ++k, ++matched) {
        EXPECT_EQ(std::tie(list[k].shard, list[k].chunk_begin, list[k].chunk_count, list[k].step, list[k].route),
                  std::tie(other[k].shard, other[k].chunk_begin, other[k].chunk_count, other[k].step, other[k].route));
      }
    }
    EXPECT_EQ(matched, schedule.transfers.size()) << name_of(schedule);
  }
}

TEST(Lower, TakesTheClassOfTheRoute) {
  Schedule schedule = routed_alltoall();
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    schedule.routes[i].route_class = static_cast<std::int32_t>(i) + 2;
  }
  for (const Program& program : lower_all(schedule)) {
    std::int32_t highest = 0;
    for (const Operation& o : program.operations) {
      EXPECT_EQ(o.route_class, o.route == direct ? 0 : o.route + 2);
      highest = std::max(highest, o.route_class);
    }
    EXPECT_GE(highest, 2);
    EXPECT_EQ(route_classes(program), highest + 1);
  }
  for (const Program& program : lower_all(ring_allgather(4))) EXPECT_EQ(route_classes(program), 1);
}

TEST(Lower, ListsEveryTransferOnBothEndsInOrder) {
  for (const Schedule& schedule : schedules()) {
    for (const Program& program : lower_all(schedule)) {
      std::size_t next = 0;
      for (const Transfer& t : schedule.transfers) {
        if (t.from != program.node && t.to != program.node) continue;
        ASSERT_LT(next, program.operations.size());
        const Operation& o = program.operations[next++];
        const OperationKind receive =
            t.kind == TransferKind::reduce ? OperationKind::receive_reduce : OperationKind::receive;
        EXPECT_EQ(o.kind, t.from == program.node ? OperationKind::send : receive);
        EXPECT_EQ(o.peer, t.from == program.node ? t.to : t.from);
        EXPECT_EQ(o.shard, t.shard);
        EXPECT_EQ(o.step, t.step);
      }
      EXPECT_EQ(next, program.operations.size());
    }
  }
}

TEST(Lower, WaitsForExactlyWhatItNeeds) {
  for (const Schedule& schedule : schedules()) {
    for (const Program& program : lower_all(schedule)) {
      const auto& operations = program.operations;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        std::vector<std::int32_t> expected;
        for (std::size_t j = 0; j < i; ++j) {
          if (!overlap(operations[i], operations[j]) || operations[j].kind == OperationKind::send) continue;
          const bool for_send = operations[i].kind == OperationKind::send && operations[j].step < operations[i].step;
          const bool for_sum = operations[i].kind == OperationKind::receive_reduce &&
                               operations[j].kind == OperationKind::receive_reduce;
          if (for_send || for_sum) expected.push_back(static_cast<std::int32_t>(j));
        }
        EXPECT_EQ(operations[i].after, expected) << name_of(schedule) << " node " << program.node << " op " << i;
      }
    }
  }
}

TEST(Lower, ARingNodeForwardsAfterItReceived) {
  // Node 1 of a ring of 3: sends shard 1, then shard 0 after it came from node 0.
  const Program program = lower(ring_allgather(3), 1);
  ASSERT_EQ(program.operations.size(), 4U);
  EXPECT_EQ(program.operations[0].kind, OperationKind::receive);
  EXPECT_EQ(program.operations[0].shard, 0);
  EXPECT_EQ(program.operations[1].kind, OperationKind::send);
  EXPECT_EQ(program.operations[1].shard, 1);
  EXPECT_TRUE(program.operations[1].after.empty());
  EXPECT_EQ(program.operations[2].kind, OperationKind::receive);
  EXPECT_EQ(program.operations[2].shard, 2);
  EXPECT_EQ(program.operations[3].kind, OperationKind::send);
  EXPECT_EQ(program.operations[3].shard, 0);
  EXPECT_EQ(program.operations[3].after, std::vector<std::int32_t>{0});
}

TEST(Lower, TheRootOfATreeReducesInOneOrder) {
  // Children 1 and 2 reach the root in one step; the second waits for the first, and the copies for both.
  const Program root = lower(tree_allreduce(2), 0);
  std::vector<Operation> shard0;
  for (const Operation& o : root.operations) {
    if (o.shard == 0) shard0.push_back(o);
  }
  ASSERT_EQ(shard0.size(), 4U);
  EXPECT_EQ(shard0[0].kind, OperationKind::receive_reduce);
  EXPECT_TRUE(shard0[0].after.empty());
  EXPECT_EQ(shard0[1].kind, OperationKind::receive_reduce);
  EXPECT_EQ(shard0[1].after.size(), 1U);
  EXPECT_EQ(shard0[2].kind, OperationKind::send);
  EXPECT_EQ(shard0[2].after.size(), 2U);
  EXPECT_EQ(shard0[3].after.size(), 2U);
}

}  // namespace
}  // namespace libcoll::program_test
