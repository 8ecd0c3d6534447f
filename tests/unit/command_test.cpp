// The `libcoll` command as a user meets it: the real binary, its output, its exit codes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/select/choice_file.h"
#include "libcoll/select/tuning_table.h"
#include "libcoll/version.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/reconfigure/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "planner/topology/part.h"
#include "tests/unit/command_fixture.h"

namespace libcoll::command_test {

using namespace broadcast;
using namespace flow;
using namespace plan;
using namespace reconfigure;
using namespace registry;
using namespace schedule;
using namespace select;
using namespace test;
using namespace topology;

namespace {

std::vector<std::string> names(const Json& object) {
  std::vector<std::string> result;
  for (const auto& [name, value] : object.items()) result.push_back(name);
  return result;
}

void expect_fields(const Json& object, const std::vector<std::string>& fields) {
  const std::vector<std::string> present = names(object);
  for (const std::string& field : fields) {
    EXPECT_NE(std::find(present.begin(), present.end(), field), present.end()) << field;
  }
}

// ---- topo -----------------------------------------------------------------------------------------------------

TEST_F(Command, TopoPrintsTextAndTakesAnOption) {
  EXPECT_EQ(json("topo --topology mesh:4x4")["degree_min"], 2);
  EXPECT_TRUE(contains(libcoll("topo torus:3x3x3").out, "162 of 25 Gbps"));
}

TEST_F(Command, TopoRefusesInJsonToo) {
  write("split.toml", "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n");
  const Outcome outcome = libcoll("topo split.toml --json");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "split.toml"));
  const Json parsed = Json::parse(outcome.out);
  EXPECT_EQ(names(parsed), std::vector<std::string>{"error"});
  EXPECT_TRUE(contains(outcome.err, parsed["error"].get<std::string>()));
}

// ---- plan -----------------------------------------------------------------------------------------------------

TEST_F(Command, PlanOfAnAllgatherHasEveryField) {
  const Json plan = json("plan torus:3x3x3 allgather --algorithm bfb");
  EXPECT_EQ(plan["collective"], "allgather");
  EXPECT_EQ(plan["algorithm"], "bfb");
  EXPECT_EQ(plan["topology"], "torus:3x3x3");
  EXPECT_EQ(plan["nodes"], 27);
  EXPECT_EQ(plan["steps"], 3);
  EXPECT_EQ(plan["bandwidth_time"], "26/27");  // (N−1)/N, paper 000
  EXPECT_NEAR(plan["bandwidth_time_float"], 26.0 / 27, 1e-15);
  EXPECT_EQ(plan["bandwidth_bound"], "26/27");
  EXPECT_EQ(plan["bandwidth_optimal"], true);
  EXPECT_GT(plan["chunks_per_shard"], 0);
  EXPECT_GE(plan["transfers"], 27 * 26);  // every node receives N−1 shards
  EXPECT_GE(plan["plan_seconds"], 0);
  EXPECT_EQ(plan["verified"], true);
  EXPECT_EQ(plan["errors"], Json::array());
  EXPECT_FALSE(plan.contains("F"));
}

TEST_F(Command, PlanTakesTopologyAndCollectiveAsOptions) {
  EXPECT_EQ(json("plan --topology hypercube:3 --collective allreduce")["collective"], "allreduce");
}

TEST_F(Command, PlanOfAnAllToAllHasEveryField) {
  for (const std::string topology : {"torus:3x3x3", "hypercube:3", "genkautz:16,4", "genkautz:32,4"}) {
    const Json plan = json("plan " + topology + " alltoall");
    expect_fields(plan, {"F", "F_upper_bound", "gap", "max_link_load", "max_link_load_exact", "routes",
                         "paths_per_pair_max", "loss_chunking", "layers", "route_classes",
                         "route_classes_by_destination", "routes_digest", "bandwidth_time", "bandwidth_bound"});
    // F' = 1 / load is the rate that whole chunks reach, F·(1 − loss) by definition.
    EXPECT_NEAR(1 / plan["max_link_load"].get<double>(),
                plan["F"].get<double>() * (1 - plan["loss_chunking"].get<double>()), 1e-9);
    EXPECT_GE(plan["routes"], plan["nodes"].get<int>() * (plan["nodes"].get<int>() - 1));
    EXPECT_GE(plan["paths_per_pair_max"], 1);
    EXPECT_GE(plan["layers"], 1);
    EXPECT_EQ(plan["route_classes"], plan["paths_per_pair_max"]);  // every path of every pair has one
    EXPECT_GE(plan["route_classes_by_destination"], plan["route_classes"].get<int>());
  }
}

TEST_F(Command, SinglePathPlansAreBaselines) {
  const Json sssp = json("plan random_regular:16,4,1 alltoall --algorithm sssp");
  const Json best = json("plan random_regular:16,4,1 alltoall");
  EXPECT_EQ(sssp["F_upper_bound"], best["F_upper_bound"]);
  EXPECT_EQ(sssp["method"], "sssp");  // who has no choice of solvers
  EXPECT_LE(sssp["F"].get<double>(), best["F"].get<double>());
  EXPECT_EQ(sssp["verified"], true);
  EXPECT_EQ(sssp["paths_per_pair_max"], 1);
  EXPECT_EQ(sssp["route_classes"], 1);
  EXPECT_EQ(sssp["route_classes_by_destination"], 1);
  EXPECT_TRUE(contains(libcoll("plan circulant:8,1 alltoall").out, "2 classes (2 if forwarded by destination alone)"));
  EXPECT_TRUE(contains(libcoll("plan ring:8 alltoall --algorithm dor").out, "1 class (1 if"));
}

TEST_F(Command, PlanTakesLayersAsAsked) {
  for (const std::string method : {"lash", "lash-shortest", "dfsssp"}) {
    EXPECT_EQ(json("plan genkautz:20,4 alltoall --layer-method " + method)["layer_method"], method);
  }
  const Json narrow = json("plan genkautz:20,4 alltoall --max-layers 1");
  EXPECT_EQ(narrow["layers"], 1);
  EXPECT_EQ(narrow["verified"], true);
  EXPECT_GT(narrow["loss_layers"].get<double>(), 0);
  EXPECT_LE(narrow["F"].get<double>(), narrow["F_upper_bound_layers"].get<double>() * (1 + 1e-9));
}

