// Plans from the cache, from this process and from the command, and who makes them when several ask.
#include "libcoll/plan/plan_source.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libcoll/comm/id_pool.h"
#include "libcoll/plan/plan_cache.h"
#include "planner/broadcast/bound/cut_bound.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/plan/default_plan.h"
#include "planner/plan/part_plan.h"
#include "planner/registry/planner.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/part.h"
#include "tests/unit/measured_fabrics.h"
#include "tests/unit/sanitized.h"

namespace libcoll::plan_source_test {

using namespace broadcast;
using namespace broadcast::bound;
using namespace comm;
using namespace default_plan;
using namespace flow;
using namespace plan;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

class PlanSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-plans-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    config_.topology = "torus:3x3";
    config_.cache_dir = directory_ + "/cache";
    config_.command = LIBCOLL_COMMAND;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Plans are given up after a second, give or take what a busy machine takes.
  template <class Plan>
  void expect_in_time(std::chrono::steady_clock::time_point began, const Result<Plan>& plan) {
    constexpr std::chrono::seconds most{8};
    EXPECT_LT(std::chrono::steady_clock::now() - began, most);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().message, "planning took longer than 1 s");
    EXPECT_EQ(starts(), 1U);
  }

  /// The command does not come to an end, but counts how often it was started.
  void plan_for_ever() {
    config_.command = directory_ + "/slow";
    std::ofstream(config_.command) << "#!/bin/sh\necho >>" << directory_ << "/starts\nexec sleep 600\n";
    std::filesystem::permissions(config_.command, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::size_t starts() const { return std::filesystem::file_size(directory_ + "/starts"); }

  [[nodiscard]] PlanRequest request(const std::vector<NodeId>& nodes, Collective collective) const {
    const Topology fabric = generate(config_.topology).value();
    if (nodes.empty()) return {fabric, "", collective};
    return {part_of(fabric, nodes).value(), node_ranges(nodes), collective};
  }

  /// Asks until there is an answer.
  Result<PlanPair> insist_on_both(const PlanRequest& wanted) {
    for (;;) {
      if (std::optional<Result<PlanPair>> plans = source_.obtain(config_, wanted)) return std::move(*plans);
      sched_yield();
    }
  }
  Result<Schedule> insist(const PlanRequest& wanted) { return usual(insist_on_both(wanted)); }

  static Result<Schedule> usual(Result<PlanPair> plans) {
    if (!plans) return plans.error();
    return std::move(plans->usual);
  }

  static void expect_good(const Result<Schedule>& plan, const PlanRequest& wanted) {
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->topology, wanted.topology);
    EXPECT_EQ(plan->collective, wanted.collective);
    EXPECT_EQ(verify(*plan), std::vector<std::string>{});
  }

  /// MultiTree has less T_B there than ForestColl, and takes more steps.
  [[nodiscard]] static PlanRequest part_with_two_plans() {
    const std::vector<NodeId> nodes{0, 1, 2, 3, 4, 5, 6};
    const Topology fabric = generate("random_regular:12,3,1").value();
    return {part_of(fabric, nodes).value(), node_ranges(nodes), Collective::allreduce};
  }

  [[nodiscard]] bool is_cached(const PlanRequest& wanted) const {
    const auto cached = load_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan);
    return cached.ok() && cached->has_value();
  }

  std::string directory_;
  Config config_;
  PlanSource source_;
};

TEST_F(PlanSourceTest, SmallPlansOfTheAllgatherFamilyAreThereAtOnce) {
  config_.command = "/nonexistent/libcoll";
  for (const PlanRequest& wanted : {request({}, Collective::allreduce), request({0, 1, 2}, Collective::allgather),
                                    request({0, 4, 8}, Collective::reduce_scatter)}) {
    ASSERT_TRUE(planned_at_once(wanted));
    const std::optional<Result<PlanPair>> plan = source_.obtain(config_, wanted);
    ASSERT_TRUE(plan.has_value());
    expect_good(usual(*plan), wanted);
    EXPECT_TRUE(is_cached(wanted));
  }
}

