#include "libcoll/execute/memory_traffic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "libcoll/execute/task_graph.h"
#include "planner/broadcast/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/program.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"

namespace libcoll::memory_traffic_test {

using namespace broadcast;
using namespace execute;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t elements = 1 << 18;  ///< of 4 bytes, of the vector or a block

MemoryTraffic traffic_of(Collective collective, const std::string& topology) {
  const Schedule schedule =
      find_planner(broadcast_planners(), collective, "bfb")->plan(generate(topology).value(), {}).value();
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(schedule.topology.host_count()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return memory_traffic(make_task_graph(lower(schedule, 0), ranks, equal_shards(elements, 4), {}));
}

/// Of N ranks, a bandwidth-optimal allreduce of M bytes sends and receives 2·(N−1)/N·M and adds (N−1)/N·M.
TEST(MemoryTraffic, OfAnAllreduce) {
  for (const std::int64_t ranks : {2, 4}) {
    const std::int64_t share = (ranks - 1) * elements * 4 / ranks;
    const MemoryTraffic traffic = traffic_of(Collective::allreduce, "ring:" + std::to_string(ranks));
    EXPECT_EQ(traffic.sent, 2 * share);
    EXPECT_EQ(traffic.received, 2 * share);
    EXPECT_EQ(traffic.reduced, share);
    EXPECT_EQ(traffic.summands, share);
    EXPECT_EQ(traffic.copied, 0);
    EXPECT_EQ(traffic.total(), 7 * share);
    EXPECT_EQ(traffic.total_by_memory(), 5 * share);
  }
}

/// A rank receives all blocks but its own, which it copies; on a ring of two nothing is forwarded.
TEST(MemoryTraffic, OfAnAllgather) {
  const MemoryTraffic traffic = traffic_of(Collective::allgather, "ring:2");
  EXPECT_EQ(traffic.sent, elements * 4);
  EXPECT_EQ(traffic.received, elements * 4);
  EXPECT_EQ(traffic.copied, elements * 4);
  EXPECT_EQ(traffic.summands, 0);
  EXPECT_EQ(traffic.total(), 4 * elements * 4);
  EXPECT_EQ(traffic.scratch, 0);
}

TEST(VectorBytes, AreThoseOfAWholeBuffer) {
  EXPECT_EQ(vector_bytes(Collective::allreduce, equal_shards(10, 4), 1, 3), 40);
  EXPECT_EQ(vector_bytes(Collective::alltoall, equal_shards(10, 4), 1, 3), 120);
  Shape shape = equal_shards(0, 8);
  shape.counts = {1, 2, 3};
  EXPECT_EQ(vector_bytes(Collective::reduce_scatter, shape, 1, 3), 48);
  shape.counts = {0, 1, 1, 5, 6, 7, 1, 1, 1};  // what rank 1 sends is the second row
  EXPECT_EQ(vector_bytes(Collective::alltoall, shape, 1, 3), 144);
}

}  // namespace
}  // namespace libcoll::memory_traffic_test