TEST_F(Command, PlanForPeopleNamesProofAndBound) {
  const std::string text = libcoll("plan torus:3x3x3 alltoall").out;
  for (const char* part : {"N = 27", "T_L", "T_B", "bound", "optimal", "0.111111111", "upper bound", "gap 0 %",
                           "chunks", "routes", "verified"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
  }
}

TEST_F(Command, PlanComparesEveryAlgorithmOfACollective) {
  const Json table = json("plan --compare torus:4x4 --collective allreduce --size 64KiB,1MiB");
  EXPECT_EQ(table["bandwidth_bound"], "15/8");
  EXPECT_EQ(table["sizes"], Json::array({65536.0, 1048576.0}));
  std::size_t planners = 0;
  for (const Planner& planner : broadcast_planners()) planners += planner.collective == Collective::allreduce ? 1 : 0;
  EXPECT_EQ(table["algorithms"].size() + table["refused"].size(), planners);
  ASSERT_EQ(table["refused"].size(), 2U);
  EXPECT_EQ(table["refused"][0]["algorithm"], "expansion");
  EXPECT_EQ(table["refused"][1]["algorithm"], "hdrm");
  for (const Json& row : table["algorithms"]) {
    EXPECT_EQ(row["verified"], true) << row;
    EXPECT_EQ(row["lockstep"], row["algorithm"] == "2d-ring" || row["algorithm"] == "recursive-doubling");
    EXPECT_GE(row["bandwidth_time_float"], 15.0 / 8);
    EXPECT_LT(row["modelled_seconds"][0], row["modelled_seconds"][1]);
    if (row["algorithm"] != "ring") continue;
    // 2·15 steps of 1 us; T_B = 15/2 M/B at 4 links of 25 Gbit/s.
    EXPECT_EQ(row["steps"], 30);
    EXPECT_EQ(row["bandwidth_time"], "15/2");
    EXPECT_NEAR(row["modelled_seconds"][1].get<double>(), 30e-6 + 7.5 * 1048576 / 12.5e9, 1e-12);
  }
  const std::string text = libcoll("plan --compare torus:4x4 --collective allreduce").out;
  for (const char* part : {"multitree", "ring", "2d-ring", "in lockstep", "optimal", "Not here", "hdrm", "1 MiB"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
  }
}

TEST_F(Command, PlansBroadcastAndReduceWithARoot) {
  for (const std::string collective : {"broadcast", "reduce"}) {
    EXPECT_EQ(json("plan torus:4x4 " + collective + " --root 5 --output plan.xml")["collective"], collective);
    EXPECT_TRUE(contains(libcoll("verify plan.xml").out, collective + " with root 5 by forestcoll"));
    EXPECT_EQ(libcoll("plan torus:4x4 " + collective + " --root 5 --dialect msccl --output -").code, 0);
  }
  // The corners of a mesh have two links, hosts up to four.
  const std::string text = libcoll("plan mesh:3x3 broadcast --root 4").out;
  for (const char* part : {"broadcast from 4 by forestcoll on mesh:3x3", "2 M/B, bound 2: optimal",
                           "bottleneck_outside", "every one checked"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
  }
  const Json table = json("plan --compare hypercube:3 broadcast --root 7 --size 64KiB,1MiB");
  EXPECT_EQ(table["bandwidth_bound"], "1");
  EXPECT_EQ(table["refused"], Json::array());
  std::vector<std::string> algorithms;
  for (const Json& row : table["algorithms"]) {
    EXPECT_EQ(row["verified"], true) << row;
    EXPECT_GE(row["bandwidth_time_float"], 1);
    algorithms.push_back(row["algorithm"]);
  }
  EXPECT_EQ(algorithms, (std::vector<std::string>{"forestcoll", "double-binary-tree", "pipelined-chain",
                                                  "binomial-tree", "binary-tree"}));
  const Json part = json("plan torus:3x3 broadcast --root 4 --nodes 3-5");
  EXPECT_EQ(part["root"], 1);  // of the three hosts 3, 4, 5
  EXPECT_EQ(part["bandwidth_optimal"], false);
  EXPECT_EQ(part["verified"], true);
}

TEST_F(Command, PlanOfAnUnknownDialectWritesNothing) {
  expect_refused("plan ring:4 allgather --dialect klingon --output x", "klingon");
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(Command, PlanForAPartOfTheNodes) {
  ASSERT_EQ(libcoll("plan torus:3x3 allreduce --nodes 3-5 --cache").code, 0);
  const Topology part = part_of(generate("torus:3x3").value(), std::vector<NodeId>{3, 4, 5}).value();
  EXPECT_TRUE(load_plan(path(".cache/libcoll"), part, Collective::allreduce, automatic_plan)->has_value());
  EXPECT_EQ(json("plan torus:3x3 alltoall --nodes 0,4,8 --algorithm mcf-path")["verified"], true);
}

TEST_F(Command, PlanWritesWhatVerifyAccepts) {
  ASSERT_EQ(libcoll("plan hypercube:3 allreduce --output plan.xml").code, 0);
  const Result<Schedule> schedule = read_schedule(read_file(path("plan.xml")), "plan.xml");
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_TRUE(verify(*schedule).empty());
  const Json checked = json("verify plan.xml");
  EXPECT_EQ(checked["ok"], true);
  EXPECT_EQ(checked["errors"], Json::array());
  EXPECT_EQ(checked["transfers"], schedule->transfers.size());
}

TEST_F(Command, PlanOnStandardOutputIsTheScheduleAlone) {
  const Outcome piped = libcoll("plan ring:4 alltoall --output - --json");
  ASSERT_EQ(piped.code, 0);
  EXPECT_TRUE(read_schedule(piped.out, "stdout").ok()) << piped.out;
  EXPECT_EQ(Json::parse(piped.err)["collective"], "alltoall");
  EXPECT_EQ(shell("libcoll plan ring:4 alltoall --output - 2>/dev/null | libcoll verify -").code, 0);
  EXPECT_EQ(shell("libcoll plan ring:4 alltoall --output - >/dev/full").code, 2);
}

TEST_F(Command, PlanWritesMscclFiles) {
  ASSERT_EQ(libcoll("plan ring:4 allgather --output ring.xml --dialect msccl").code, 0);
  EXPECT_TRUE(contains(read_file(path("ring.xml")), "<algo"));
}

TEST_F(Command, PlanPutsPlansIntoTheCache) {
  const Topology ring = generate("ring:4").value();
  ASSERT_EQ(libcoll("plan ring:4 allgather --cache").code, 0);
  const std::string standard = path(".cache/libcoll");
  for (const std::string_view name : {automatic_plan, std::string_view("bfb")}) {
    const auto cached = load_plan(standard, ring, Collective::allgather, name);
    ASSERT_TRUE(cached.ok()) << cached.error().message;
    EXPECT_TRUE(cached->has_value()) << name;
  }
  ASSERT_EQ(libcoll("plan ring:4 allreduce --algorithm bfb --cache --cache-dir mine").code, 0);
  EXPECT_TRUE(load_plan(path("mine"), ring, Collective::allreduce, "bfb")->has_value());
  EXPECT_FALSE(load_plan(path("mine"), ring, Collective::allreduce, automatic_plan)->has_value());
  ASSERT_EQ(shell("LIBCOLL_CACHE_DIR=theirs libcoll plan ring:4 allreduce --cache").code, 0);
  EXPECT_TRUE(load_plan(path("theirs"), ring, Collective::allreduce, "bfb")->has_value());
}

TEST_F(Command, PlanWritesThePlanForSmallVectorsToAFileOfItsOwn) {
  ASSERT_EQ(libcoll("plan random_regular:8,3,5 allreduce --output usual.xml --small-output small.xml").code, 0);
  const Result<Schedule> usual = read_schedule(read_file(path("usual.xml")), "usual.xml");
  const Result<Schedule> small = read_schedule(read_file(path("small.xml")), "small.xml");
  ASSERT_TRUE(usual.ok() && small.ok());
  EXPECT_TRUE(verify(*usual).empty());
  EXPECT_TRUE(verify(*small).empty());
  EXPECT_LT(small->steps, usual->steps);
  // One plan has the least T_L and the least T_B there (paper 000).
  ASSERT_EQ(libcoll("plan torus:3x3 allreduce --small-output none.xml").code, 0);
  EXPECT_FALSE(fs::exists(path("none.xml")));
  expect_refused("plan torus:3x3 alltoall --small-output x", "--small-output");
  expect_refused("plan torus:3x3 allreduce --algorithm bfb --small-output x", "--small-output");
  expect_refused("plan torus:3x3 allreduce --no-schedule --small-output x", "--small-output");
  expect_refused("plan torus:3x3 allreduce --output - --small-output -", "standard output");
}

TEST_F(Command, InfoSaysWhichPlanServesWhichSizes) {
  // Allreduce, degree 3, 1 us and 25 Gbps a link: T_L 4 and T_B 9/4 by BFB, 6 and 7/4 by ForestColl, which meet at
  // (6 - 4) us * 3 * 3.125 GB/s / (9/4 - 7/4) = 37500 bytes.
  const auto plans_of = [&](const std::string& arguments) { return json("info --plans " + arguments)["plans"]; };
  const auto expect_two_plans = [](const Json& allreduce) {
    EXPECT_EQ(allreduce["collective"], "allreduce");
    EXPECT_EQ(allreduce["setting"], "auto");
    ASSERT_EQ(allreduce["plans"].size(), 2U);
    EXPECT_EQ(allreduce["plans"][0]["algorithm"], "bfb");
    EXPECT_NEAR(allreduce["plans"][0]["up_to_bytes"].get<double>(), 37500, 1);
    EXPECT_EQ(allreduce["plans"][0]["steps"], 4);
    EXPECT_NEAR(allreduce["plans"][0]["latency_seconds"].get<double>(), 4e-6, 1e-12);
    EXPECT_EQ(allreduce["plans"][0]["bandwidth_time"], "9/4");
    EXPECT_EQ(allreduce["plans"][1]["algorithm"], "forestcoll");
    EXPECT_EQ(allreduce["plans"][1]["up_to_bytes"], nullptr);
    EXPECT_EQ(allreduce["plans"][1]["bandwidth_time"], "7/4");
  };
  const Json empty_cache = plans_of("random_regular:8,3,5");
  expect_two_plans(empty_cache["collectives"][0]);
  EXPECT_EQ(empty_cache["collectives"].size(), 3U);
  EXPECT_EQ(plans_of("random_regular:8,3,5"), empty_cache);
  EXPECT_EQ(plans_of("random_regular:12,3,1 --nodes 0-6")["collectives"][0]["plans"].size(), 2U);
  EXPECT_EQ(plans_of("torus:3x3")["collectives"][0]["plans"].size(), 1U);
  const Outcome native = shell("LIBCOLL_ALLREDUCE=native libcoll info --plans torus:3x3");
  EXPECT_EQ(native.code, 0) << native.err;
  EXPECT_TRUE(contains(native.out, "native")) << native.out;
  expect_refused("info --plans torus:3x3 --nodes 9", "--nodes");
  expect_refused("info --nodes 0-3", "--plans");
}

// ---- verify ---------------------------------------------------------------------------------------------------

TEST_F(Command, VerifyFindsADamagedSchedule) {
  ASSERT_EQ(libcoll("plan ring:4 allgather --output good.xml").code, 0);
  Schedule damaged = read_schedule(read_file(path("good.xml")), "good.xml").value();
  damaged.transfers.pop_back();
  write("bad.xml", write_schedule(damaged));
  const Json checked = json("verify bad.xml", 1);
  EXPECT_EQ(checked["ok"], false);
  EXPECT_EQ(checked["errors"], verify(damaged));
  const Outcome outcome = libcoll("verify bad.xml");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, verify(damaged).front()));
}

TEST_F(Command, VerifyNamesFiguresThatAreNotWhatTheFileClaims) {
  EXPECT_EQ(libcoll("plan torus:3x3 allreduce --output plan.xml").code, 0);
  std::string text = read_file(path("plan.xml"));
  const std::string claim = "bandwidth_bound=\"16/9\"";
  const std::size_t where = text.find(claim);
  ASSERT_NE(where, std::string::npos);
  write("liar.xml", text.replace(where, claim.size(), "bandwidth_bound=\"8/9\""));
  const Json checked = json("verify liar.xml", 1);
  EXPECT_EQ(checked["ok"], false);
  ASSERT_EQ(checked["false_claims"].size(), 1U);
  EXPECT_EQ(checked["false_claims"][0]["name"], "bandwidth_bound");
  EXPECT_EQ(checked["false_claims"][0]["claimed"], "8/9");
  EXPECT_EQ(checked["false_claims"][0]["found"], "16/9");
  EXPECT_TRUE(contains(libcoll("verify liar.xml").out, "bandwidth_bound: claimed 8/9, found 16/9"));
}

TEST_F(Command, VerifyRefusesInJsonToo) {
  write("text.xml", "no schedule");
  EXPECT_TRUE(json("verify text.xml", 2).contains("error"));
}

TEST_F(Command, PlansRewirings) {
  const Json figures = json(
      "harvest reduce_scatter --nodes 8 --degree 1 --size 1MiB --bandwidth 100Gbps "
      "--reconfiguration 1us --output rewired.xml");
  EXPECT_EQ(figures["algorithm"], "recursive-doubling");
  ASSERT_EQ(figures["rewirings"].size(), 2U);
  EXPECT_EQ(figures["rewirings"][0]["before_step"], 2);
  EXPECT_EQ(figures["rewirings"][0]["to"], "step 2");
  EXPECT_EQ(figures["rewirings"][0]["links"].size(), 8U);
  // Steps of 1/2, 1/4 and 1/8 MiB at 12.5 GB/s, 500 ns to start and 500 ns on the way; two rewirings.
  const double expected = 3 * 1e-6 + 0.875 * 1048576 / 12.5e9 + 2e-6;
  EXPECT_NEAR(figures["completion_seconds"].get<double>(), expected, 1e-12);
  EXPECT_NEAR(figures["every_step_seconds"].get<double>(), expected, 1e-12);
  EXPECT_GT(figures["static_seconds"].get<double>(), expected);
  EXPECT_EQ(json("verify rewired.xml")["ok"], true);
  const Json again = json("harvest --schedule rewired.xml --degree 1 --bandwidth 100Gbps --reconfiguration 1us");
  EXPECT_NEAR(again["completion_seconds"].get<double>(), expected, 1e-12);
  const Outcome map =
      libcoll("harvest alltoall --nodes 6 --degree 2 --heatmap - --sizes 1KiB,1MiB --reconfigurations 1us,1ms");
  EXPECT_EQ(std::count(map.out.begin(), map.out.end(), '\n'), 5) << map.out;
  const Json plan = json("plan ring:8 --collective allreduce --algorithm harvest --reconfiguration 1ms --size 1MiB");
  EXPECT_EQ(plan["rewirings"], Json::array());
  EXPECT_LE(plan["completion_seconds"], plan["every_step_seconds"]);
  EXPECT_FALSE(
      json("plan ring:8 --collective allreduce --algorithm harvest --reconfiguration 10ns")["rewirings"].empty());
  const Json exact = json("harvest allgather --nodes 4 --degree 2 --exact 0");
  EXPECT_NEAR(exact["completion_bound_seconds"].get<double>(), exact["completion_seconds"].get<double>(), 1e-10);
  EXPECT_TRUE(figures["completion_bound_seconds"].is_null());
  EXPECT_EQ(libcoll("harvest broadcast --nodes 8 --degree 2 --root 3 --output broadcast.xml").code, 0);
  EXPECT_TRUE(contains(libcoll("verify broadcast.xml").out, "broadcast with root 3 by harvest"));
  EXPECT_EQ(json("plan ring:8 reduce --root 2 --algorithm harvest --reconfiguration 10ns")["verified"], true);
  expect_refused("plan ring:8 allreduce --algorithm harvest --reconfiguration 10ns --cache", "--cache");
}

TEST_F(Command, HarvestKeepsToATimeLimitForAllOfIt) {
  // Nothing but each step's own wiring is looked at: recursive doubling of 64 nodes rewires for every step.
  const Json hasty = json(
      "harvest allreduce --nodes 64 --degree 2 --search 50 --time-limit 1e-9 --output rewired.xml --heatmap map.csv");
  EXPECT_GT(hasty["candidates_left_out"], 0);
  EXPECT_EQ(hasty["moves_left_out"], 50);
  EXPECT_EQ(hasty["intervals_left_out"], 0);
  EXPECT_GT(hasty["cells_left_out"], 0);
  EXPECT_EQ(json("verify rewired.xml")["ok"], true);
  const std::string cells = read_file(path("map.csv"));
  EXPECT_EQ(std::count(cells.begin(), cells.end(), '\n'), 1) << "the heading alone";
  // Recursive doubling of four nodes has two steps. What the ports allow proves each step's own wiring the best for it;
  // the interval of both is what no program is solved for. What is proved holds still.
  const std::string four = "harvest reduce_scatter --nodes 4 --degree 1 --exact 0";
  const Json bounded = json(four + " --time-limit 1e-9");
  EXPECT_EQ(bounded["intervals_left_out"], 1);
  EXPECT_LE(bounded["completion_bound_seconds"], json(four)["completion_seconds"]);
  const Json patient = json(four + " --search 5 --time-limit 1000");
  for (const char* name :
       {"candidates_left_out", "moves_left_out", "intervals_left_out", "flows_unproved", "cells_left_out"}) {
    EXPECT_EQ(patient[name], 0) << name;
  }
  EXPECT_FALSE(json(four).contains("candidates_left_out"));
  EXPECT_TRUE(contains(libcoll("harvest allreduce --nodes 64 --degree 2 --search 50 --time-limit 1e-9").out,
                       "50 moves of the search"));
  EXPECT_TRUE(contains(libcoll(four + " --time-limit 1000").out, "nothing was left out"));
}

TEST_F(Command, SimulatesScheduleFiles) {
  ASSERT_EQ(libcoll("plan uniring:5 broadcast --output plan.xml").code, 0);
  const Json whole = json("simulate plan.xml --size 1000000,2000000 --segment 0");
  EXPECT_EQ(whole["timing"], "data-flow");
  EXPECT_EQ(whole["rewirings"], 0);
  ASSERT_EQ(whole["results"].size(), 2U);
  // Four hops of 1 us and 1 MB at 25 Gbit/s, one after the other; in segments of 1 kB they overlap.
  EXPECT_NEAR(whole["results"][0]["seconds"].get<double>(), 4 * (1e-6 + 320e-6), 1e-12);
  EXPECT_NEAR(whole["results"][1]["seconds"].get<double>(), 4 * (1e-6 + 640e-6), 1e-12);
  const Json cut = json("simulate plan.xml --size 1000000 --segment 1000 --alpha 500ns");
  EXPECT_EQ(cut["results"][0]["messages"], 4 * 1000);
  EXPECT_EQ(json("simulate plan.xml --size 1MiB")["results"][0]["messages"], 4 * 8);  // of 128 KiB
  EXPECT_NEAR(cut["results"][0]["seconds"].get<double>(), 4 * 1.5e-6 + 1003 * 0.32e-6, 1e-12);
  ASSERT_EQ(libcoll("harvest reduce_scatter --nodes 8 --degree 1 --size 1MiB --bandwidth 100Gbps --reconfiguration 1us "
                    "--output rewired.xml")
                .code,
            0);
  const Json rewired = json("simulate rewired.xml --size 1MiB --alpha 500ns");
  EXPECT_EQ(rewired["timing"], "lockstep");
  EXPECT_EQ(rewired["rewirings"], 2);
  EXPECT_NEAR(rewired["results"][0]["seconds"].get<double>(), 3 * 1e-6 + 0.875 * 1048576 / 12.5e9 + 2e-6, 1e-12);
  EXPECT_TRUE(
      contains(libcoll("simulate plan.xml --lockstep").out, "broadcast by forestcoll on uniring:5, in lockstep"));
  expect_refused("simulate plan.xml --alpha soon", "--alpha");
}

TEST_F(Command, SimulatesRoutesByThePacket) {
  // The bound is what the busiest link carries; hops and packets in flight at the end cost a little more.
  for (const char* topology : {"torus:3x3x3", "random_regular:16,4,1", "hypercube:3"}) {
    ASSERT_EQ(libcoll("plan " + std::string(topology) + " alltoall --output plan.xml").code, 0);
    const Json result = json("simulate plan.xml --size 16MiB")["results"][0];
    EXPECT_LE(result["seconds"].get<double>(), 1.05 * result["busiest_link_seconds"].get<double>()) << topology;
  }
}

TEST_F(Command, KeepsFoundTopologies) {
  const Json done = json("topo find --sweep 20 --degrees 2,4 --database found.csv");
  EXPECT_EQ(done["frontiers"], 38);
  EXPECT_EQ(json("topo find --nodes 16 --degree 4 --database found.csv"), json("topo find --nodes 16 --degree 4"));
  expect_refused("topo find --nodes 16 --degree 4 --bidirectional --database found.csv", "one way");
  // Of 12 nodes and degree 4; a plan is never faster than the bound, and within 1 % of the optimum.
  const Json planned = json("topo find --nodes 12 --degree 4 --alltoall 10 --size 64KiB");
  EXPECT_EQ(planned["size_bytes"], 65536);
  ASSERT_FALSE(planned["frontier"].empty());
  for (const Json& member : planned["frontier"]) {
    EXPECT_GE(member["alltoall_seconds"].get<double>(), member["alltoall_seconds_bound"].get<double>() * (1 - 1e-9));
    const Json plan = json("plan " + member["topology"].get<std::string>() + " alltoall --no-schedule");
    EXPECT_NEAR(member["alltoall_seconds"].get<double>(), 65536.0 / 12 / (plan["F"].get<double>() * 3.125e9), 2e-7);
  }
  // Times and bandwidths as elsewhere, or plain numbers of seconds and Gbps.
  EXPECT_EQ(json("topo find --nodes 12 --degree 4 --alpha 2us --bandwidth 12.5GB/s"),
            json("topo find --nodes 12 --degree 4 --alpha 2e-6 --bandwidth 100"));
  expect_refused("topo find --nodes 12 --degree 4 --alpha soon", "soon");
  expect_refused("topo find --nodes 12 --degree 4 --alpha -1", "zero or more seconds");
  expect_refused("topo find --nodes 12 --degree 4 --bandwidth 0", "more than 0 Gbps");
  expect_refused("topo find --nodes 16", "--degree");
  expect_refused("topo find --sweep 16", "--database");
}

// ---- info and help --------------------------------------------------------------------------------------------

TEST_F(Command, InfoShowsTheTables) {
  EXPECT_EQ(libcoll("--version").out, "libcoll " LIBCOLL_VERSION "\n");
  EXPECT_EQ(libcoll("info --version").out, "libcoll " LIBCOLL_VERSION "\n");
  EXPECT_EQ(libcoll("info --config").out, commented_config(false));
  EXPECT_EQ(libcoll("info --config --all").out, commented_config());
  const Json info = json("info");
  EXPECT_EQ(info["version"], LIBCOLL_VERSION);
  ASSERT_EQ(info["settings"].size(), settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) EXPECT_EQ(info["settings"][i]["name"], settings()[i].name);
  EXPECT_EQ(info["topologies"].size(), generators().size());
  EXPECT_EQ(info["algorithms"].size(),
            broadcast_planners().size() + flow_planners().size() + reconfigure_planners().size());
  EXPECT_EQ(names(json("info --algorithms")), std::vector<std::string>{"algorithms"});
  const std::string everything = libcoll("info").out;
  for (const Generator& generator : generators()) EXPECT_TRUE(contains(everything, std::string(generator.form)));
  for (const Planner& planner : flow_planners()) EXPECT_TRUE(contains(everything, std::string(planner.name)));
}

/// Measured, so nothing is known but that the parts are there, add up, and take something.
TEST_F(Command, InfoMeasuresMemory) {
  const Json memory = json("info --memory ring:3 --layers 2")["memory"];
  EXPECT_EQ(memory["topology"], "ring:3");
  EXPECT_EQ(memory["nodes"], 3);
  EXPECT_EQ(memory["route_classes"], 2);
  EXPECT_EQ(memory["connections"], 4);
  EXPECT_EQ(memory["limit_bytes"], 32 << 20);
  std::int64_t total = 0;
  std::vector<std::string> parts;
  for (const Json& part : memory["parts"]) {
    parts.push_back(part["name"]);
    for (const char* kind : {"anonymous_bytes", "shared_bytes", "file_bytes"}) total += part[kind].get<std::int64_t>();
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"contexts and workers", "connections", "plans", "task_graphs"}));
  EXPECT_EQ(memory["total_bytes"], total);
  EXPECT_GT(total, 0);
  EXPECT_TRUE(contains(libcoll("info --memory ring:3").out, "1 route classes, 2 connections"));
  expect_refused("info --memory ring:3 --layers 0", "layers");
}

