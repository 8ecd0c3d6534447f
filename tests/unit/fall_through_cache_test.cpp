#include "libcoll/serve/fall_through_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace libcoll::fall_through_cache_test {

using namespace observe;
using namespace serve;

namespace {

CallKey some_call() {
  CallKey call;
  call.as_of = FallThroughCache::now();
  call.comm = 0x44000000;
  call.words = {2, 0x4c000405, 0x58000003, 1, 7};
  call.kind = CallKind::bcast;
  return call;
}

class PrecedentTest : public testing::Test {
 protected:
  PrecedentTest() { FallThroughCache::forget_all(); }
};

TEST_F(PrecedentTest, FindsWhatWasAdded) {
  EXPECT_EQ(FallThroughCache::find(some_call()), nullptr);
  FallThroughCache::add({some_call(), 16, Reason::modelled_native});
  const CachedFallThrough* found = FallThroughCache::find(some_call());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->reason, Reason::modelled_native);
  EXPECT_EQ(found->bytes, 16);
}

/// Each argument may decide how a call goes.
TEST_F(PrecedentTest, NothingElseIsLikeIt) {
  using Change = std::function<void(CallKey&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"communicator", [](CallKey& call) { call.comm = 0x44000001; }},
      {"type", [](CallKey& call) { call.words[1] = 3; }},
      {"operation", [](CallKey& call) { call.words[2] = 3; }},
      {"count", [](CallKey& call) { call.words[0] = 3; }},
      {"root", [](CallKey& call) { call.words[3] = 0; }},
      {"kind", [](CallKey& call) { call.kind = CallKind::reduce; }},
      {"in place", [](CallKey& call) { call.in_place = true; }},
      {"time", [](CallKey& call) { ++call.as_of; }},
  };
  FallThroughCache::add({some_call(), 16, Reason::modelled_native});
  for (const auto& [what, change] : changes) {
    CallKey other = some_call();
    change(other);
    EXPECT_EQ(FallThroughCache::find(other), nullptr) << what;
  }
}

TEST_F(PrecedentTest, ForgetsEverything) {
  FallThroughCache::add({some_call(), 16, Reason::modelled_native});
  FallThroughCache::forget_all();
  EXPECT_EQ(FallThroughCache::find(some_call()), nullptr);
}

/// A decision made before something changed is none for the calls after it.
TEST_F(PrecedentTest, WhatIsAddedTooLateIsNotFound) {
  const CallKey before = some_call();
  FallThroughCache::forget_all();
  FallThroughCache::add({before, 16, Reason::modelled_native});
  EXPECT_EQ(FallThroughCache::find(some_call()), nullptr);
}

/// There are fewer places than calls: whatever is found is what was added for that very call, and the last one is.
TEST_F(PrecedentTest, CallsMayShareAPlace) {
  CallKey call = some_call();
  for (int count = 1; count <= 1000; ++count) {
    call.words[0] = static_cast<std::uint64_t>(count);
    FallThroughCache::add({call, count, Reason::tuned_native});
  }
  int found = 0;
  for (int count = 1; count <= 1000; ++count) {
    call.words[0] = static_cast<std::uint64_t>(count);
    const CachedFallThrough* cached = FallThroughCache::find(call);
    if (cached == nullptr) continue;
    ++found;
    EXPECT_EQ(cached->bytes, count);
  }
  EXPECT_NE(FallThroughCache::find(call), nullptr);
  EXPECT_LE(found, 8);
}

/// Communicators in turn, wherever their handles lie and whatever was called before.
TEST_F(PrecedentTest, RemembersTwoCallsInTurn) {
  for (std::uint64_t distance = 1; distance <= 4096; ++distance) {
    FallThroughCache::forget_all();
    const auto call_with = [](std::uint64_t comm) {
      CallKey call = some_call();
      call.comm += comm;
      return call;
    };
    const auto is_missed = [](const CallKey& call) {
      if (FallThroughCache::find(call) != nullptr) return false;
      FallThroughCache::add({call, 16, Reason::modelled_native});
      return true;
    };
    for (std::uint64_t other = 0; other < 4; ++other) is_missed(call_with(16 * 5000 + 32 * other));
    is_missed(call_with(0));
    is_missed(call_with(16 * distance));
    for (int turn = 0; turn < 3; ++turn) {
      ASSERT_FALSE(is_missed(call_with(0))) << distance;
      ASSERT_FALSE(is_missed(call_with(16 * distance))) << distance;
    }
  }
}

TEST_F(PrecedentTest, ThreadsRememberForThemselves) {
  FallThroughCache::add({some_call(), 16, Reason::modelled_native});
  bool found = true;
  std::thread([&found] { found = FallThroughCache::find(some_call()) != nullptr; }).join();
  EXPECT_FALSE(found);
  std::thread([] { FallThroughCache::forget_all(); }).join();
  EXPECT_EQ(FallThroughCache::find(some_call()), nullptr);
}

/// Reasons behind which stands a look that is to be repeated: a plan may come, ranks may agree, and a message may be
/// lost.
TEST_F(PrecedentTest, SomeReasonsDoNotLast) {
  for (const Reason reason : {Reason::planning, Reason::not_agreed, Reason::no_progress, Reason::transport,
                              Reason::bad_arguments, Reason::unsupported_type}) {
    EXPECT_FALSE(lasts(reason)) << to_string(reason);
  }
  for (const Reason reason : {Reason::disabled, Reason::single_rank, Reason::one_node, Reason::modelled_native,
                              Reason::no_plan, Reason::user_operation}) {
    EXPECT_TRUE(lasts(reason)) << to_string(reason);
  }
}

}  // namespace
}  // namespace libcoll::fall_through_cache_test
