// From which call on, and from which start, new plans are gone by. Whoever learns of it sooner or later, and has begun
// more or fewer calls meanwhile, comes to the same plan for the same call.
#include "libcoll/comm/plan_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace libcoll {
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
  calls.add(epoch("first", 1, 0));
  calls.add(epoch("second", 2, 0));
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
  calls.add(std::move(without));
  CallSequence sequence = calls.next_call();
  LoweredPlanPointer plan = plan_named("old");
  calls.settle(allgather, sequence, plan, nullptr);
  EXPECT_TRUE(calls.is_mended(sequence));
  calls.add(epoch("again", 2, 1));
  CallSequence next = calls.next_call();
  calls.settle(allgather, next, plan, nullptr);
  EXPECT_EQ(plan->algorithm, "again");
  EXPECT_FALSE(calls.is_mended(next));
}

TEST(PlanSequence, DeadLinksAreAdoptedForGood) {
  PlanSequence calls;
  calls.add(epoch("without", 0, 1));
  EXPECT_EQ(calls.adopt(0), nullptr);
  ASSERT_NE(calls.adopt(1), nullptr);
  EXPECT_EQ(calls.adopt(1), nullptr);
  EXPECT_EQ(calls.adopted(), 1U);
  CallSequence sequence;
  sequence.number = 1;
  EXPECT_TRUE(calls.is_mended(sequence));
}

}  // namespace
}  // namespace libcoll