TEST_F(Command, InfoShowsWhatJobsHaveChosen) {
  EXPECT_TRUE(contains(libcoll("info --choices ring:3").out, "nothing is kept yet"));
  ASSERT_TRUE(fs::create_directories(path("cache")));
  fs::permissions(path("cache"), fs::perms::owner_all);
  const ChoicePlace place{path("cache"), topology_hash(generate("ring:3").value()), 3, 3, "ucx", "MPICH_4"};
  TuningTable table;
  table.links = LinkFigures{1500, 2'000'000'000};
  table.add({{CallKind::allreduce, 3, 64, true, 0},
             {CallKind::allreduce, 3, 4096, false, 0, true},
             {CallKind::allreduce, 3, std::numeric_limits<std::int64_t>::max(), false, 32768}});
  table.choices.back().in_flight = 12;
  ASSERT_TRUE(store_choices(place, table).ok());
  const Outcome outcome = shell("LIBCOLL_CACHE_DIR='" + place.directory + "' libcoll info --choices ring:3 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json choices = Json::parse(outcome.out)["choices"];
  EXPECT_EQ(choices["topology"], "ring:3");
  ASSERT_EQ(choices["jobs"].size(), 1U);
  const Json& job = choices["jobs"][0];
  EXPECT_EQ(job["ranks"], 3);
  EXPECT_EQ(job["nodes"], 3);
  EXPECT_EQ(job["transport"], "ucx");
  EXPECT_EQ(job["mpi"], "MPICH_4");
  EXPECT_EQ(job["alpha_nanoseconds"], 1500);
  EXPECT_EQ(job["bytes_per_second"], 2'000'000'000);
  const Json expected = Json::parse(R"([
    {"call": "allreduce", "up_to_bytes": 64, "use": "native", "segment_bytes": null, "in_flight": null, "from": "cost model"},
    {"call": "allreduce", "up_to_bytes": 4096, "use": "direct", "segment_bytes": null, "in_flight": null,
     "from": "cost model"},
    {"call": "allreduce", "up_to_bytes": null, "use": "plan", "segment_bytes": 32768, "in_flight": 12,
     "from": "cost model"}])");
  EXPECT_EQ(job["choices"], expected);
  const std::string in = "LIBCOLL_CACHE_DIR='" + place.directory + "' libcoll info --choices ";
  EXPECT_TRUE(contains(shell(in + "ring:3").out, "ring:3, 3 ranks on 3 nodes over ucx, MPICH_4: α = 1500 ns"));
  EXPECT_TRUE(contains(shell(in + "ring:4").out, "nothing is kept yet"));
  const Json set = Json::parse(shell("LIBCOLL_ALLREDUCE=native " + in + "ring:3 --json").out)["choices"]["jobs"][0];
  EXPECT_EQ(set["choices"].dump(), R"([{"call":"allreduce","from":"setting","in_flight":null,"segment_bytes":null,)"
                                   R"("up_to_bytes":null,"use":"native"}])");
  write("tuning.toml", "[[choice]]\ncall = \"alltoall\"\nup_to = 99\nuse = \"native\"\n");
  const std::string tuned = shell("LIBCOLL_TUNING_TABLE='" + path("tuning.toml") + "' " + in + "ring:3").out;
  for (const char* part : {"alltoall  99 ", "tuning table\n", "direct", "built in\n"}) {
    EXPECT_TRUE(contains(tuned, part)) << tuned;
  }
  EXPECT_FALSE(contains(tuned, "cost model")) << tuned;
  write("cache/choices-" + place.topology + "-3-3-ucx-MPICH_4.toml", "[[choice");
  EXPECT_TRUE(contains(shell(in + "ring:3").err, "warning"));
}

TEST_F(Command, InfoShowsValuesInForceAndWarns) {
  const Outcome outcome = shell("LIBCOLL_IN_FLIGHT=3 LIBCOLL_TOPOLGY=x libcoll info --config --json");
  EXPECT_TRUE(contains(outcome.err, "did you mean LIBCOLL_TOPOLOGY?"));
  const Json parsed = Json::parse(outcome.out);
  const auto in_flight = std::find_if(parsed["settings"].begin(), parsed["settings"].end(),
                                      [](const Json& setting) { return setting["name"] == "in_flight"; });
  ASSERT_NE(in_flight, parsed["settings"].end());
  EXPECT_EQ((*in_flight)["value"], "3");
  EXPECT_EQ((*in_flight)["default"], "8");
}

// ---- report ---------------------------------------------------------------------------------------------------

TEST_F(Command, ReportListsWhatThereIs) {
  const Json reports = json("report")["reports"];
  std::vector<std::string> known;
  for (const Json& report : reports) known.push_back(report["report"]);
  for (const char* name : {"fig7", "fig8", "fig9", "fig10", "section5.2"}) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
    EXPECT_TRUE(contains(libcoll("report").out, name));
  }
  for (const char* paper : {"000", "001", "002", "003", "004"}) {
    EXPECT_TRUE(std::any_of(reports.begin(), reports.end(), [&](const Json& report) {
      return report["paper"] == paper;
    })) << paper;
  }
  std::sort(known.begin(), known.end());
  EXPECT_EQ(std::adjacent_find(known.begin(), known.end()), known.end());
  EXPECT_TRUE(contains(libcoll("report --help").out, "harvest-fig5"));
}

TEST_F(Command, ReportsStandBesideThePaper) {
  for (const char* name : {"fig8", "fig9", "fig10"}) {
    const Json report = json(std::string("report --size small ") + name);
    expect_fields(report, {"report", "paper", "what", "figure", "rows", "seconds"});
    ASSERT_FALSE(report["rows"].empty()) << name;
    for (const Json& row : report["rows"]) {
      expect_fields(row, {"paper_says", "paper_least", "paper_most", "difference", "why"});
      ASSERT_FALSE(row[report["figure"]].is_null()) << row.dump();
      EXPECT_GE(row[report["figure"]].get<double>(), 1 - 1e-9) << row.dump();  // no less than optimum or bound
      if (row["difference"].is_number() && row["difference"] != 0.0) {
        EXPECT_NE(row["why"], "") << row.dump();
      }
    }
    EXPECT_TRUE(contains(libcoll(std::string("report --size small ") + name).out, "paper 003"));
  }
}

TEST_F(Command, ReportOfSomeAlgorithmsOnly) {
  const Json report = json("report --size small fig7 --limit 60 --only 'sssp,p-mcf disjoint'");
  std::vector<std::string> planned;
  for (const Json& row : report["rows"]) {
    if (!row["plan_seconds"].is_null()) planned.push_back(row["algorithm"]);
  }
  EXPECT_EQ(planned, (std::vector<std::string>{"sssp", "sssp", "p-mcf disjoint", "p-mcf disjoint"}));
}

TEST_F(Command, ReportOfTheTestbedHasThePapersFigures) {
  // Paper 003 §5.2: F = 2/27, 6.01 GB/s; 1/9 where NICs forward; SSSP 30 % worse on the punctured torus.
  const Json report = json("report section5.2 --size small");
  std::map<std::string, double> figures;
  for (const Json& row : report["rows"]) {
    figures[row["what"].get<std::string>() + " " + row["fabric"].get<std::string>() + " " +
            row["algorithm"].get<std::string>()] = row["figure"].get<double>();
  }
  EXPECT_NEAR(figures["F 3x3x3 torus, hosts forward at 100 Gbit/s mcf-link"], 2.0 / 27, 1e-9);
  EXPECT_NEAR(figures["(N-1)Fb in GB/s 3x3x3 torus, hosts forward at 100 Gbit/s mcf-link"], 26 * 2.0 / 27 * 3.125,
              1e-6);
  EXPECT_NEAR(figures["F 3x3x3 torus, NICs forward mcf-path"], 1.0 / 9, 1e-9);
  EXPECT_GE(figures["time over MCF, mean 3x3x3 torus less 3 cables sssp"], 1.3);
}

TEST_F(Command, ReportsOfBroadcastPapersAreWhole) {
  const Json list = json("report")["reports"];
  for (const Json& entry : list) {
    if (entry["paper"] == "003") continue;
    const Json& report = small_report(entry["report"]);
    SCOPED_TRACE(entry["report"]);
    EXPECT_EQ(report["paper"], entry["paper"]);
    EXPECT_NE(report["note"], "");
    ASSERT_FALSE(report["rows"].empty());
    for (const Json& row : report["rows"]) {
      EXPECT_FALSE(row[report["figure"]].is_null()) << row.dump();
      EXPECT_FALSE(contains(row["why"].get<std::string>(), "FAULTY")) << row.dump();
      if (row["difference"].is_number() && row["difference"] != 0.0) {
        EXPECT_NE(row["why"], "") << row.dump();
      }
    }
  }
}

TEST_F(Command, ReportsThatAreTheoremsAgreeWithThePaperEverywhere) {
  // Paper 000 Table 5 and Figure 10 (optimal in T_L and T_B), Table 8 (N, T_L, both Moore bounds), Figure 3 (at most
  // 1 + 1/(N(d-1)) of the optimum); paper 002 Table 1 (4x 4x 0, 2x 2x 1x, 1x 1x 2x).
  for (const char* name :
       {"bfb-table5", "bfb-fig10", "bfb-table8", "bfb-fig3", "harvest-table1", "forestcoll-allreduce-lp"}) {
    const Json& report = small_report(name);
    EXPECT_GE(report["rows"].size(), 6U) << name;
    for (const Json& row : report["rows"]) EXPECT_EQ(row["difference"], 0.0) << name << row.dump();
  }
}

TEST_F(Command, ReportsHaveThePapersFigures) {
  struct Expected {
    const char* report;
    std::vector<std::pair<const char*, Json>> row;  ///< by its columns
    double figure;
    double rounding;
  };
  const std::vector<Expected> all = {
      // Paper 000 Table 4.
      {"bfb-table4", {{"steps", 5}, {"what", "allreduce"}, {"topology", "genkautz:1024,4"}}, 323.5, 0.05},
      {"bfb-table4", {{"steps", 6}, {"what", "allreduce"}}, 291.0, 0.05},
      {"bfb-table4", {{"steps", 8}, {"what", "allreduce"}}, 328.4, 0.05},
      {"bfb-table4", {{"topology", "(theoretical bound)"}, {"what", "all-to-all"}}, 382.3, 0.05},
      // Paper 001: message-based flow control gains 6 %; RING and MULTITREE are the same on switches (§VI-A).
      {"multitree-ratios", {{"fast", "MULTITREEMSG"}, {"slow", "MULTITREE"}}, 1.06, 0.005},
      {"multitree-ratios", {{"fabric", "fat_tree:8,2"}, {"slow", "RING"}}, 1, 0.02},
      // Paper 002 §6.2: 1 GB with 10 us.
      {"harvest-section6.2", {{"collective", "recursive doubling"}, {"least_bytes", 1 << 30}}, 3.0, 0.05},
      {"harvest-section6.2", {{"collective", "swing"}, {"least_bytes", 1 << 30}}, 3.1, 0.05},
      {"harvest-section6.2", {{"collective", "all-to-all"}, {"least_bytes", 1 << 30}}, 30, 0.5},
      // Paper 004 §5.3 and §4.5.
      {"forestcoll-optima", {{"fabric", "A100 2x8"}, {"what", "1/x* = 15/325"}}, 15.0 / 325, 1e-9},
      {"forestcoll-optima", {{"fabric", "A100 2x8"}, {"what", "allgather, optimum"}}, 346.67, 0.005},
      {"forestcoll-optima", {{"fabric", "MI250 16+16"}, {"what", "allgather, optimum"}}, 354.13, 0.005},
      {"forestcoll-optima", {{"what", "allgather, 2 trees per root"}}, 341.33, 0.005},
      // The cuts around a box, 12 shards over 40 GB/s, and through the trunk, 8 over 4.
      {"forestcoll-hybrid", {{"fabric", "two levels 4x4"}, {"what", "1/x*"}}, 12.0 / 40, 1e-12},
      {"forestcoll-hybrid", {{"fabric", "pods 2x2x4"}, {"what", "1/x*"}}, 8.0 / 4, 1e-12},
      {"forestcoll-hybrid", {{"fabric", "A100 2x8"}, {"what", "trees"}}, 16 * 13, 0},
      // A vector round a ring of five, both ways at once: 2 · 4/5 of it.
      {"forestcoll-allreduce-lp", {{"fabric", "ring:5"}}, 1.6, 1e-12},
      {"forestcoll-optima", {{"what", "rings through every NIC, time over the optimum at least"}}, 1.625, 5e-4}};
  for (const Expected& expected : all) {
    const Json& report = small_report(expected.report);
    const Json& rows = report["rows"];
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Json& candidate) {
      return std::all_of(expected.row.begin(), expected.row.end(),
                         [&](const auto& cell) { return candidate[cell.first] == cell.second; });
    });
    ASSERT_NE(row, rows.end()) << expected.report << " " << expected.row.front().second;
    EXPECT_NEAR((*row)[report["figure"]].get<double>(), expected.figure, expected.rounding) << row->dump();
  }
}