TEST_F(PlanSourceTest, DefaultsAreThoseOfTheCommand) {
  // Rings of 14 with chords, some of whose links are ten times as fast: no breadth-first tree is optimal there.
  for (std::uint32_t seed = 1; seed <= (sanitized ? 2 : 5); ++seed) {
    const Topology topology = measured_ring(14, {2, 1}, seed);
    for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
      const PlanRequest wanted{topology, "", collective};
      const DefaultPlans plans = plan_default(broadcast_planners(), topology, collective, {}).value();
      const PlanPair made = insist_on_both(wanted).value();
      EXPECT_EQ(made.usual, plans.least_bandwidth_time);
      EXPECT_EQ(made.usual.proof.bandwidth_time, cut_bound(topology, collective, 0));
      EXPECT_EQ(made.small, plans.least_steps);
      // T_L of BFB is the diameter; of an allreduce there and back.
      const std::int32_t ways = collective == Collective::allreduce ? 2 : 1;
      const Schedule& small = made.small ? *made.small : made.usual;
      expect_good(small, wanted);
      EXPECT_EQ(small.steps, ways * graph_facts(topology).diameter);
      EXPECT_EQ(insist_on_both(wanted)->small, made.small);  // from the cache
    }
  }
}

TEST_F(PlanSourceTest, WhereAPlannerIsSetThereIsNoOther) {
  config_.topology = "random_regular:8,3,5";
  config_.allreduce = "ring";
  EXPECT_FALSE(insist_on_both(request({}, Collective::allreduce))->small.has_value());
  config_.allreduce = "auto";
  EXPECT_TRUE(insist_on_both(request({}, Collective::allreduce))->small.has_value());
  EXPECT_FALSE(insist_on_both(request({}, Collective::alltoall))->small.has_value());
  // No planner of that name: parts get the best of several, and that alone.
  config_.allreduce = "no-such-planner";
  const PlanPair part = insist_on_both(part_with_two_plans()).value();
  EXPECT_FALSE(part.small.has_value());
  config_.allreduce = "auto";
  EXPECT_TRUE(insist_on_both(part_with_two_plans())->small.has_value());
}

TEST_F(PlanSourceTest, PartsHaveAPlanForSmallVectors) {
  const PlanRequest wanted = part_with_two_plans();
  ASSERT_TRUE(planned_at_once(wanted));
  const PlanPair made = insist_on_both(wanted).value();
  expect_good(made.usual, wanted);
  ASSERT_TRUE(made.small.has_value());
  expect_good(*made.small, wanted);
  EXPECT_LT(made.small->steps, made.usual.steps);
  EXPECT_LT(made.usual.proof.bandwidth_time, made.small->proof.bandwidth_time);
  EXPECT_TRUE(small_up_to(*made.small, made.usual).has_value());
  const PlanPair again = insist_on_both(wanted).value();
  EXPECT_EQ(again.usual, made.usual);
  EXPECT_EQ(again.small, made.small);
}

TEST_F(PlanSourceTest, PlansDoNotDependOnTheCache) {
  // Above 64 nodes the command plans. Empty cache, full cache, a cache that lost the plan for small vectors, none.
  config_.topology = "random_regular:70,3,1";
  const PlanRequest wanted = request({}, Collective::allgather);
  ASSERT_FALSE(planned_at_once(wanted));
  const PlanPair first = insist_on_both(wanted).value();
  expect_good(first.usual, wanted);
  ASSERT_TRUE(first.small.has_value());
  expect_good(*first.small, wanted);
  EXPECT_LT(first.small->steps, first.usual.steps);
  const auto expect_the_same = [&](const char* what) {
    const PlanPair again = insist_on_both(wanted).value();
    EXPECT_EQ(again.usual, first.usual) << what;
    EXPECT_EQ(again.small, first.small) << what;
  };
  expect_the_same("full cache");
  const std::string small_file =
      config_.cache_dir + "/" + plan_file_name(wanted.topology, wanted.collective, automatic_small_plan);
  ASSERT_TRUE(std::filesystem::remove(small_file));
  expect_the_same("small plan lost");
  ASSERT_TRUE(std::filesystem::exists(small_file));
  config_.cache_dir = "/proc/no-such-directory";
  expect_the_same("no cache");
}

TEST_F(PlanSourceTest, WhereThereIsNoPlanForSmallVectorsTheCacheSaysSo) {
  // BFB is optimal on tori (paper 000), and the command need not be asked again.
  config_.topology = "torus:9x8";
  const PlanRequest wanted = request({}, Collective::allgather);
  EXPECT_FALSE(insist_on_both(wanted)->small.has_value());
  config_.command = "/nonexistent/libcoll";
  const PlanPair again = insist_on_both(wanted).value();
  expect_good(again.usual, wanted);
  EXPECT_FALSE(again.small.has_value());
}

