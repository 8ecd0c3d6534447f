// What the busiest link of an all-to-all has to carry where blocks are not equally long.
#include "libcoll/plan/pair_loads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/mcf.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/valiant.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::pair_loads_test {

using namespace flow;
using namespace plan;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Matrix = std::vector<std::int64_t>;

constexpr std::int64_t block = 240;

Matrix even(std::int32_t nodes) {
  Matrix bytes(at(nodes * nodes), block);
  for (std::int32_t node = 0; node < nodes; ++node) bytes[at(node * nodes + node)] = 0;
  return bytes;
}

/// From everybody to the node `distance` further.
Matrix shifted(std::int32_t nodes, std::int32_t distance) {
  Matrix bytes(at(nodes * nodes), 0);
  for (std::int32_t node = 0; node < nodes; ++node) {
    bytes[at(node * nodes + (node + distance) % nodes)] = block;
  }
  return bytes;
}

TEST(PairLoads, OfEvenBlocksThePlansOwn) {
  for (const std::string topology : {"hypercube:3", "complete_bipartite:4,4", "genkautz:8,2"}) {
    const Schedule plan = *plan_mcf_path(*generate(topology), {});
    EXPECT_DOUBLE_EQ(PairLoads(plan).busiest(even(8)), block * max_link_load(plan).to_double()) << topology;
  }
}

TEST(PairLoads, OnLinksOfUnequalBandwidth) {
  Schedule plan = complete_alltoall(3);
  std::vector<Node> nodes(plan.topology.nodes().begin(), plan.topology.nodes().end());
  std::vector<Link> links(plan.topology.links().begin(), plan.topology.links().end());
  for (Link& link : links) link.bandwidth_bytes_per_second = link.from == 0 ? 1'000 : 4'000;
  plan.topology = *Topology::make("uneven", nodes, links);
  const double from_slow = PairLoads(plan).busiest(Matrix{0, block, 0, 0, 0, 0, 0, 0, 0});
  const double from_fast = PairLoads(plan).busiest(Matrix{0, 0, 0, block, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(from_slow, 4 * from_fast);
}

/// What the loads of the usual plan say of blocks that are spread is what the spread schedule makes of them.
TEST(PairLoads, OfSpreadBlocks) {
  for (const std::string topology : {"hypercube:3", "complete_bipartite:4,4", "genkautz:8,2"}) {
    const Schedule plan = *plan_mcf_path(*generate(topology), {});
    const Schedule spread = *spread_over_nodes(plan);
    for (const Matrix& bytes : {even(8), shifted(8, 1), shifted(8, 4)}) {
      EXPECT_DOUBLE_EQ(PairLoads(plan).busiest(spread_evenly(bytes, 8)), PairLoads(spread).busiest(bytes)) << topology;
    }
  }
}

/// Every node has one block, for a neighbour: three of its four links are idle by the plan.
TEST(PairLoads, AFewLongBlocksAreLighterSpread) {
  const Schedule plan = *plan_mcf_path(*generate("complete_bipartite:4,4"), {});
  const PairLoads loads(plan);
  EXPECT_DOUBLE_EQ(loads.busiest(shifted(8, 4)), block);
  EXPECT_DOUBLE_EQ(loads.busiest(spread_evenly(shifted(8, 4), 8)), block * 5.0 / 8);
  EXPECT_GT(loads.busiest(spread_evenly(even(8), 8)), loads.busiest(even(8)));
}

}  // namespace
}  // namespace libcoll::pair_loads_test