TEST_F(Command, ReportSaysWhatThereWasNoTimeFor) {
  const Json report = json("report fig7 --size small --time-limit 0.5");
  bool stopped = false;
  for (const Json& row : report["rows"]) {
    if (!row["plan_seconds"].is_null()) continue;
    EXPECT_NE(row["why"], "") << row.dump();
    stopped = stopped || contains(row["why"].get<std::string>(), "no time");
  }
  EXPECT_TRUE(stopped);
}

// ---- help -----------------------------------------------------------------------------------------------------

TEST_F(Command, HelpIsGood) {
  for (const char* sub : {"", "topo", "plan", "harvest", "verify", "info", "run"}) {
    const Outcome help = libcoll(std::string(sub) + " --help");
    EXPECT_EQ(help.code, 0) << sub;
    EXPECT_TRUE(contains(help.out, "Usage: libcoll")) << sub;
    EXPECT_EQ(help.err, "") << sub;
  }
  EXPECT_TRUE(contains(libcoll("plan --help").out, "circulant:12,2,3"));
  EXPECT_TRUE(contains(libcoll("plan --help").out, "mcf-path"));
}

std::string manual_page(const std::string& name) { return read_file(LIBCOLL_MANUAL_PAGES "/" + name); }

/// As a page writes it: "\-\-json".
std::string in_roff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

