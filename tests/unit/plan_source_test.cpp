// Plans from wherever they can be had, and one reason where they cannot.
#include "libcoll/runtime/plan_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "libcoll/runtime/plan_cache.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"

namespace libcoll {
namespace {

class PlanSource : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-source-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    config_.cache_dir = directory_ + "/cache";
    config_.topology = "hypercube:2";
    config_.command = LIBCOLL_COMMAND;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// A program in the command's place.
  void set_command(const std::string& script) {
    config_.command = directory_ + "/command";
    std::ofstream(config_.command) << "#!/bin/sh\n" << script << "\n";
    chmod(config_.command.c_str(), 0700);
  }
  [[nodiscard]] std::string file(Collective collective) const {
    return config_.cache_dir + "/" + plan_file_name(topology_, collective, automatic_plan);
  }
  void expect_refused(Collective collective, const std::string& why,
                      std::chrono::seconds patience = std::chrono::seconds(100)) const {
    const Result<Schedule> plan = obtain_plan(config_, topology_, collective, patience);
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.error().message.find(why), std::string::npos) << plan.error().message;
  }
  void expect_served(Collective collective) const {
    const Result<Schedule> plan = obtain_plan(config_, topology_, collective);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->topology, topology_);
    EXPECT_EQ(verify(*plan), std::vector<std::string>{});
  }

  std::string directory_;
  Config config_;
  Topology topology_ = generate("hypercube:2").value();
};

TEST_F(PlanSource, WhatIsMadeIsKept) {
  expect_served(Collective::allreduce);
  expect_served(Collective::alltoall);
  EXPECT_TRUE(std::filesystem::exists(file(Collective::allreduce)));
  // From the cache alone.
  config_.command.clear();
  expect_served(Collective::alltoall);
}

TEST_F(PlanSource, ADamagedCacheIsPlannedAgain) {
  expect_served(Collective::allreduce);
  std::ofstream(file(Collective::allreduce)) << "<not a plan";
  expect_served(Collective::allreduce);
  const auto loaded = load_plan(config_.cache_dir, topology_, Collective::allreduce, automatic_plan);
  EXPECT_TRUE(loaded.ok() && loaded->has_value()) << "and mended";
}

TEST_F(PlanSource, ACacheThatCannotBeWrittenIsDoneWithout) {
  std::ofstream(directory_ + "/cache") << "a file where the directory should be";
  expect_served(Collective::allreduce);
  std::filesystem::remove(directory_ + "/cache");
  std::filesystem::create_directory(directory_ + "/cache");
  chmod((directory_ + "/cache").c_str(), 0777);
  expect_served(Collective::allreduce);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/cache")) << "others may write there";
}

TEST_F(PlanSource, TheCommandMayFailInAnyWay) {
  config_.command.clear();
  expect_refused(Collective::alltoall, "was not found");
  config_.command = directory_ + "/missing";
  expect_refused(Collective::alltoall, "cannot run");
  set_command("exit 3");
  expect_refused(Collective::alltoall, "exit code 3");
  set_command("kill -9 $$");
  expect_refused(Collective::alltoall, "exit code 137");
  set_command("echo nonsense");
  expect_refused(Collective::alltoall, "output of");
  set_command("exec " LIBCOLL_COMMAND " plan hypercube:3 alltoall --quiet --output -");
  expect_refused(Collective::alltoall, "for another topology");
  set_command("exec sleep 1000");
  expect_refused(Collective::alltoall, "took longer than 0 s", std::chrono::seconds(0));
}

/// As after links have died.
TEST_F(PlanSource, TheCommandIsToldOfTopologiesThatNobodyCanName) {
  Topology whole = generate("torus:3x3").value();
  std::vector<Link> links(whole.links().begin() + 1, whole.links().end());
  const auto nodes = whole.nodes();
  topology_ = Topology::make("without a link", {nodes.begin(), nodes.end()}, std::move(links)).value();
  config_.topology.clear();
  config_.alltoall = "mcf-link";
  expect_served(Collective::alltoall);
}

}  // namespace
}  // namespace libcoll
