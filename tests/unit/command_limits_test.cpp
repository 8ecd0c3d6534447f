// Limits that are given are kept: of time by every command, of the gap by plans.
#include <gtest/gtest.h>

#include <string>

#include "planner/base/deadline.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/route/layers.h"
#include "planner/route/sssp.h"
#include "planner/topology/generators.h"
#include "tests/unit/command_fixture.h"
#include "tests/unit/sanitized.h"

namespace libcoll::command_limits_test {

using namespace flow::lowering;
using namespace flow::problem;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// The first plan fits into three seconds; the default planner's may not.
const char* const large_fabric = sanitized ? "random_regular:100,4,1" : "random_regular:400,4,1";

/// Passed as soon as it is there.
constexpr double no_time = 1e-9;

TEST_F(Command, TimeLimitIsNamedWhereNothingIsThereInTime) {
  // A million pairs: neither their routes nor what checks them fit into half a second.
  const Outcome outcome = libcoll("plan genkautz:1000,4 alltoall --algorithm sssp --time-limit 0.01 --json");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "libcoll: the time limit of 0.01 s is over, and there is no plan that was checked\n");
  EXPECT_EQ(Json::parse(outcome.out)["error"],
            "the time limit of 0.01 s is over, and there is no plan that was checked");
}

TEST_F(Command, TimeLimitIsNamedByPlannersThatStop) {
  // MultiTree has nothing before its trees are complete.
  const Outcome outcome = libcoll("plan torus:16x16 allgather --algorithm multitree --time-limit 1e-9");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "the time limit of 1e-09 s is over, and there is no plan that was checked: "))
      << outcome.err;
}

TEST_F(Command, TimeLimitLeavesAPlanOfEveryCollective) {
  // The default planners have no plan in a millisecond; a first plan and what checks it fit into the half second that
  // the limit allows besides, where no sanitizer slows them down.
  const std::string limit = sanitized ? " --time-limit 1" : " --time-limit 0.001";
  for (const char* topology : {"genkautz:50,4", "fat_tree:4,2"}) {
    for (const char* collective : {"alltoall", "allgather", "reduce_scatter", "allreduce", "broadcast", "reduce"}) {
      const Json plan = json("plan " + std::string(topology) + " " + collective + limit);
      EXPECT_EQ(plan.value("verified", false), true) << topology << " " << collective;
    }
  }
}

TEST_F(Command, TimeLimitThatLeavesTheFirstPlanSaysSo) {
  const Json plan = json(std::string("plan ") + large_fabric + " alltoall --time-limit 3 --output plan.xml");
  const bool first = plan.value("algorithm", "") == "sssp-rerouted";
  EXPECT_EQ(first, plan.contains("time_note"));
  if (first) {
    EXPECT_LE(plan.value("layers", 99), 4);  // as many as paper 003 §5.5 ever needed
  }
  EXPECT_LE(plan.value("F", 1.0), plan.value("F_upper_bound", 0.0));
  EXPECT_EQ(json("verify plan.xml").value("ok", false), true);
}

TEST_F(Command, TimeLimitIsKeptWithAPlan) {
  constexpr double limit = 3;
  const Deadline end(1.2 * limit + 0.5);
  const Outcome outcome = libcoll(std::string("plan ") + large_fabric + " alltoall --time-limit 3");
  EXPECT_FALSE(end.passed());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Command, TimeLimitThatSufficesChangesNoPlan) {
  for (const char* what : {"torus:3x3 alltoall", "random_regular:14,3,1 allgather", "genkautz:12,3 allreduce"}) {
    Json with = json("plan " + std::string(what) + " --time-limit 1000 --output with.xml");
    Json without = json("plan " + std::string(what) + " --output without.xml");
    for (const char* own : {"plan_seconds", "peak_bytes", "trees_unproven", "gap"}) {
      with.erase(own);
      without.erase(own);
    }
    EXPECT_EQ(with, without);
    EXPECT_EQ(read_file(path("with.xml")), read_file(path("without.xml")));
  }
}

TEST_F(Command, TimeLimitIsForAllPlannersOfAComparison) {
  const Json table = json("plan --compare torus:4x4 allgather --time-limit 1e-9");
  EXPECT_EQ(table["algorithms"], Json::array());
  ASSERT_FALSE(table["refused"].empty());
  for (const Json& row : table["refused"]) EXPECT_EQ(row["reason"], "there was no time left for it");
  // What there is time for is there whole.
  const Json patient = json("plan --compare torus:4x4 allgather --time-limit 1000");
  const Json free = json("plan --compare torus:4x4 allgather");
  ASSERT_EQ(patient["algorithms"].size(), free["algorithms"].size());
  for (std::size_t i = 0; i < free["algorithms"].size(); ++i) {
    Json with = patient["algorithms"][i];
    Json without = free["algorithms"][i];
    with.erase("plan_seconds");
    without.erase("plan_seconds");
    EXPECT_EQ(with, without);
  }
  EXPECT_EQ(patient["refused"], free["refused"]);
  // A planner that does not end with its share costs the others nothing.
  const Json hasty = json("plan --compare genkautz:100,4 alltoall --time-limit 8");
  EXPECT_FALSE(hasty["algorithms"].empty());
}

