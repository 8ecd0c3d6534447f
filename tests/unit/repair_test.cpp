// Ranks agree on dead links, whatever is lost meanwhile.
#include "libcoll/recover/repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/lossy_world.h"

namespace libcoll::repair_test {

using namespace broadcast;
using namespace flow;
using namespace node;
using namespace recover;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

constexpr NodeId nodes = 8;

/// One on every node.
class Repairs {
 public:
  explicit Repairs(LossyWorld& world) {
    for (NodeId node = 0; node < nodes; ++node) {
      each.push_back(std::make_unique<Repair>(world.transport(node), communicator, node, nodes, true, "test"));
    }
  }
  Repair& operator[](std::size_t node) { return *each[node]; }

  [[nodiscard]] bool all_know(const std::set<BidirectionalLink>& cables) const {
    return std::all_of(each.begin(), each.end(), [&](const auto& repair) { return repair->removed() == cables; });
  }
  [[nodiscard]] bool somebody_looks() const {
    return std::any_of(each.begin(), each.end(), [](const auto& repair) { return repair->looks(); });
  }

  std::vector<std::unique_ptr<Repair>> each;  ///< by node
};

/// What a communicator hears.
class Hearer final : public FailureListener {
 public:
  explicit Hearer(Repair& repair) : repair_(repair) { repair.listen(*this); }
  void links_died() noexcept override { heard.push_back(repair_.removed()); }
  std::vector<std::set<BidirectionalLink>> heard;

 private:
  Repair& repair_;
};

LossyWorld make_world() {
  return {planned("hypercube:3", Collective::allreduce, "bfb"), generate("hypercube:3").value()};
}

class Agreement : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Agreement, AllHearTheSameVerdicts) {
  LossyWorld world = make_world();
  std::mt19937 random(GetParam());
  std::set<std::pair<int, int>> dead;
  world.weather->fate = [&](const Passing& passing) {
    if (dead.contains({std::min(passing.from, passing.to), std::max(passing.from, passing.to)})) return Fate::stuck;
    return passing.packet && random() % 8 == 0 ? Fate::lost : Fate::arrives;
  };
  Repairs repairs(world);
  std::deque<Hearer> hearers;
  for (const auto& repair : repairs.each) hearers.emplace_back(*repair);
  const auto run_until = [&](const std::set<BidirectionalLink>& cables) {
    return world.idle_until([&] { return repairs.all_know(cables); });
  };
  const auto cut = [&](NodeId a, NodeId b) {
    dead.emplace(std::min(world.rank_of(a), world.rank_of(b)), std::max(world.rank_of(a), world.rank_of(b)));
  };
  ASSERT_TRUE(run_until({}));
  cut(0, 1);
  repairs[1].lane_died(0, 0);
  ASSERT_TRUE(run_until({{0, 1}}));
  cut(5, 7);
  repairs[5].lane_died(7, 0);
  repairs[7].lane_died(5, 0);
  ASSERT_TRUE(run_until({{0, 1}, {5, 7}}));
  for (const Hearer& hearer : hearers) {
    EXPECT_EQ(hearer.heard, (std::vector<std::set<BidirectionalLink>>{{{0, 1}}, {{0, 1}, {5, 7}}}));
  }
  EXPECT_TRUE(world.idle_until([&] { return !repairs.somebody_looks(); }));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Agreement, testing::Range(1U, 9U));

TEST(Repair, WithoutADeadLinkThereIsNoVerdict) {
  LossyWorld world = make_world();
  Repairs repairs(world);
  std::deque<Hearer> hearers;
  for (const auto& repair : repairs.each) hearers.emplace_back(*repair);
  repairs[3].lane_died(0, 1);
  ASSERT_TRUE(world.idle_until([&] { return repairs.somebody_looks(); }));
  ASSERT_TRUE(world.idle_until([&] { return !repairs.somebody_looks(); }));
  for (const Hearer& hearer : hearers) EXPECT_TRUE(hearer.heard.empty());
}

