// The plan cache: what goes in comes out, and nothing foreign, damaged or untrusted does.
#include "libcoll/plan/plan_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::plan_cache_test {

using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

Topology pair(std::int64_t bandwidth = default_bandwidth_bytes_per_second) {
  return Topology::make("pair", {{"a", "host-a"}, {"b", "host-b"}}, {{0, 1, bandwidth}, {1, 0, bandwidth}}).value();
}

/// The one possible allgather of two nodes: each sends its shard. T_B = d/N · load = 1/2 = (N−1)/N.
Schedule exchange(const std::string& algorithm = "bfb") {
  Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.algorithm = algorithm;
  schedule.topology = pair();
  schedule.steps = 1;
  schedule.transfers = {{0, 0, 1, 0, 1}, {1, 0, 1, 1, 0}};
  schedule.proof = {Rational(1, 2), Rational(1, 2), Rational(1)};
  return schedule;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class PlanCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-cache-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    directory_ = parent_ + "/new/cache";
    ASSERT_TRUE(verify(exchange()).empty()) << verify(exchange()).front();
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  void store() const {
    const Status stored = store_plan(directory_, exchange());
    ASSERT_TRUE(stored.ok()) << stored.error().message;
  }
  [[nodiscard]] Result<std::optional<Schedule>> load() const {
    return load_plan(directory_, pair(), Collective::allgather, "bfb");
  }
  [[nodiscard]] std::string path() const {
    return directory_ + "/" + plan_file_name(pair(), Collective::allgather, "bfb");
  }
  void expect_refused(const std::string& why) const {
    const Result<std::optional<Schedule>> loaded = load();
    ASSERT_FALSE(loaded.ok());
    EXPECT_TRUE(contains(loaded.error().message, why)) << loaded.error().message;
    EXPECT_TRUE(contains(loaded.error().message, directory_)) << loaded.error().message;
  }

  std::string parent_;
  std::string directory_;
};

TEST_F(PlanCache, AnAbsentCacheOrPlanIsNoError) {
  ASSERT_TRUE(load().ok());
  EXPECT_FALSE(load()->has_value());
  store();
  const auto other = load_plan(directory_, pair(), Collective::allreduce, "bfb");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->has_value());
}

/// For what is measured where no plan is made.
TEST_F(PlanCache, IsMadeWithoutAPlan) {
  EXPECT_TRUE(make_cache(directory_).ok());
  EXPECT_TRUE(make_cache(directory_).ok());
  struct stat status = {};
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  std::ofstream(parent_ + "/file") << "no directory";
  EXPECT_FALSE(make_cache(parent_ + "/file").ok());
  EXPECT_FALSE(make_cache("").ok());
}

TEST_F(PlanCache, WhatWasStoredIsLoaded) {
  store();
  const Result<std::optional<Schedule>> loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(loaded->has_value());
  EXPECT_EQ(**loaded, exchange());
}

TEST_F(PlanCache, LeavesNothingButThePlanForThisUserOnly) {
  store();
  store();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{plan_file_name(pair(), Collective::allgather, "bfb")});
  struct stat facts {};
  ASSERT_EQ(stat(directory_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(PlanCache, ReadersNeverSeeHalfAPlanWhileWritersReplaceIt) {
  store();
  std::vector<std::thread> writers;
  writers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    writers.emplace_back([this] {
      for (int k = 0; k < 50; ++k) EXPECT_TRUE(store_plan(directory_, exchange()).ok());
    });
  }
  for (int k = 0; k < 100; ++k) {
    const Result<std::optional<Schedule>> loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    ASSERT_TRUE(loaded->has_value());
  }
  for (std::thread& writer : writers) writer.join();
}

/// What a child process finds, which may give up rights of its own.
bool in_child(const std::function<bool()>& good) {
  const pid_t child = fork();
  if (child == 0) _exit(good() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(PlanCache, JobsShareIt) {
  std::vector<pid_t> jobs;
  for (int i = 0; i < 4; ++i) {
    const pid_t job = fork();
    ASSERT_GE(job, 0);
    if (job == 0) {
      bool good = true;
      for (int k = 0; k < 50; ++k) {
        good = good && store_plan(directory_, exchange()).ok();
        const Result<std::optional<Schedule>> loaded = load();
        good = good && loaded.ok() && loaded->has_value() && **loaded == exchange();
      }
      _exit(good ? 0 : 1);
    }
    jobs.push_back(job);
  }
  for (const pid_t job : jobs) {
    int status = 1;
    ASSERT_EQ(waitpid(job, &status, 0), job);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1) << "temporary files are left";
}

TEST_F(PlanCache, VersionsHaveFilesOfTheirOwn) {
  const std::string mine = plan_file_name(pair(), Collective::allgather, "bfb");
  EXPECT_EQ(mine, plan_file_name(pair(), Collective::allgather, "bfb", LIBCOLL_VERSION));
  EXPECT_NE(mine, plan_file_name(pair(), Collective::allgather, "bfb", LIBCOLL_VERSION ".1"));
}

TEST_F(PlanCache, AFullDiskLeavesNothingBehind) {
  store();
  EXPECT_TRUE(in_child([this] {
    const rlimit nothing{16, 16};
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &nothing) != 0) return false;
    const Status stored = store_plan(directory_, exchange());
    return !stored.ok() && contains(stored.error().message, "cannot be written");
  }));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
  EXPECT_TRUE(load().ok() && load()->has_value()) << "the old plan is whole";
}

/// Root may write anywhere: the child is somebody else.
TEST_F(PlanCache, AReadOnlyDirectoryIsReadAndNotWritten) {
  store();
  constexpr uid_t nobody = 65534;
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chmod(parent_.c_str(), 0755), 0);
    ASSERT_EQ(chmod((parent_ + "/new").c_str(), 0755), 0);
    ASSERT_EQ(chown(path().c_str(), nobody, nobody), 0);
    ASSERT_EQ(chown(directory_.c_str(), nobody, nobody), 0);
  }
  ASSERT_EQ(chmod(directory_.c_str(), 0500), 0);
  EXPECT_TRUE(in_child([&] {
    if (root && setuid(nobody) != 0) return false;
    const Status stored = store_plan(directory_, exchange());
    return !stored.ok() && contains(stored.error().message, "cannot be created") && load().ok() && load()->has_value();
  }));
  chmod(directory_.c_str(), 0700);
}