TEST_F(Command, TimeLimitLeavesWhatIsDone) {
  ASSERT_EQ(libcoll("plan torus:3x3 allgather --output plan.xml").code, 0);
  const Outcome simulated = libcoll("simulate plan.xml --size 1KiB,2KiB,3KiB --time-limit 1e-9 --json");
  EXPECT_EQ(simulated.code, 0);
  EXPECT_EQ(Json::parse(simulated.out)["results"].size(), 1U);
  EXPECT_TRUE(contains(simulated.err, "no figure of the last 2 sizes")) << simulated.err;
  EXPECT_EQ(json("verify plan.xml --time-limit 1000")["ok"], true);
  const Outcome swept = libcoll("topo find --sweep 20 --degrees 2,4 --database found.csv --time-limit 1e-9");
  EXPECT_EQ(swept.code, 0);
  EXPECT_TRUE(contains(swept.err, "nothing of 38 frontiers")) << swept.err;
  const Outcome found = libcoll("topo find --nodes 64 --degree 4 --time-limit 1e-9");
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(contains(found.err, "graphs, which are left out")) << found.err;
  EXPECT_EQ(json("topo find --sweep 20 --degrees 2,4 --database found.csv --time-limit 1000")["frontiers"], 38);
}

TEST_F(Command, TuneEndsALauncherThatGoesOn) {
  write("launcher", "#!/bin/sh\nexec sleep 1000\n");
  fs::permissions(path("launcher"), fs::perms::owner_all);
  const Outcome outcome = libcoll(
      "tune --topology ring:4 --calls alltoall --program sweep --library libcoll_fake.so --time-limit 0.05 -- "
      "./launcher");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "the time limit of 0.05 s is over")) << outcome.err;
}

TEST_F(Command, PlansKeepTheGapThatWasAskedFor) {
  // On four layers the plan ends 0.82 % from its bound.
  const Json wide = json("plan genkautz:300,4 alltoall --gap 0.005");
  EXPECT_LE(wide["gap"].get<double>(), 0.005);
  EXPECT_GT(wide["layers"], 4);
  EXPECT_LE(wide["layers"], 8);  // the routes as they are would take more
  EXPECT_EQ(wide["layers_note"], "fewer would cost more than the gap allows: see --max-layers");
  EXPECT_EQ(wide["verified"], true);
  const Json narrow = json("plan genkautz:300,4 alltoall --gap 0.03");
  EXPECT_LE(narrow["gap"].get<double>(), 0.03);
  EXPECT_EQ(narrow["layers"], 4);
}

TEST_F(Command, TimeSteppedFlowHasABoundOnItsSteps) {
  expect_refused("plan ring:4 alltoall --algorithm ts-mcf --steps 10000", "expected from 0 to 1000");
}

TEST(Layers, TriesNoOtherMethodWithoutTime) {
  const Topology topology = generate("genkautz:20,4").value();
  std::vector<Route> routes = sssp_routes(topology).value();
  const Layers hasty = assign_layers_by(LayerMethod::automatic, topology, routes, any_layers, Deadline(no_time));
  EXPECT_EQ(hasty.method, LayerMethod::lash_destination);
  const Layers best = assign_layers_by(LayerMethod::automatic, topology, routes);
  EXPECT_LE(best.count, hasty.count);
}

TEST(Bound, IsThatOfEqualPricesWithoutTime) {
  // Paper 003 (25) is that of equal lengths: Σ capacity / Σ distances. A barbell's cut says more.
  const Topology topology = generate("mesh:6").value();
  const LinkClasses classes = link_classes(topology, {});
  constexpr double load = 100;  // of some plan, far from the optimum
  const FlowCertificate hasty = tightest_bound(topology, classes, {}, {}, load, Deadline(no_time));
  const FlowCertificate best = tightest_bound(topology, classes, {}, {}, load);
  EXPECT_NEAR(hasty.flow_upper_bound, 10.0 / 70, 1e-12);  // ten links; 2·(5·1 + 4·2 + 3·3 + 2·4 + 1·5) hops
  EXPECT_NEAR(best.flow_upper_bound, 1.0 / 9, 1e-9);      // through the middle: 3·3 pairs
}

}  // namespace
}  // namespace libcoll::command_limits_test