TEST_F(PlanSourceTest, OthersAreMadeInTheBackground) {
  for (const PlanRequest& wanted : {request({}, Collective::alltoall), request({0, 1, 2}, Collective::alltoall)}) {
    EXPECT_FALSE(planned_at_once(wanted));
    EXPECT_FALSE(source_.obtain(config_, wanted).has_value());
    expect_good(insist(wanted), wanted);
    EXPECT_TRUE(is_cached(wanted));
    EXPECT_TRUE(source_.obtain(config_, wanted).has_value());
  }
}

TEST_F(PlanSourceTest, LargeOnesOfTheAllgatherFamilyAsWell) {
  config_.topology = "torus:9x8";
  const PlanRequest wanted = request({}, Collective::allreduce);
  EXPECT_FALSE(planned_at_once(wanted));
  EXPECT_FALSE(source_.obtain(config_, wanted).has_value());
  expect_good(insist(wanted), wanted);
  config_.command.clear();
  const PlanRequest other = request({}, Collective::allgather);
  const std::optional<Result<PlanPair>> here = source_.obtain(config_, other);  // nobody else can
  ASSERT_TRUE(here.has_value());
  expect_good(usual(*here), other);
}

TEST_F(PlanSourceTest, APlannerThatIsSetPlansPartsAsFarAsItCan) {
  config_.allreduce = "bfb";
  config_.alltoall = "mcf-link";
  for (const auto& [nodes, collective, algorithm] :
       {std::tuple(std::vector<NodeId>{0, 1, 2}, Collective::allreduce, "bfb"),
        std::tuple(std::vector<NodeId>{0, 1, 2}, Collective::alltoall, "mcf-link"),
        std::tuple(std::vector<NodeId>{0, 4, 8}, Collective::alltoall, "sssp")}) {
    const PlanRequest wanted = request(nodes, collective);
    const Result<Schedule> plan = insist(wanted);
    expect_good(plan, wanted);
    EXPECT_EQ(plan->algorithm, algorithm);
    EXPECT_EQ(insist(wanted)->algorithm, algorithm);
  }
  const PlanRequest scattered = request({0, 4, 8}, Collective::allreduce);
  expect_good(insist(scattered), scattered);
  config_.allreduce = "no-such-planner";
  EXPECT_FALSE(insist(request({}, Collective::allreduce)).ok());
}

TEST_F(PlanSourceTest, WhoeverDoesNotWantToLeaveCallsToMpiWaits) {
  config_.background_planning = false;
  const PlanRequest wanted = request({0, 1, 3, 4}, Collective::alltoall);
  const std::optional<Result<PlanPair>> plan = source_.obtain(config_, wanted);
  ASSERT_TRUE(plan.has_value());
  expect_good(usual(*plan), wanted);
}

TEST_F(PlanSourceTest, APlanIsNotMadeTwiceAtATime) {
  const PlanRequest wanted = request({0, 1, 2}, Collective::alltoall);
  config_.command = "/nonexistent/libcoll";  // whoever tries to make it fails
  {
    const PlanLock other = lock_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan);
    ASSERT_EQ(other.turn, PlanTurn::ours);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(source_.obtain(config_, wanted).has_value());
    std::vector<Planner> table(flow_planners().begin(), flow_planners().end());
    const Result<DefaultPlans> made = plan_part(table, wanted.topology, wanted.collective, {}, {});
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE(store_plan(config_.cache_dir, made->least_bandwidth_time, automatic_plan).ok());
  }
  const std::optional<Result<PlanPair>> plan = source_.obtain(config_, wanted);
  ASSERT_TRUE(plan.has_value());
  expect_good(usual(*plan), wanted);
}

TEST_F(PlanSourceTest, ALockIsForOnePlanAndEndsWithItsHolder) {
  const PlanRequest one = request({0, 1, 2}, Collective::alltoall);
  const PlanRequest other = request({0, 1, 3}, Collective::alltoall);
  const auto lock = [&](const PlanRequest& wanted) {
    return lock_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan);
  };
  {
    const PlanLock first = lock(one);
    EXPECT_EQ(first.turn, PlanTurn::ours);
    EXPECT_EQ(lock(one).turn, PlanTurn::others);
    EXPECT_EQ(lock(other).turn, PlanTurn::ours);
  }
  EXPECT_EQ(lock(one).turn, PlanTurn::ours);
  EXPECT_EQ(lock_plan("", one.topology, one.collective, automatic_plan).turn, PlanTurn::unavoidable);
}