TEST_F(PlanCache, NothingOfOtherUsersIsTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  store();
  constexpr uid_t somebody = 12345;
  ASSERT_EQ(chown(path().c_str(), somebody, somebody), 0);
  expect_refused("belongs to another user");
  ASSERT_EQ(chown(path().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(directory_.c_str(), somebody, somebody), 0);
  expect_refused("belongs to another user");
  // Nor when a link of ours leads there.
  const std::string link = parent_ + "/link";
  std::filesystem::create_directory_symlink(directory_, link);
  EXPECT_FALSE(load_plan(link, pair(), Collective::allgather, "bfb").ok());
  EXPECT_FALSE(store_plan(link, exchange()).ok());
}

TEST_F(PlanCache, TheSameWiringUnderOtherNamesSharesThePlan) {
  store();
  const Topology renamed = Topology::make("other", {{"x", ""}, {"y", ""}}, {{0, 1}, {1, 0}}).value();
  const Result<std::optional<Schedule>> loaded = load_plan(directory_, renamed, Collective::allgather, "bfb");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(loaded->has_value());
  EXPECT_EQ((*loaded)->topology, renamed);
  EXPECT_TRUE(verify(**loaded).empty());
}

TEST_F(PlanCache, FileNamesDifferWithEverythingThatChangesAPlan) {
  const std::string name = plan_file_name(pair(), Collective::allgather, "bfb");
  EXPECT_EQ(name, plan_file_name(pair(), Collective::allgather, "bfb"));
  EXPECT_NE(name, plan_file_name(pair(), Collective::allreduce, "bfb"));
  EXPECT_NE(name, plan_file_name(pair(), Collective::allgather, "ring"));
  EXPECT_NE(name, plan_file_name(pair(1000), Collective::allgather, "bfb"));
  const Topology swapped = Topology::make("pair", {{"a", ""}, {"b", ""}}, {{1, 0}, {0, 1}}).value();
  EXPECT_NE(name, plan_file_name(swapped, Collective::allgather, "bfb")) << "link ids are part of a plan";
  Topology injecting = pair();
  injecting.set_injection_bytes_per_second(1000);
  EXPECT_NE(name, plan_file_name(injecting, Collective::allgather, "bfb"));
  EXPECT_FALSE(contains(plan_file_name(pair(), Collective::allgather, "../../x"), "/"));
}

TEST_F(PlanCache, APlanFiledAsAutoMayComeFromAnyAlgorithm) {
  ASSERT_TRUE(store_plan(directory_, exchange("ring"), automatic_plan).ok());
  const auto loaded = load_plan(directory_, pair(), Collective::allgather, automatic_plan);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(loaded->has_value());
  EXPECT_EQ((*loaded)->algorithm, "ring");
  EXPECT_FALSE(load()->has_value());
}

TEST_F(PlanCache, RefusesCorruptFiles) {
  store();
  std::ofstream(path()) << "<not a plan";
  expect_refused("is not used");
  std::ofstream(path()).close();
  expect_refused("is not used");
}

TEST_F(PlanCache, RefusesAWrongPlan) {
  Schedule wrong = exchange();
  wrong.transfers.pop_back();  // node 0 never gets shard 1
  ASSERT_FALSE(verify(wrong).empty());
  store();
  std::ofstream(path()) << write_schedule(wrong);
  expect_refused(verify(wrong).front());
}

TEST_F(PlanCache, KeepsNothingThatItWouldRefuse) {
  Schedule wrong = exchange();
  wrong.transfers.pop_back();
  Schedule unreadable = exchange();  // files have layers up to 255
  unreadable.routes = {{0, 1, {0}, 256, 0}};
  unreadable.transfers.front().route = 0;
  Schedule renamed = exchange();  // XML has no such character
  renamed.topology.set_name(std::string("a\0b", 3));
  for (const Schedule& schedule : {wrong, unreadable, renamed}) {
    const Status stored = store_plan(directory_, schedule);
    ASSERT_FALSE(stored.ok());
    EXPECT_TRUE(contains(stored.error().message, "is not kept")) << stored.error().message;
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_F(PlanCache, RefusesForeignPlans) {
  ASSERT_TRUE(store_plan(directory_, exchange("ring"), "bfb").ok());
  expect_refused("it was made by ring");

  store();
  const std::string elsewhere = directory_ + "/" + plan_file_name(pair(1000), Collective::allgather, "bfb");
  std::filesystem::copy_file(path(), elsewhere);
  const auto loaded = load_plan(directory_, pair(1000), Collective::allgather, "bfb");
  ASSERT_FALSE(loaded.ok());
  EXPECT_TRUE(contains(loaded.error().message, "another topology"));
}

TEST_F(PlanCache, RefusesLinksAndFilesOthersMayWrite) {
  store();
  chmod(path().c_str(), 0622);
  expect_refused("may be written by everybody");
  chmod(path().c_str(), 0620);
  expect_refused("may be written by its group");
  chmod(path().c_str(), 0600);
  ASSERT_TRUE(load().ok());
  std::filesystem::rename(path(), parent_ + "/elsewhere.xml");
  std::filesystem::create_symlink(parent_ + "/elsewhere.xml", path());
  expect_refused("is a symbolic link");
}

TEST_F(PlanCache, RefusesDirectoriesOthersMayWrite) {
  store();
  chmod(directory_.c_str(), 0777);
  expect_refused("may be written by everybody");
  EXPECT_FALSE(store_plan(directory_, exchange()).ok());
  chmod(directory_.c_str(), 0700);
}

TEST_F(PlanCache, StoringSaysWhyItCannot) {
  std::ofstream(parent_ + "/file") << "x";
  const Status under_file = store_plan(parent_ + "/file/cache", exchange());
  ASSERT_FALSE(under_file.ok());
  EXPECT_TRUE(contains(under_file.error().message, "cannot be made")) << under_file.error().message;
  const Status nowhere = store_plan("", exchange());
  ASSERT_FALSE(nowhere.ok());
  EXPECT_TRUE(contains(nowhere.error().message, "LIBCOLL_CACHE_DIR"));
}

TEST(CacheDirectory, IsTheConfiguredOneOrFollowsTheEnvironment) {
  EXPECT_EQ(cache_directory("/mine"), "/mine");
  setenv("HOME", "/home/u", 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_directory(""), "/home/u/.cache/libcoll");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(cache_directory(""), "/x/libcoll");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(cache_directory(""), "");
}

TEST_F(PlanCache, ThePlanForSmallVectorsGoesWithTheUsualOne) {
  const auto load = [&] { return load_plans(directory_, pair(), Collective::allgather, automatic_plan); };
  const std::string small_file = directory_ + "/" + plan_file_name(pair(), Collective::allgather, automatic_small_plan);
  ASSERT_TRUE(store_plans(directory_, {exchange("ring"), exchange()}, automatic_plan).ok());
  ASSERT_TRUE(load().ok());
  ASSERT_TRUE(load()->has_value());
  EXPECT_EQ((*load())->usual, exchange("ring"));
  EXPECT_EQ((*load())->small, exchange());
  // One that is lost is not the same as none.
  ASSERT_EQ(unlink(small_file.c_str()), 0);
  ASSERT_TRUE(load().ok());
  EXPECT_FALSE(load()->has_value());
  ASSERT_TRUE(store_plans(directory_, {exchange("ring"), std::nullopt}, automatic_plan).ok());
  ASSERT_TRUE(load()->has_value());
  EXPECT_EQ((*load())->small, std::nullopt);
  // Nor is one that was cut.
  std::ofstream(small_file, std::ios::trunc) << "";
  EXPECT_FALSE(load().ok());
  // Planners that are named make one plan.
  ASSERT_TRUE(store_plans(directory_, {exchange(), std::nullopt}, "bfb").ok());
  EXPECT_TRUE(load_plans(directory_, pair(), Collective::allgather, "bfb")->has_value());
}

}  // namespace
}  // namespace libcoll::plan_cache_test
