// New plans come to all ranks, and all go by them from the same call on, however far each has come and whatever is
// lost.
#include "libcoll/recover/replan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/lossy_world.h"

namespace libcoll::replan_test {

using namespace recover;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

constexpr NodeId nodes = 8;
constexpr std::uint32_t bit(Collective collective) { return 1U << static_cast<unsigned>(collective); }

/// A rank that begins calls when it pleases, and starts of two persistent ones.
class Rank final : public ReplanParticipant {
 public:
  [[nodiscard]] std::uint32_t wanted() const override { return wants; }
  [[nodiscard]] bool must_switch() const override { return has_plans; }
  void add_findings(Switch& found) const override {
    found.changes = findings.changes;
    found.links_gone = findings.links_gone;
    found.next_look = findings.next_look;
    found.parents = findings.parents;
  }
  Making make_plan(Collective collective, std::string& text) override {
    if (looks_until_made-- > 0) return Making::under_way;
    if (collective == Collective::alltoall && no_alltoall) return Making::none;
    ++made;
    text = std::string(to_string(collective)) + std::string(100'000, '.');
    return Making::there;
  }
  bool take_plan(Collective collective, const std::string& text) override {
    EXPECT_EQ(text, std::string(to_string(collective)) + std::string(100'000, '.'));
    EXPECT_FALSE(held) << "nobody is held up while plans are made and handed on";
    taken |= bit(collective);
    return collective != refused;
  }
  Standing hold() override {
    held = true;
    ++holds;
    held_from = begun;
    return {begun, started, wants};
  }
  void release() override { held = false; }
  void switch_over(const Switch& switched) override {
    agreed = switched;
    if (!held) return;
    held = false;
    EXPECT_GE(switched.call, held_from) << "it has begun that one already";
  }

  std::uint32_t wants = bit(Collective::allreduce);
  bool has_plans = true;
  Switch findings;
  int looks_until_made = 3;
  bool no_alltoall = false;
  std::optional<Collective> refused;
  int made = 0;
  int holds = 0;
  std::uint32_t taken = 0;
  std::uint64_t begun = 0;
  Starts started;
  bool held = false;
  std::uint64_t held_from = 0;
  std::optional<Switch> agreed;
};

/// Eight nodes.
class Renewing {
 public:
  explicit Renewing(std::uint32_t seed)
      : world({planned("hypercube:3", Collective::allreduce, "bfb"), generate("hypercube:3").value()}), random_(seed) {
    std::vector<std::int32_t> speakers(nodes);
    std::iota(speakers.begin(), speakers.end(), 0);
    const std::vector<int> parents =
        agreement_tree(speakers, speakers, neighbouring_hosts(generate("hypercube:3").value()));
    for (int self = 0; self < nodes; ++self) {
      std::vector<TreePlace> places;
      for (int other = 0; other < nodes; ++other) {
        const PeerId peer = world.transport(self).connect(world.transport(other).address(), 0).value();
        places.push_back({other, parents[static_cast<std::size_t>(other)], peer});
      }
      ranks.push_back(std::make_unique<Rank>());
      ranks.back()->begun = random_() % 10;
      orders_.push_back(std::make_unique<std::uint32_t>(0));
      replans.push_back(
          std::make_unique<Replan>(*ranks.back(), world.transport(self), std::move(places), self, nodes, 30'000,
                                   [next = orders_.back().get()] { return TagSpace(communicator, (*next)++); }));
    }
  }

  /// Until all are done; false when they never are.
  bool run() {
    return world.idle_until([&] {
      bool over = true;
      for (std::size_t each = 0; each < replans.size(); ++each) {
        if (random_() % 4 == 0) replans[each]->advance();
        if (random_() % 16 == 0) ++ranks[each]->begun;
        over = over && replans[each]->over();
        EXPECT_FALSE(replans[each]->failed());
      }
      return over;
    });
  }

  LossyWorld world;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::unique_ptr<Replan>> replans;

 private:
  std::mt19937 random_;
  std::vector<std::unique_ptr<std::uint32_t>> orders_;
};

class Renewals : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Renewals, AllSwitchAtTheSameCall) {
  Renewing all(GetParam());
  std::mt19937 random(GetParam());
  all.world.weather->fate = [&](const Passing&) { return random() % 16 == 0 ? Fate::lost : Fate::arrives; };
  for (const auto& rank : all.ranks) rank->started = {{3, random() % 5}};
  ASSERT_TRUE(all.run());
  for (const auto& rank : all.ranks) {
    ASSERT_TRUE(rank->agreed.has_value());
    EXPECT_EQ(rank->agreed->call, all.ranks.front()->agreed->call);
    EXPECT_EQ(rank->agreed->starts, all.ranks.front()->agreed->starts);
    EXPECT_EQ(rank->agreed->collectives, bit(Collective::allreduce));
    EXPECT_EQ(rank->taken, bit(Collective::allreduce));
    EXPECT_EQ(rank->holds, 1);
    EXPECT_FALSE(rank->held);
  }
  EXPECT_EQ(all.ranks.front()->made, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Renewals, testing::Range(1U, 9U));

TEST(Replan, WhatSomebodyCannotUseNobodyGoesBy) {
  Renewing all(1);
  all.ranks.front()->wants = bit(Collective::allreduce) | bit(Collective::allgather);
  all.ranks[6]->refused = Collective::allgather;
  ASSERT_TRUE(all.run());
  for (const auto& rank : all.ranks) EXPECT_EQ(rank->agreed->collectives, bit(Collective::allreduce));
}

/// Then nobody is held up while that is planned.
TEST(Replan, WhatSomebodyElseHasAskedForIsPlannedToo) {
  Renewing all(1);
  all.ranks[5]->wants = bit(Collective::allreduce) | bit(Collective::allgather);
  ASSERT_TRUE(all.run());
  for (const auto& rank : all.ranks) {
    EXPECT_EQ(rank->agreed->collectives, bit(Collective::allreduce) | bit(Collective::allgather));
    EXPECT_EQ(rank->holds, 2);
  }
}

TEST(Replan, WithoutAPlanTheSwitchIsAgreedOnAllTheSame) {
  Renewing all(1);
  for (const auto& rank : all.ranks) rank->wants = bit(Collective::alltoall);
  all.ranks.front()->no_alltoall = true;
  ASSERT_TRUE(all.run());
  for (const auto& rank : all.ranks) {
    EXPECT_EQ(rank->agreed->collectives, 0U);
    EXPECT_EQ(rank->agreed->call, all.ranks.front()->agreed->call);
  }
}

/// What the first rank has found comes to all of them; `plans`: with new plans.
void expect_findings(bool plans) {
  Renewing all(2);
  Rank& first = *all.ranks.front();
  first.has_plans = plans;
  first.findings.changes = 3;
  first.findings.links_gone = true;
  first.findings.next_look = std::uint64_t{1} << 40U;
  first.findings.parents = {-1, 0, 0, 2, 0, 4, 4, 6};
  ASSERT_TRUE(all.run());
  for (const auto& rank : all.ranks) {
    EXPECT_EQ(rank->agreed->changes, 3U);
    EXPECT_TRUE(rank->agreed->links_gone);
    EXPECT_EQ(rank->agreed->next_look, first.findings.next_look);
    EXPECT_EQ(rank->agreed->parents, first.findings.parents);
    EXPECT_EQ(rank->agreed->collectives, plans ? bit(Collective::allreduce) : 0U);
    EXPECT_EQ(rank->holds, plans ? 1 : 0) << "nobody is held up where there is nothing to switch to";
  }
}

TEST(Replan, FindingsComeWithPlans) { expect_findings(true); }

TEST(Replan, FindingsComeWithoutPlans) { expect_findings(false); }

/// Nobody goes by new plans then, and nobody fails by itself: that is for the calls' time limit.
TEST(Replan, NothingIsSwitchedWithoutEverybody) {
  Renewing all(1);
  const int gone = all.world.rank_of(6);
  all.world.weather->fate = [gone](const Passing& passing) {
    return passing.from == gone || passing.to == gone ? Fate::stuck : Fate::arrives;
  };
  EXPECT_FALSE(all.run());
  for (const auto& rank : all.ranks) EXPECT_FALSE(rank->agreed.has_value());
}

TEST(AgreedSwitch, IsBeyondWhateverAnybodyHasBegun) {
  const std::vector<Standing> ranks = {{7, {{2, 5}, {4, 0}}, 0}, {9, {{2, 3}, {4, 8}}, 0}};
  const Switch agreed = agreed_switch(ranks);
  EXPECT_EQ(agreed.call, 9U);
  EXPECT_EQ(agreed.starts, (Starts{{2, 5}, {4, 8}}));
}

/// The others' last starts go with the plan that this one's went with.
TEST(AgreedSwitch, FreedCallsKeepTheirPlan) {
  const std::vector<Standing> ranks = {{7, {}, 0}, {9, {{2, 3}}, 0}};
  EXPECT_TRUE(agreed_switch(ranks).starts.empty());
}

TEST(AgreedSwitch, CallsThatSomeHaveNotComeToAreNotFreed) {
  const std::vector<Standing> ranks = {{7, {}, 0}, {9, {{7, 3}}, 0}};
  EXPECT_EQ(agreed_switch(ranks).starts, (Starts{{7, 3}}));
}

}  // namespace
}  // namespace libcoll::replan_test
