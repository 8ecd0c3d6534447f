// From which call on, and from which start, new plans are gone by. Whoever learns of it sooner or later, and has begun
// more or fewer calls meanwhile, comes to the same plan for the same call.
#include "libcoll/comm/plan_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace libcoll::plan_sequence_test {

using namespace comm;
using namespace plan;
using namespace recover;
using namespace schedule;

namespace {

constexpr auto allgather = Collective::allgather;

LoweredPlanPointer plan_named(const char* name) {
  auto plan = std::make_shared<LoweredPlan>();
  plan->algorithm = name;
  return plan;
}

std::shared_ptr<PersistentContext> persistent_call(const CallSequence& init) {
  return std::make_shared<PersistentContext>(std::make_shared<IdPool>(4), 1, nullptr, Plans(), init);
}

/// New plans for allgather, as of `changes` changes of the file.
PlanEpoch epoch(const char* name, std::uint32_t changes, std::uint64_t call, Starts starts = {}) {
  PlanEpoch fresh;
  fresh.from.call = call;
  fresh.from.starts = std::move(starts);
  fresh.from.changes = changes;
  fresh.plans[static_cast<std::size_t>(allgather)] = plan_named(name);
  return fresh;
}

void switch_to(PlanSequence& calls, PlanEpoch epoch) {
  calls.hold();
  calls.add(std::move(epoch));
}

std::string plan_of(const PlanSequence& calls, CallSequence sequence, const PersistentContext* persistent = nullptr) {
  LoweredPlanPointer plan = plan_named("old");
  calls.settle(allgather, sequence, plan, persistent);
  EXPECT_TRUE(sequence.settled);
  return plan->algorithm;
}

TEST(PlanSequence, WhatBeginsWhileItIsHeldUpIsSettledLater) {
  PlanSequence calls;
  const CallSequence before = calls.next_call();
  EXPECT_TRUE(before.settled);
  EXPECT_EQ(calls.hold().calls, 1U);
  const CallSequence second = calls.next_call();
  const CallSequence third = calls.next_call();
  EXPECT_FALSE(second.settled);
  EXPECT_FALSE(calls.settles(second, nullptr));
  // Another rank had begun the second already.
  calls.add(epoch("new", 1, 2));
  EXPECT_TRUE(calls.settles(second, nullptr));
  EXPECT_EQ(plan_of(calls, before), "old");
  EXPECT_EQ(plan_of(calls, second), "old");
  EXPECT_EQ(plan_of(calls, third), "new");
  EXPECT_EQ(plan_of(calls, calls.next_call()), "new");
}

TEST(PlanSequence, StartsOfEachPersistentCallHaveTheirOwn) {
  PlanSequence calls;
  calls.open(calls.next_call());
  const auto first = persistent_call(calls.opening());
  calls.end_opening(first);
  const CallSequence one = calls.next_start(*first);
  const Standing standing = calls.hold();
  EXPECT_EQ(standing.started, (Starts{{0, 1}}));
  const CallSequence two = calls.next_start(*first);
  const CallSequence three = calls.next_start(*first);
  EXPECT_TRUE(one.settled);
  EXPECT_FALSE(two.settled);
  calls.add(epoch("new", 1, 1, {{0, 2}}));
  EXPECT_EQ(plan_of(calls, one, first.get()), "old");
  EXPECT_EQ(plan_of(calls, two, first.get()), "old");
  EXPECT_EQ(plan_of(calls, three, first.get()), "new");
  // An init after the switch has it from its first start on.
  const auto later = persistent_call(calls.next_call());
  EXPECT_EQ(plan_of(calls, calls.next_start(*later), later.get()), "new");
}

TEST(PlanSequence, AnInitUnderWayCountsAsNotStarted) {
  PlanSequence calls;
  calls.open(calls.next_call());
  EXPECT_EQ(calls.hold().started, (Starts{{0, 0}}));
}

TEST(PlanSequence, ABlockingCallMayHaveBroughtNewerPlans) {
  PlanSequence calls;
  switch_to(calls, epoch("first", 1, 0));
  switch_to(calls, epoch("second", 2, 0));
  CallSequence sequence = calls.next_call();
  EXPECT_EQ(plan_of(calls, sequence), "second");
  sequence.changes = 1;
  EXPECT_EQ(plan_of(calls, sequence), "second");
  sequence.changes = 2;
  EXPECT_EQ(plan_of(calls, sequence), "old") << "its own plan is as of the second change";
}

TEST(PlanSequence, WithoutLinksThatAreGoneNothingGoesWithoutAPlan) {
  PlanSequence calls;
  PlanEpoch without = epoch("without", 1, 0);
  without.from.links_gone = true;
  switch_to(calls, std::move(without));
  CallSequence sequence = calls.next_call();
  LoweredPlanPointer plan = plan_named("old");
  calls.settle(allgather, sequence, plan, nullptr);
  EXPECT_TRUE(calls.is_mended(sequence));
  switch_to(calls, epoch("again", 2, 1));
  CallSequence next = calls.next_call();
  calls.settle(allgather, next, plan, nullptr);
  EXPECT_EQ(plan->algorithm, "again");
  EXPECT_FALSE(calls.is_mended(next));
}

TEST(PlanSequence, DeadLinksAreAdoptedForGood) {
  PlanSequence calls;
  switch_to(calls, epoch("without", 0, 1));
  EXPECT_EQ(calls.adopt(0), nullptr);
  ASSERT_NE(calls.adopt(1), nullptr);
  EXPECT_EQ(calls.adopt(1), nullptr);
  EXPECT_EQ(calls.adopted(), 1U);
  CallSequence sequence;
  sequence.number = 1;
  EXPECT_TRUE(calls.is_mended(sequence));
}

// Links have died and the topology file has changed at the same time: ranks hear of the two in either order.
TEST(PlanSequence, TwoCausesAreHeldForTogether) {
  for (const bool dead_first : {false, true}) {
    PlanSequence calls;
    calls.open(calls.next_call());
    const auto persistent = persistent_call(calls.opening());
    calls.end_opening(persistent);
    const CallSequence before = calls.next_call();
    EXPECT_EQ(calls.hold().calls, 2U);
    const CallSequence between = calls.next_call();
    const CallSequence start = calls.next_start(*persistent);
    const Standing second = calls.hold();
    EXPECT_EQ(second.calls, 3U);
    EXPECT_EQ(second.started, (Starts{{0, 1}}));
    const CallSequence after = calls.next_call();
    PlanEpoch dead = epoch("dead", 0, 3, {{0, 1}});
    PlanEpoch changed = epoch("changed", 1, 2, {{0, 0}});
    calls.add(dead_first ? dead : changed);
    EXPECT_TRUE(calls.is_held());
    EXPECT_TRUE(calls.settles(before, nullptr));
    EXPECT_FALSE(calls.settles(between, nullptr));
    EXPECT_FALSE(calls.settles(start, persistent.get()));
    calls.add(dead_first ? changed : dead);
    EXPECT_FALSE(calls.is_held());
    EXPECT_EQ(plan_of(calls, before), "old");
    EXPECT_EQ(plan_of(calls, between), "changed");
    EXPECT_EQ(plan_of(calls, after), "dead");
    EXPECT_EQ(plan_of(calls, start, persistent.get()), "changed");
    EXPECT_EQ(plan_of(calls, calls.next_start(*persistent), persistent.get()), "dead");
  }
}

TEST(PlanSequence, OnlyDeadLinksAreAdopted) {
  PlanSequence calls;
  switch_to(calls, epoch("changed", 1, 1));
  EXPECT_EQ(calls.adopt(1), nullptr);
  EXPECT_EQ(calls.adopted(), 0U);
  switch_to(calls, epoch("dead", 0, 1));
  switch_to(calls, epoch("changed again", 2, 2));
  const PlanEpoch* adopted = calls.adopt(1);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->from.changes, 0U);
  // A later call has the dead links' plan, and goes by what the file has changed to since.
  CallSequence sequence;
  sequence.epochs = calls.adopted();
  sequence.number = 1;
  EXPECT_EQ(plan_of(calls, sequence), "old");
  sequence.number = 2;
  EXPECT_EQ(plan_of(calls, sequence), "changed again");
  EXPECT_EQ(calls.adopt(2), nullptr);
}

// Dead links need not change the plan of every collective: a call that begins after they were adopted goes by the same
// plan as one that another rank began while it was held up.
TEST(PlanSequence, WhatDeadLinksLeaveAsItIsStaysAsTheFileHasIt) {
  PlanSequence calls;
  switch_to(calls, epoch("changed", 1, 0));
  calls.hold();
  const CallSequence between = calls.next_call();
  PlanEpoch dead = epoch("dead", 0, 0);
  dead.plans = {};
  calls.add(std::move(dead));
  CallSequence after = calls.next_call();
  ASSERT_NE(calls.adopt(after.number), nullptr);
  after.epochs = calls.adopted();
  EXPECT_EQ(plan_of(calls, between), "changed");
  EXPECT_EQ(plan_of(calls, after), "changed");
}

}  // namespace
}  // namespace libcoll::plan_sequence_test
