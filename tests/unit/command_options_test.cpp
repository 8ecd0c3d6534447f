// What the command refuses: numbers that are none, options without meaning, disks that are full, files without end.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/reconfigure/planners.h"
#include "planner/registry/planner.h"
#include "planner/registry/planner_options.h"
#include "tests/unit/command_fixture.h"

namespace libcoll::command_options_test {

using namespace broadcast;
using namespace flow;
using namespace reconfigure;
using namespace registry;
using namespace schedule;
using namespace test;

namespace {

/// Every subcommand that prints, in its shortest form.
const std::vector<std::string>& printing_calls() {
  static const std::vector<std::string> calls = {"--help",
                                                 "--version",
                                                 "topo ring:4",
                                                 "topo ring:4 --json",
                                                 "topo find --nodes 4 --degree 2",
                                                 "plan ring:4 allgather",
                                                 "plan ring:4 allgather --json",
                                                 "plan --compare ring:4 allgather",
                                                 "plan ring:4 allgather --output -",
                                                 "plan ring:4 alltoall --forwarding-table -",
                                                 "verify good.xml",
                                                 "simulate good.xml",
                                                 "harvest allreduce --nodes 4 --degree 1",
                                                 "harvest allreduce --nodes 4 --degree 1 --output -",
                                                 "info",
                                                 "info --config",
                                                 "report",
                                                 "report bfb-table5 --size small",
                                                 "fabric list"};
  return calls;
}

TEST_F(Command, FullDiskIsAnErrorOfEveryCommand) {
  ASSERT_EQ(libcoll("plan ring:4 allgather --output good.xml").code, 0);
  for (const std::string& call : printing_calls()) {
    const Outcome outcome = shell("libcoll " + call + " >/dev/full");
    EXPECT_EQ(outcome.code, 2) << call;
    EXPECT_TRUE(contains(outcome.err, "cannot write to standard output")) << call << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find("libcoll: "), outcome.err.rfind("libcoll: ")) << call << ": " << outcome.err;
  }
}

TEST_F(Command, FullDiskIsAnErrorOfEveryFile) {
  for (const std::string call :
       {"plan ring:4 allgather --output /dev/full", "plan ring:4 alltoall --forwarding-table /dev/full",
        "harvest allreduce --nodes 4 --degree 1 --output /dev/full",
        "harvest allreduce --nodes 4 --degree 1 --heatmap /dev/full",
        "topo find --sweep 4 --degrees 2 --database /dev/full"}) {
    const Outcome outcome = libcoll(call);
    EXPECT_EQ(outcome.code, 2) << call;
    EXPECT_TRUE(contains(outcome.err, "/dev/full: cannot be written")) << call << ": " << outcome.err;
  }
}

TEST_F(Command, NumbersAreFiniteAndWithinBounds) {
  const std::string plan = "plan ring:4 alltoall ";
  for (const char* number : {"nan", "inf", "-inf", "-1", "1e999", "x", ""}) {
    for (const char* call : {"plan ring:4 alltoall --gap",
                             "plan ring:4 alltoall --time-limit",
                             "plan ring:4 alltoall --chunk-loss",
                             "plan ring:4 alltoall --algorithm fptas --epsilon",
                             "plan ring:4 alltoall --max-chunks",
                             "plan ring:4 alltoall --max-routes",
                             "plan ring:4 alltoall --steps",
                             "plan ring:4 alltoall --max-layers",
                             "plan ring:4 alltoall --threads",
                             "plan --compare ring:4 alltoall --size",
                             "topo find --nodes 4 --degree 2 --alltoall",
                             "topo find --nodes 4 --degree 2 --size",
                             "harvest allreduce --nodes 4 --degree 1 --time-limit",
                             "harvest allreduce --nodes 4 --degree 1 --exact",
                             "harvest allreduce --nodes 4 --degree 1 --size",
                             "harvest allreduce --nodes 4 --degree 1 --search",
                             "harvest broadcast --nodes 4 --degree 1 --root",
                             "report fig8 --size small --time-limit",
                             "report fig8 --size small --limit",
                             "simulate good.xml --size",
                             "simulate good.xml --segment",
                             "tune --segments",
                             "tune --in-flight",
                             "tune --margin",
                             "fabric watch --interval",
                             "fabric watch --count"}) {
      const std::string line = std::string(call) + " '" + number + "'";
      const Outcome outcome = libcoll(line);
      EXPECT_EQ(outcome.code, 2) << line;
      EXPECT_LT(outcome.err.size(), 200U) << line << ": " << outcome.err;
      EXPECT_EQ(outcome.out, "") << line;
    }
  }
  expect_refused(plan + "--gap nan", "--gap: found 'nan', expected a number from 0 to 1");
  expect_refused(plan + "--time-limit -1", "expected a number of seconds from 0 to 1e+09");
}

TEST_F(Command, ErrorsOfTheCommandLineAreJsonWhereThatIsAskedFor) {
  for (const char* call :
       {"plan ring:4 alltoall --gap 2", "plan ring:4 alltoall --no-such-option", "plan", "conquer",
        "topo find --nodes 4 --sweep 8 --database x", "verify", "simulate", "harvest --nodes 1", "info --layers 2",
        "report fig8 --size enormous", "tune --margin 2", "fabric", "fabric up"}) {
    const Json error = json(call, 2);
    ASSERT_TRUE(error.contains("error")) << call;
    EXPECT_FALSE(contains(error["error"].get<std::string>(), "\n")) << call << ": " << error["error"];
  }
}

// The list that a planner declares is what it takes, and no more.
TEST_F(Command, PlannersTakeWhatTheyDeclare) {
  const std::vector<std::string> given = {"--max-chunks 4",
                                          "--chunk-loss 0.5",
                                          "--max-routes 2",
                                          "--gap 0.1",
                                          "--paths shortest",
                                          "--steps 40",
                                          "--epsilon 0.1",
                                          "--trees 1",
                                          "--layer-method lash",
                                          "--max-layers 8",
                                          "--class-loss 0.1",
                                          "--max-classes 4",
                                          "--no-symmetry",
                                          "--demand demand.csv",
                                          "--forwarding-table table",
                                          "--staging bruck",
                                          "--size 1MiB",
                                          "--alpha 1us",
                                          "--reconfiguration 1us"};
  ASSERT_EQ(given.size(), planner_option_records().size());
  write("demand.csv", "0,1,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n");
  for (const auto table : {broadcast_planners(), flow_planners(), reconfigure_planners()}) {
    for (const Planner& planner : table) {
      // One planner of each name and list is enough.
      if (planner.collective != Collective::allgather && planner.collective != Collective::alltoall) continue;
      if (planner.collective == Collective::allgather && planner.name != "bfb" && planner.name != "forestcoll" &&
          planner.name != "ring" && planner.name != "harvest") {
        continue;
      }
      for (std::size_t i = 0; i < given.size(); ++i) {
        const PlannerOptionRecord& record = planner_option_records()[i];
        const std::string flag(record.flag);
        ASSERT_TRUE(given[i].starts_with(flag)) << given[i];
        const std::string line = "plan ring:4 " + std::string(to_string(planner.collective)) + " --algorithm " +
                                 std::string(planner.name) + " " + given[i];
        const Outcome outcome = libcoll(line);
        if (takes(planner, record.option)) {
          EXPECT_FALSE(contains(outcome.err, "does not take")) << line << ": " << outcome.err;
        } else {
          EXPECT_EQ(outcome.code, 2) << line;
          EXPECT_TRUE(contains(outcome.err, flag)) << line << ": " << outcome.err;
        }
      }
    }
  }
}

TEST_F(Command, HelpOfAPlannerIsItsEntryInTheTable) {
  const std::string general = libcoll("plan --help").out;
  for (const PlannerOptionRecord& record : planner_option_records()) {
    const bool of_compare = record.option == PlannerOption::size;
    EXPECT_EQ(contains(general, "\n  " + std::string(record.flag) + " "), of_compare) << record.flag;
  }
  for (const auto table : {broadcast_planners(), flow_planners(), reconfigure_planners()}) {
    for (const Planner& planner : table) {
      const std::string call = "plan --help --algorithm " + std::string(planner.name);
      const std::string help = libcoll(call).out;
      EXPECT_TRUE(contains(help, std::string(planner.text))) << call;
      EXPECT_FALSE(contains(help, "--time-limit")) << call << " has general options";
      for (const TakenOption& taken : planner.options) {
        const std::size_t at = help.find("\n  " + std::string(record_of(taken.option).flag));
        ASSERT_NE(at, std::string::npos) << call << ": " << record_of(taken.option).flag;
        const std::string line = help.substr(at + 1, help.find('\n', at + 1) - at);
        EXPECT_TRUE(contains(line, bounds_text(taken))) << line;
      }
      for (const PlannerOptionRecord& record : planner_option_records()) {
        const auto same_name = [&](const Planner& other) {
          return other.name == planner.name && takes(other, record.option);
        };
        const bool taken = std::any_of(broadcast_planners().begin(), broadcast_planners().end(), same_name) ||
                           std::any_of(flow_planners().begin(), flow_planners().end(), same_name) ||
                           takes(planner, record.option);
        EXPECT_EQ(contains(help, "\n  " + std::string(record.flag) + " "), taken) << call << ": " << record.flag;
      }
    }
  }
  EXPECT_TRUE(contains(libcoll("plan --help --algorithm fptas").out, "(0 to 0.5)"));
  EXPECT_EQ(libcoll("plan --help --algorithm nobody").out, general);
}

TEST_F(Command, OptionsWithoutMeaningAreRefused) {
  expect_refused("plan ring:4 allgather --gap 0.1 --algorithm ring", "planner \"ring\" does not take --gap");
  expect_refused("plan ring:4 allgather --forwarding-table x --algorithm bfb", "does not take --forwarding-table");
  expect_refused("plan ring:4 allgather --forwarding-table x --algorithm ring", "has no routes");
  expect_refused("plan --compare ring:4 allgather --gap 0.1", "none of the planners for allgather takes --gap");
  expect_refused("plan ring:4 alltoall --algorithm fptas --epsilon 0.9", "expected from 0 to 0.5");
  expect_refused("plan ring:4 allgather --cache-dir x", "--cache-dir needs --cache");
  expect_refused("plan ring:4 alltoall --output - --forwarding-table -", "cannot both go to standard output");
  const Outcome table = libcoll("plan ring:4 alltoall --forwarding-table - --json");
  EXPECT_FALSE(Json::parse(table.out, nullptr, false).is_object()) << "the figures are on stderr";
  EXPECT_EQ(Json::parse(table.err)["collective"], "alltoall");
  expect_refused("harvest alltoall --nodes 4 --degree 1 --output - --heatmap -", "cannot both go to standard output");
  expect_refused("plan --compare ring:4 alltoall --demand x", "--demand");
  expect_refused("harvest allreduce --nodes 4 --degree 1 --sizes 1KiB", "--heatmap");
  expect_refused("harvest allreduce --nodes 4 --degree 1 --seed 2", "--search");
  expect_refused("harvest allreduce --nodes 4 --degree 1 --max-chunks 2", "--output");
  expect_refused("harvest --schedule x --nodes 4 --degree 1", "--nodes");
  expect_refused("harvest allreduce --topology ring:4 --bandwidth 1Gbps", "--bandwidth");
  expect_refused("harvest allreduce --nodes 4 --degree 1 --ports 2", "\"recursive-doubling\" does not take --ports");
  expect_refused("harvest alltoall --nodes 4 --degree 1 --dimensions 2,2", "does not take --dimensions");
  expect_refused("topo find --nodes 4 --degree 2 --degrees 2", "--sweep");
  expect_refused("topo find --sweep 8 --database x --nodes 4", "--nodes");
  expect_refused("topo ring:4 find --nodes 4 --degree 2", "ring:4");
  expect_refused("info --layers 2", "--memory");
  expect_refused("info --memory ring:3 --algorithms", "--algorithms");
  expect_refused("report --threads 2", "name");
  expect_refused("report bfb-table5 --limit 2", "does not take --limit");
  expect_refused("report fig8 --only sssp", "does not take --only");
  expect_refused("report fig7 --only nonsense", "found 'nonsense'");
  expect_refused("simulate x --lockstep --segment 1KiB", "--segment");
  expect_refused("fabric down --all --name x", "--all");
}

TEST_F(Command, GeneralizedKautzOfImpossibleDegreeIsRefused) {
  expect_refused("topo genkautz:5,9", "found degree 9, expected from 1 to N-1");
  EXPECT_EQ(json("topo genkautz:5,4")["degree_max"], 4);
}

TEST_F(Command, ReadersRefuseWhatHasNoEnd) {
  for (const char* call : {"verify /dev/zero", "simulate /dev/zero", "topo /dev/zero", "harvest --schedule /dev/zero",
                           "plan ring:4 alltoall --demand /dev/zero", "plan /dev/zero alltoall",
                           "topo find --nodes 4 --degree 2 --database /dev/zero"}) {
    expect_refused(call, "device");
  }
  ASSERT_EQ(shell("truncate -s 2G huge.xml").code, 0);
  expect_refused("verify huge.xml", "larger than 1024 MiB");
  expect_refused("topo ./huge.xml", "larger than 256 MiB");
  expect_refused("plan ring:4 alltoall --demand huge.xml", "larger than 256 MiB");
  // A pipe has no length before it ends.
  const Outcome piped = shell("head -c 300000000 /dev/zero | libcoll topo /dev/stdin");
  EXPECT_EQ(piped.code, 2);
  EXPECT_TRUE(contains(piped.err, "larger than 256 MiB")) << piped.err;
  ASSERT_EQ(libcoll("plan ring:4 allgather --output good.xml").code, 0);
  EXPECT_EQ(shell("cat good.xml | libcoll verify -").code, 0);
  EXPECT_EQ(shell("cat good.xml | libcoll verify /dev/stdin").code, 0);
}

}  // namespace
}  // namespace libcoll::command_options_test