/// Words that begin with "--" at the start of a line of --help.
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  --")) continue;
    options.push_back(line.substr(2, line.find_first_of(" {=,", 2) - 2));
  }
  return options;
}

/// The names in the section Subcommands of --help.
std::vector<std::string> subcommands_in(const std::string& help) {
  std::vector<std::string> names;
  const std::size_t begin = help.find("\nSubcommands:\n");
  if (begin == std::string::npos) return names;
  std::istringstream lines(help.substr(begin + std::string_view("\nSubcommands:\n").size()));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
    if (line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST_F(Command, ManualHasEverySubcommandAndOption) {
  const std::string overview = manual_page("libcoll.1");
  const std::vector<std::string> subcommands = subcommands_in(libcoll("--help").out);
  ASSERT_GE(subcommands.size(), 10U);
  for (const std::string& sub : subcommands) {
    EXPECT_TRUE(contains(overview, "libcoll\\-" + sub)) << sub;
    const std::string page = manual_page("libcoll-" + sub + ".1");
    std::vector<std::string> calls = {sub};
    for (const std::string& below : subcommands_in(libcoll(sub + " --help").out)) {
      calls.push_back(sub);
      calls.back().append(" ").append(below);
    }
    for (const std::string& call : calls) {
      EXPECT_TRUE(contains(page, call)) << call;
      for (const std::string& option : options_in(libcoll(call + " --help").out)) {
        EXPECT_TRUE(contains(page, "\\fB" + in_roff(option) + "\\fR")) << call << " " << option;
      }
    }
  }
  const std::string plan = manual_page("libcoll-plan.1");
  for (const PlannerOptionRecord& record : planner_option_records()) {
    EXPECT_TRUE(contains(plan, "\\fB" + in_roff(std::string(record.flag)) + "\\fR")) << record.flag;
  }
  for (const auto table : {broadcast_planners(), flow_planners(), reconfigure_planners()}) {
    for (const Planner& planner : table) {
      EXPECT_TRUE(contains(plan, "\\fB" + in_roff(std::string(planner.name)) + "\\fR")) << planner.name;
    }
  }
}

TEST_F(Command, ManualHasEverySetting) {
  const std::string page = manual_page("libcoll-runtime.7");
  for (const Setting& setting : settings()) {
    std::string variable = "LIBCOLL_" + std::string(setting.name);
    std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) { return std::toupper(c); });
    EXPECT_TRUE(contains(page, "\n\\fB" + variable + "\\fR\n")) << variable;
  }
}

