// Time steps for routed schedules.
#include "planner/flow/lowering/step_partition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "planner/flow/mcf.h"
#include "planner/flow/p_mcf.h"
#include "planner/registry/planner.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"

namespace libcoll::step_partition_test {

using namespace flow;
using namespace flow::lowering;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

/// Σ over steps of the largest load, and the most chunks at one end of a host, added up anew.
StepPartition counted(const Schedule& schedule) {
  std::map<std::pair<std::int32_t, LinkId>, std::int64_t> loads;
  std::map<std::tuple<std::int32_t, NodeId, bool>, std::int64_t> ends;
  for (const Transfer& transfer : schedule.transfers) {
    for (const LinkId link : schedule.routes[static_cast<std::size_t>(transfer.route)].links) {
      loads[{transfer.step, link}] += transfer.chunk_count;
    }
    ends[{transfer.step, transfer.from, true}] += transfer.chunk_count;
    ends[{transfer.step, transfer.to, false}] += transfer.chunk_count;
  }
  std::map<std::int32_t, double> largest;
  for (const auto& [where, load] : loads) {
    const double time = static_cast<double>(load) / schedule.topology.capacity(where.second).to_double();
    largest[where.first] = std::max(largest[where.first], time);
  }
  StepPartition result;
  for (const auto& [step, load] : largest) result.load += load / schedule.chunks_per_shard;
  for (const auto& [where, count] : ends) result.in_flight = std::max(result.in_flight, count);
  return result;
}

TEST(StepPartition, SharesLinksAndHostsOut) {
  std::vector<Topology> topologies = {generate("torus:3x3x3").value(), generate("hypercube:4").value(),
                                      generate("genkautz:27,4").value(), random_regular(12, 3, 1)};
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    const Schedule whole = plan_mcf_path(topology, {}).value();
    const double load = max_link_load(whole).to_double();
    for (const std::int32_t steps : {1, 2, 4}) {
      Schedule schedule = whole;
      const StepPartition partition = partition_over_steps(schedule, steps);
      EXPECT_EQ(verify(schedule), Faults{});
      EXPECT_EQ(schedule.steps, steps);
      EXPECT_EQ(max_link_load(schedule), max_link_load(whole));
      const StepPartition again = counted(schedule);
      EXPECT_NEAR(partition.load, again.load, 1e-9);
      EXPECT_EQ(partition.in_flight, again.in_flight);
      EXPECT_GE(partition.load, load * (1 - 1e-9));
      // No link has more than one chunk and a quarter beyond its share in any step.
      EXPECT_LE(partition.load, 1.25 * load + static_cast<double>(steps) / schedule.chunks_per_shard);
      const std::int64_t sent = (topology.host_count() - 1) * std::int64_t{schedule.chunks_per_shard};
      EXPECT_GE(partition.in_flight, (sent + steps - 1) / steps);
      EXPECT_LE(partition.in_flight, (sent + steps - 1) / steps + sent / (2 * steps) + 1);
    }
  }
}

TEST(StepPartition, IsAskedForBySteps) {
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.steps = 3;
  const Schedule schedule = plan_p_mcf(generate("torus:3x3").value(), options).value();
  EXPECT_EQ(verify(schedule), Faults{});
  EXPECT_EQ(schedule.steps, 3);
  std::map<std::string, bool> named;
  for (const auto& [name, value] : figures.more) named[name] = true;
  for (const char* name : {"stepped_load_chunks", "loss_steps", "chunks_in_flight"}) EXPECT_TRUE(named[name]) << name;
}

}  // namespace
}  // namespace libcoll::step_partition_test