TEST_F(PlanSourceTest, WithoutACachePlansAreMadeAllTheSame) {
  config_.cache_dir = "/proc/no-such-directory";
  const PlanRequest wanted = request({0, 1, 2}, Collective::alltoall);
  expect_good(insist(wanted), wanted);
}

TEST_F(PlanSourceTest, ACommandThatFailsIsAnError) {
  const PlanRequest wanted = request({}, Collective::alltoall);
  for (const char* command : {"/nonexistent/libcoll", "/bin/false", "/bin/true", ""}) {
    config_.command = command;
    EXPECT_FALSE(insist(wanted).ok()) << command;
  }
}

TEST_F(PlanSourceTest, WhatACommandSaysIsInTheError) {
  config_.alltoall = "no-such-planner";
  const Result<Schedule> plan = insist(request({}, Collective::alltoall));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("no-such-planner"), std::string::npos) << plan.error().message;
}

TEST_F(PlanSourceTest, WhatIsStillBeingMadeEndsWithThoseWhoWantIt) {
  plan_for_ever();
  const PlanRequest wanted = request({}, Collective::alltoall);
  auto source = std::make_unique<PlanSource>();
  EXPECT_FALSE(source->obtain(config_, wanted).has_value());
  EXPECT_FALSE(source->obtain(config_, wanted).has_value());
  source.reset();
  // The child held the lock.
  EXPECT_EQ(lock_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan).turn, PlanTurn::ours);
}

TEST_F(PlanSourceTest, WhatTakesTooLongIsGivenUp) {
  plan_for_ever();
  config_.planning_seconds = 1;
  const PlanRequest wanted = request({}, Collective::alltoall);
  const auto expect_given_up = [&] {
    const auto began = std::chrono::steady_clock::now();
    expect_in_time(began, insist(wanted));
    // The child held the lock.
    EXPECT_EQ(lock_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan).turn, PlanTurn::ours);
  };
  EXPECT_FALSE(source_.obtain(config_, wanted).has_value());
  expect_given_up();
  expect_given_up();
  config_.background_planning = false;
  expect_given_up();
}

TEST_F(PlanSourceTest, WhoeverWaitsGivesUpToo) {
  plan_for_ever();
  config_.planning_seconds = 1;
  config_.background_planning = false;
  const PlanRequest wanted = request({0, 1, 2}, Collective::alltoall);
  for (int i = 0; i < 2; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const std::optional<Result<PlanPair>> plan = source_.obtain(config_, wanted);
    ASSERT_TRUE(plan.has_value());
    expect_in_time(began, *plan);
    EXPECT_EQ(lock_plan(config_.cache_dir, wanted.topology, wanted.collective, automatic_plan).turn, PlanTurn::ours);
  }
  // Another process is at it, for longer than we wait.
  const PlanRequest other = request({0, 1, 3}, Collective::alltoall);
  const PlanLock lock = lock_plan(config_.cache_dir, other.topology, other.collective, automatic_plan);
  ASSERT_EQ(lock.turn, PlanTurn::ours);
  const auto began = std::chrono::steady_clock::now();
  const std::optional<Result<PlanPair>> plan = source_.obtain(config_, other);
  ASSERT_TRUE(plan.has_value());
  expect_in_time(began, *plan);
}

TEST(IdPool, IdsHaveOneOwnerAndComeBack) {
  IdPool pool(5);
  EXPECT_FALSE(pool.take(0));
  EXPECT_FALSE(pool.take(6));
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 5; ++i) {
    const std::uint32_t id = pool.next_free(1);
    EXPECT_TRUE(pool.take(id));
    EXPECT_FALSE(pool.take(id));
    taken.insert(id);
  }
  EXPECT_EQ(taken, (std::set<std::uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(pool.next_free(1), 0U);
  pool.give_back(3);
  EXPECT_EQ(pool.next_free(4), 3U);
  EXPECT_TRUE(pool.take(3));
}

/// As after links have died.
TEST_F(PlanSourceTest, TheCommandIsToldOfTopologiesThatNobodyCanName) {
  const Topology whole = generate("torus:3x3").value();
  std::vector<Link> links(whole.links().begin() + 1, whole.links().end());
  const auto nodes = whole.nodes();
  const PlanRequest wanted{Topology::make("without a link", {nodes.begin(), nodes.end()}, std::move(links)).value(), "",
                           Collective::alltoall};
  config_.topology.clear();
  config_.alltoall = "mcf-link";
  expect_good(insist(wanted), wanted);
}

}  // namespace
}  // namespace libcoll::plan_source_test