TEST_F(Command, ManualHasEveryField) {
  ASSERT_EQ(libcoll("plan ring:4 allgather --output plan.xml").code, 0);
  for (const char* call : {"topo ring:4", "topo find --nodes 6 --degree 2 --alltoall 1", "plan ring:4 alltoall",
                           "plan ring:4 allreduce --algorithm harvest", "plan ring:4 reduce --root 1",
                           "simulate plan.xml", "verify plan.xml", "harvest allreduce --nodes 4 --degree 1", "info"}) {
    const std::string line(call);
    const std::string page = manual_page("libcoll-" + line.substr(0, line.find(' ')) + ".1") +
                             (line.starts_with("verify") ? manual_page("libcoll-plan.1") : "");
    for (const std::string& field : names(json(line))) EXPECT_TRUE(contains(page, field)) << call << ": " << field;
  }
}

// A template that names what is not there is an error of its line.
TEST_F(Command, ManualRefusesUnknownEntries) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"a\n@OPTIONS plan\n@--no-such\n@END\n", "page.in:3: found '@--no-such'"},
           {"@OPTIONS conquer\n", "page.in:1: found '@OPTIONS conquer'"},
           {"@SETTINGS users\n", "expected @END"}}) {
    write("page.in", text);
    expect_refused("man page.in page", message);
  }
  EXPECT_EQ(libcoll("man page.in missing/page").code, 2);
}