/// What nobody finds, a message that was only late, must not keep the next cut from being found.
TEST(Repair, ASearchInVainDoesNotPutOffTheNextForLong) {
  LossyWorld world = make_world();
  bool dead = false;
  world.weather->fate = [&](const Passing& passing) {
    const std::pair ends = std::minmax(passing.from, passing.to);
    return dead && ends == std::minmax(world.rank_of(5), world.rank_of(7)) ? Fate::stuck : Fate::arrives;
  };
  Repairs repairs(world);
  repairs[3].lane_died(0, 1);
  ASSERT_TRUE(world.idle_until([&] { return repairs[3].looks(); }));
  ASSERT_TRUE(world.idle_until([&] { return !repairs[3].looks(); }));
  dead = true;
  repairs[5].lane_died(7, 0);
  std::int64_t rounds = 0;
  ASSERT_TRUE(world.idle_until([&] {
    ++rounds;
    return repairs.all_know({{5, 7}});
  }));
  EXPECT_LT(rounds, 8 * patience);
}

/// Messages that get lost while everybody looks for the reason have the reason that is found.
TEST(Repair, OneCutIsSearchedForOnce) {
  LossyWorld world = make_world();
  std::set<std::pair<int, int>> dead = {std::minmax(world.rank_of(5), world.rank_of(7))};
  world.weather->fate = [&](const Passing& passing) {
    return dead.contains(std::minmax(passing.from, passing.to)) ? Fate::stuck : Fate::arrives;
  };
  Repairs repairs(world);
  repairs[5].lane_died(7, 0);
  ASSERT_TRUE(world.idle_until([&] { return repairs[7].looks(); }));
  repairs[7].lane_died(5, 0);
  ASSERT_TRUE(world.idle_until([&] { return repairs.all_know({{5, 7}}) && !repairs.somebody_looks(); }));
  bool again = false;
  std::int64_t left = 16 * patience;
  world.idle_until([&] {
    again = again || repairs.somebody_looks();
    return --left == 0;
  });
  EXPECT_FALSE(again);
}

/// A rank that is gone leaves the others without a verdict.
TEST(Repair, NothingIsAgreedWithoutEverybody) {
  LossyWorld world = make_world();
  const int gone = world.rank_of(6);
  world.weather->fate = [gone](const Passing& passing) {
    return passing.from == gone || passing.to == gone ? Fate::stuck : Fate::arrives;
  };
  Repairs repairs(world);
  repairs[7].lane_died(6, 0);
  EXPECT_FALSE(world.idle_until([&] { return !repairs[7].removed().empty(); }));
  for (std::size_t node = 0; node < nodes; ++node) EXPECT_TRUE(node == 6 || repairs[node].looks()) << node;
}

TEST(Repair, WhatIsLeftIsConnectedAndNamesWhatItLacks) {
  const Topology ring = generate("ring:4").value();
  const std::optional<Topology> left = without_dead(ring, {{0, 1}, {4, 4}}, 4);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->name(), "ring:4 without 0-1");
  EXPECT_EQ(left->link_count(), 6);
  // Once more, and a cable between nodes that have none.
  EXPECT_EQ(without_dead(*left, {{0, 1}, {0, 2}}, 4)->name(), "ring:4 without 0-1");
  EXPECT_FALSE(without_dead(*left, {{2, 3}}, 4));
  EXPECT_EQ(without_dead(ring, {{4, 4}}, 4)->name(), "ring:4");
}

TEST(Repair, PlansDoWithoutTheDeadCables) {
  const Topology whole = generate("torus:3x3").value();
  const std::set<BidirectionalLink> dead = {{0, 1}, {4, 7}};
  const Topology rest = without(whole, dead);
  EXPECT_EQ(rest.link_count(), whole.link_count() - 4);
  for (const auto& [a, b] : dead) {
    EXPECT_EQ(rest.find_link(a, b), -1);
    EXPECT_EQ(rest.find_link(b, a), -1);
  }
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
    const Result<Schedule> plan = find_planner(broadcast_planners(), collective, {})->plan(rest, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(verify(*plan), std::vector<std::string>{});
  }
  const Result<Schedule> plan = find_planner(flow_planners(), Collective::alltoall, "mcf-link")->plan(rest, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>{});
}

}  // namespace
}  // namespace libcoll::repair_test
