// Figures on fabrics whose bandwidths have many digits: what is claimed is what the transfers come to.
//
// LIBCOLL_FABRICS (default 1) fabrics of every kind for each number of nodes, from LIBCOLL_FABRIC_LEAST_NODES (default
// 8) to LIBCOLL_FABRIC_NODES (default 32) of them, in all-to-all up to LIBCOLL_FABRIC_ALLTOALL_NODES (default 16).
// Under the address sanitizer the last two are half as many.
#include "tests/unit/measured_fabrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/plan/claims.h"
#include "planner/plan/default_plan.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "tests/unit/sanitized.h"

namespace libcoll::measured_fabrics_test {

using namespace broadcast;
using namespace default_plan;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

constexpr Measured kinds[] = {{2, 0}, {3, 0}, {4, 0}, {2, 6}};

void expect_true_figures(Schedule schedule, const std::string& what) {
  claim_what_is_reached(schedule);
  const Proof& proof = schedule.proof;
  const long double claimed = value_of(proof.bandwidth_time.to_string());
  const long double found = time_of_transfers(schedule);
  EXPECT_GT(claimed, 0) << what;
  EXPECT_LT(std::abs(claimed / found - 1), 1e-12L) << what << ": " << proof.bandwidth_time.to_string();
  EXPECT_LE(value_of(proof.bandwidth_bound.to_string()), claimed * (1 + 1e-12L)) << what;
  EXPECT_LE(proof.flow, proof.flow_upper_bound * (1 + 1e-12)) << what;  // both 0 but of all-to-all
  EXPECT_EQ(verify(schedule), std::vector<std::string>{}) << what;
  for (const FalseClaim& claim : false_claims(schedule)) ADD_FAILURE() << what << ": " << to_string(claim);
}

/// The planners of the command, in its order.
std::vector<Planner> all_planners() {
  const auto broadcast = broadcast_planners();
  const auto flow = flow_planners();
  std::vector<Planner> table(broadcast.begin(), broadcast.end());
  table.insert(table.end(), flow.begin(), flow.end());
  return table;
}

void expect_true_figures_on(const Topology& topology, Collective collective, const std::string& what) {
  const std::vector<Planner> table = all_planners();
  Result<DefaultPlans> plans = plan_default(table, topology, collective, {});
  ASSERT_TRUE(plans.ok()) << what << ": " << plans.error().message;
  expect_true_figures(plans->least_bandwidth_time, what + " by " + plans->least_bandwidth_time.algorithm);
  if (plans->least_steps) expect_true_figures(*plans->least_steps, what + " by " + plans->least_steps->algorithm);
}

TEST(MeasuredFabrics, FiguresAreWhatTheTransfersComeTo) {
  const std::int32_t most_nodes = setting("LIBCOLL_FABRIC_NODES", sanitized ? 16 : 32);
  const std::int32_t most_alltoall_nodes = setting("LIBCOLL_FABRIC_ALLTOALL_NODES", sanitized ? 8 : 16);
  const auto fabrics = static_cast<std::uint32_t>(setting("LIBCOLL_FABRICS", 1));
  for (std::int32_t nodes = setting("LIBCOLL_FABRIC_LEAST_NODES", 8); nodes <= most_nodes; nodes *= 2) {
    for (std::uint32_t seed = 1; seed <= fabrics; ++seed) {
      for (const Measured& how : kinds) {
        const Topology topology = measured_ring(nodes, how, seed);
        for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                            Collective::broadcast, Collective::reduce, Collective::alltoall}) {
          if (collective == Collective::alltoall && nodes > most_alltoall_nodes) continue;
          expect_true_figures_on(topology, collective,
                                 std::string(to_string(collective)) + " on " + std::to_string(nodes) + " nodes, " +
                                     std::to_string(how.decimals) + " decimals, 10^" + std::to_string(how.orders) +
                                     ", seed " + std::to_string(seed));
        }
      }
    }
  }
}

/// Every planner that takes the fabric, not the default ones alone.
TEST(MeasuredFabrics, EveryPlannerClaimsWhatItsTransfersComeTo) {
  for (const Measured& how : kinds) {
    const Topology topology = measured_ring(16, how, 3);
    for (const Planner& planner : broadcast_planners()) {
      const Result<Schedule> schedule = planner.plan(topology, {});
      if (!schedule || planner.needs.has(Need::lockstep)) continue;
      expect_true_figures(*schedule, std::string(planner.name) + " " + std::string(to_string(planner.collective)));
    }
  }
}

/// Bandwidths without a common divisor ask for more trees than a schedule can count.
TEST(MeasuredFabrics, WhereTheOptimumTakesTooManyTreesFewerComeNear) {
  constexpr std::int64_t bandwidths[] = {20'000'000'000'003, 21'000'000'000'011, 22'000'000'000'027, 23'000'000'000'039,
                                         24'000'000'000'001};
  std::vector<Link> links;
  for (NodeId node = 0; node < 5; ++node) {
    links.push_back({node, (node + 1) % 5, bandwidths[node]});
    links.push_back({(node + 1) % 5, node, bandwidths[node]});
  }
  const Topology topology = Topology::make("fine", numbered_nodes(5), std::move(links)).value();
  for (const Collective collective : {Collective::allgather, Collective::allreduce, Collective::broadcast}) {
    const Result<Planner> forest = find_planner(broadcast_planners(), collective, "forestcoll");
    const Result<Schedule> schedule = forest->plan(topology, {});
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    expect_true_figures(*schedule, std::string(to_string(collective)));
    EXPECT_LE(schedule->proof.bandwidth_time, schedule->proof.bandwidth_bound * Rational(501, 500));
  }
}

TEST(MeasuredFabrics, FilesKeepFiguresOfAnyLength) {
  const Topology topology = measured_ring(24, {4, 3}, 1);
  const Result<Planner> bfb = find_planner(broadcast_planners(), Collective::allgather, "bfb");
  const Schedule schedule = bfb->plan(topology, {}).value();
  ASSERT_FALSE(schedule.proof.bandwidth_time.is_narrow());  // each step has another busiest link
  EXPECT_EQ(read_schedule(write_schedule(schedule), "test").value(), schedule);
}

}  // namespace
}  // namespace libcoll::measured_fabrics_test