// ---- tune -----------------------------------------------------------------------------------------------------

/// A launcher that prints a sweep's table instead of running it: the plan is faster from 16 bytes on.
constexpr const char* tuned = R"sh(#!/bin/sh
if [ -n "$LIBCOLL_TOPOLOGY" ]; then small=20 large=50; else small=10 large=100; fi
echo "# Sweep Latency, checked, 6 ranks (column format of the OSU micro-benchmarks)"
for size in 4 8 16 32; do
  if [ $size -lt 16 ]; then time=$small; else time=$large; fi
  echo "$size $time.0 1.0 200.0 50 10 10"
done
)sh";

TEST_F(Command, TuneWritesTheFasterOfTheTwo) {
  write("launcher", tuned);
  fs::permissions(path("launcher"), fs::perms::owner_all);
  const Outcome outcome = libcoll(
      "tune --topology ring:6 --calls alltoall --program sweep --library libcoll_fake.so --output tuned.toml "
      "-- ./launcher");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const TuningTable table = load_tuning_table(path("tuned.toml")).value();
  const TuningTable expected{{{CallKind::alltoall, 6, 8, true, 0},
                              {CallKind::alltoall, 6, std::numeric_limits<std::int64_t>::max(), false, 0}},
                             std::nullopt};
  EXPECT_EQ(table, expected) << outcome.out;
}

/// A launcher that knows what it was told: ring is faster below 64 KiB, at 32 KiB even more so with two messages in
/// flight; so it says at 4 bytes, where that cannot be.
constexpr const char* tuned_by_planner = R"sh(#!/bin/sh
echo "# Sweep Latency, checked, 6 ranks (column format of the OSU micro-benchmarks)"
for size in 4 32768 65536 131072; do
  time=50
  if [ -z "$LIBCOLL_TOPOLOGY" ]; then time=90; fi
  if [ "$LIBCOLL_ALLREDUCE" = ring ]; then
    if [ $size -lt 65536 ]; then time=30; else time=60; fi
    if [ $size -lt 65536 ] && [ "$LIBCOLL_IN_FLIGHT" = 2 ]; then time=20; fi
  elif [ $size = 131072 ] && [ "$LIBCOLL_SEGMENT_BYTES" = 32768 ]; then time=40; fi
  echo "$size $time.0 1.0 200.0 50 10 10"
done
)sh";

TEST_F(Command, TuneTriesPlannersThenHowTheyAreRun) {
  write("launcher", tuned_by_planner);
  fs::permissions(path("launcher"), fs::perms::owner_all);
  const Outcome outcome = libcoll(
      "tune --topology ring:6 --calls allreduce --algorithms ring,bfb,mcf-link --segments 32K --in-flight 2 "
      "--repetitions 1 --program sweep --library libcoll_fake.so --output tuned.toml -- ./launcher");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto choice = [](std::int64_t up_to, std::string_view algorithm, std::int64_t segment, std::int64_t in_flight) {
    TuningChoice result{CallKind::allreduce, 6, up_to, false, segment};
    result.algorithm = PlannerName(algorithm);
    result.in_flight = in_flight;
    return result;
  };
  const TuningTable expected{{choice(4, "ring", 0, 0), choice(32768, "ring", 0, 2), choice(65536, "", 0, 0),
                              choice(std::numeric_limits<std::int64_t>::max(), "", 32768, 0)},
                             std::nullopt};
  EXPECT_EQ(load_tuning_table(path("tuned.toml")).value(), expected) << outcome.out;

  const Outcome unknown = libcoll("tune --topology ring:6 --algorithms rong --program sweep -- ./launcher");
  EXPECT_NE(unknown.code, 0);
  EXPECT_TRUE(contains(unknown.err, "found 'rong' in --algorithms")) << unknown.err;
}

// ---- run ------------------------------------------------------------------------------------------------------

/// Runs need a library to preload. An empty file will do where the command is no MPI program: the dynamic linker
/// complains about it on stderr and goes on.
constexpr const char* fake = "run --library libcoll_fake.so --topology ring:2 ";

TEST_F(Command, RunPassesTheExitCodeThrough) {
  EXPECT_EQ(libcoll(std::string(fake) + "-- sh -c 'exit 7'").code, 7);
  EXPECT_EQ(libcoll(std::string(fake) + "-- true").code, 0);
  EXPECT_EQ(libcoll(std::string(fake) + "-- sh -c 'kill -TERM $$'").code, 128 + SIGTERM);
  const Outcome absent = libcoll(std::string(fake) + "-- ./no-such-program");
  EXPECT_EQ(absent.code, 127);
  EXPECT_TRUE(contains(absent.err, "no-such-program"));
}

TEST_F(Command, RunPassesArgumentsAsTheyAre) {
  const Outcome outcome = libcoll(std::string(fake) + "-- printf '%s|' '[a,b]' -- --json '' 'x y' --topology");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "[a,b]|--|--json||x y|--topology|");
}

