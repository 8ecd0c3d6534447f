// All-to-alls whose blocks go by way of all nodes.
#include "planner/schedule/valiant.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/mcf.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::valiant_test {

using namespace flow;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

Schedule uniform_on(const std::string& topology) { return *plan_mcf_path(*generate(topology), {}); }

void expect_spread(const Schedule& uniform) {
  const Result<Schedule> spread = spread_over_nodes(uniform);
  ASSERT_TRUE(spread.ok()) << spread.error().message;
  EXPECT_EQ(verify(*spread), std::vector<std::string>{});
  EXPECT_EQ(spread->steps, 2);
  EXPECT_EQ(spread->routes, uniform.routes);
  const std::int32_t nodes = uniform.topology.host_count();
  EXPECT_EQ(spread->chunks_per_shard, nodes * uniform.chunks_per_shard);
  // Every block passes every node.
  std::set<std::tuple<ShardId, NodeId>> passed;
  for (const Transfer& transfer : spread->transfers) {
    passed.emplace(transfer.shard, transfer.from);
    passed.emplace(transfer.shard, transfer.to);
  }
  EXPECT_EQ(passed.size(), at(nodes * nodes * (nodes - 1)));
  // Each pair's own two parts cross the links once, the other N − 2 twice.
  EXPECT_EQ(spread->proof.max_link_load, uniform.proof.max_link_load * Rational(2 * nodes - 2, nodes));
  EXPECT_EQ(spread->proof.bandwidth_bound, uniform.proof.bandwidth_bound);
}

TEST(Valiant, BlocksGoByWayOfAllNodes) {
  expect_spread(complete_alltoall(2));
  expect_spread(complete_alltoall(5, 2));
  expect_spread(routed_alltoall());
  expect_spread(uniform_on("hypercube:3"));
  expect_spread(uniform_on("complete_bipartite:4,4"));
  expect_spread(uniform_on("genkautz:8,2"));
}

TEST(Valiant, RefusesWhatIsNotMadeOfWholeBlocks) {
  for (const Schedule& schedule : {ring_alltoall(4, 2), ring_allgather(5), tree_allreduce(2)}) {
    EXPECT_FALSE(spread_over_nodes(schedule).ok()) << name_of(schedule);
  }
  // In one step, but another node's block.
  Schedule forwarded = complete_alltoall(3);
  forwarded.transfers.front().shard = 3 * 2 + 1;
  const Result<Schedule> spread = spread_over_nodes(forwarded);
  ASSERT_FALSE(spread.ok());
  EXPECT_EQ(spread.error().message, "valiant: hosts forward in by-hand");
}

}  // namespace
}  // namespace libcoll::valiant_test