TEST_F(Command, RunSetsTheEnvironment) {
  write("two.toml", "generator = \"ring:2\"\n");
  const Outcome outcome = shell(
      "LD_PRELOAD=other.so libcoll run --library libcoll_fake.so --topology two.toml --stats --log-level error "
      "--cache-dir plans -- env");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string lines = "\n" + outcome.out;
  EXPECT_TRUE(contains(lines, "\nLIBCOLL_TOPOLOGY=" + path("two.toml") + "\n")) << lines;
  EXPECT_TRUE(contains(lines, "\nLIBCOLL_COMMAND=" + fs::canonical(LIBCOLL_COMMAND).string() + "\n")) << lines;
  EXPECT_TRUE(contains(lines, "\nLIBCOLL_STATS=summary\n")) << lines;
  EXPECT_TRUE(contains(lines, "\nLIBCOLL_LOG_LEVEL=error\n")) << lines;
  EXPECT_TRUE(contains(lines, "\nLIBCOLL_CACHE_DIR=" + path("plans") + "\n")) << lines;
  EXPECT_TRUE(contains(lines, "\nLD_PRELOAD=" + path("libcoll_fake.so") + ":other.so\n")) << lines;

  const std::string plain = "\n" + libcoll(std::string(fake) + "--stats=json:s.json -- env").out;
  EXPECT_TRUE(contains(plain, "\nLIBCOLL_TOPOLOGY=ring:2\n")) << plain;
  EXPECT_TRUE(contains(plain, "\nLIBCOLL_STATS=json:s.json\n")) << plain;
  EXPECT_FALSE(contains(plain, "LIBCOLL_CACHE_DIR=")) << plain;
}

TEST_F(Command, RunHandsEverythingToTheRanksOfOpenMpi) {
  write("mpirun", "#!/bin/sh\necho \"preload=$LD_PRELOAD\"\nprintf '%s ' \"$@\"\n");
  chmod(path("mpirun").c_str(), 0755);
  fs::copy_file(path("mpirun"), path("mpiexec.openmpi"));
  const std::string library = path("libcoll_fake.so");
  const std::string options =
      "-x LD_PRELOAD=" + library + " -x LIBCOLL_IN_FLIGHT -x LIBCOLL_TOPOLOGY -x LIBCOLL_COMMAND ";
  for (const char* launcher : {"./mpirun", "./mpiexec.openmpi"}) {
    std::ostringstream line;
    line << "LIBCOLL_IN_FLIGHT=4 libcoll " << fake << "-- " << launcher << " -n 1 a : -n 1 b -x";
    const Outcome outcome = shell(line.str());
    std::ostringstream expected;
    expected << "preload=\n" << options << "-n 1 a : " << options << "-n 1 b -x ";
    EXPECT_EQ(outcome.out, expected.str()) << outcome.err;
  }
}

TEST_F(Command, RunHandsOnWhatTheUserTellsLibfabric) {
  write("mpirun", "#!/bin/sh\nprintf '%s ' \"$@\"\n");
  chmod(path("mpirun").c_str(), 0755);
  const std::string told = shell(std::string("FI_OFI_RXM_EAGER_LIMIT=4096 libcoll ") + fake + "-- ./mpirun -n 1 a").out;
  EXPECT_TRUE(contains(told, " -x FI_OFI_RXM_EAGER_LIMIT ")) << told;
}

TEST_F(Command, RunPlansOnceWhatTheProgramNeeds) {
  const std::string call = "run --library libcoll_fake.so --topology ring:4 -- true";
  ASSERT_EQ(libcoll(call).code, 0);
  const Topology ring = generate("ring:4").value();
  const std::string cache = path(".cache/libcoll");
  std::vector<fs::path> files;
  for (const Collective collective :
       {Collective::allgather, Collective::allreduce, Collective::alltoall, Collective::reduce_scatter}) {
    const auto cached = load_plan(cache, ring, collective, automatic_plan);
    ASSERT_TRUE(cached.ok()) << cached.error().message;
    ASSERT_TRUE(cached->has_value()) << to_string(collective);
    files.emplace_back(cache + "/" + plan_file_name(ring, collective, automatic_plan));
  }
  // A second run must leave the good plan alone and make the damaged and the missing one again.
  struct stat before {};
  ASSERT_EQ(stat(files[0].c_str(), &before), 0);
  std::ofstream(files[1]) << "damaged";
  fs::remove(files[2]);
  const Outcome again = libcoll(call);
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(contains(again.err, "planning again")) << again.err;
  struct stat after {};
  ASSERT_EQ(stat(files[0].c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(load_plan(cache, ring, Collective::allreduce, automatic_plan)->has_value());
  EXPECT_TRUE(load_plan(cache, ring, Collective::alltoall, automatic_plan)->has_value());
}

TEST_F(Command, RunPlansByTheConfiguredAlgorithmsOnly) {
  const std::string variables =
      "LIBCOLL_ALLGATHER=native LIBCOLL_REDUCE_SCATTER=native LIBCOLL_ALLREDUCE=nonsense LIBCOLL_ALLTOALL=mcf-link ";
  const Outcome outcome = shell(variables + "libcoll run --library libcoll_fake.so --topology ring:4 -- true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.err, "allreduce stays with MPI")) << outcome.err;
  const Topology ring = generate("ring:4").value();
  const std::string cache = path(".cache/libcoll");
  EXPECT_TRUE(load_plan(cache, ring, Collective::alltoall, "mcf-link")->has_value());
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), fs::directory_iterator()), 1);
}

TEST_F(Command, RunGoesOnWithoutACache) {
  const Outcome outcome =
      libcoll("run --library libcoll_fake.so --topology ring:4 --cache-dir /dev/null/x -- sh -c 'exit 3'");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "warning")) << outcome.err;
}

TEST_F(Command, RunForwardsSignalsAndWaitsForTheCommand) {
  // The inner shell makes itself known through a FIFO, then blocks on another until the forwarded signal ends it.
  ASSERT_EQ(mkfifo(path("ready").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(path("never").c_str(), 0600), 0);
  write("inner.sh", "trap 'echo caught; exit 5' TERM\nexec 3<>never\necho up > ready\nread line <&3\n");
  const Outcome outcome = shell("'" LIBCOLL_COMMAND "' " + std::string(fake) +
                                "--no-plan -- sh inner.sh & read up < ready; kill -TERM $!; wait $!");
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "caught"));
}

/// Of programs that a preloaded library cannot reach: without a dynamic linker (no PT_INTERP), with MPI's functions in
/// them, or with rights of their own (ld.so(8), secure-execution mode).
TEST_F(Command, RunSaysWhatCannotBeIntercepted) {
  const auto said = [&](const std::string& program) { return libcoll(std::string(fake) + "-- " + program).err; };
  EXPECT_FALSE(contains(said("true"), "intercepted"));
  EXPECT_TRUE(contains(said(LIBCOLL_STATIC_PROGRAM), "is linked statically: nothing of it can be intercepted"));
  EXPECT_TRUE(contains(said("env -i " LIBCOLL_STATIC_PROGRAM), "is linked statically"));
  EXPECT_TRUE(contains(said(LIBCOLL_STATIC_MPI_PROGRAM), "has MPI linked into it"));
  fs::copy_file("/bin/true", path("copy"));
  fs::permissions(path("copy"), fs::perms::set_uid, fs::perm_options::add);
  EXPECT_TRUE(contains(said("./copy"), "is set-user-ID"));
}

TEST_F(Command, RunFindsTheLibraryOfABuildTreeAndOfAnInstallation) {
  for (const char* folder : {"lib", "lib64", "lib/some-triplet"}) {
    const std::string prefix = path(std::string("prefix/") + folder);
    fs::create_directories(prefix);
    fs::create_directories(path("prefix/bin"));
    fs::copy_file(LIBCOLL_COMMAND, path("prefix/bin/libcoll"));
    std::ofstream(prefix + "/libcoll_pmpi.so").close();
    const Outcome outcome = shell("prefix/bin/libcoll run --no-plan --topology ring:2 -- env");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "LD_PRELOAD=" + prefix + "/libcoll_pmpi.so\n")) << outcome.out;
    fs::remove_all(path("prefix"));
  }
  fs::create_directories(path("prefix/bin"));
  fs::copy_file(LIBCOLL_COMMAND, path("prefix/bin/libcoll"));
  const Outcome without = shell("prefix/bin/libcoll run --no-plan --topology ring:2 -- env");
  EXPECT_EQ(without.code, 2);
  EXPECT_TRUE(contains(without.err, "--library")) << without.err;
}

}  // namespace
}  // namespace libcoll::command_test
