#include "libcoll/node/call_ways.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace libcoll::call_ways_test {

using namespace node;

namespace {

constexpr std::uint8_t alltoall = 3;
constexpr std::uint8_t allgather = 2;
constexpr std::uint8_t native = 0;
constexpr std::uint8_t stages = 2;

class CallWaysOfThree : public ::testing::Test {
 protected:
  static constexpr std::align_val_t alignment{128};

  CallWaysOfThree() {
    for (std::int32_t rank = 0; rank < 3; ++rank) ways_.emplace_back(memory_, 3, rank);
  }
  ~CallWaysOfThree() override { ::operator delete(memory_, alignment); }

  /// All make the same call.
  void all_begin(int calls) {
    for (int call = 0; call < calls; ++call) {
      for (CallWays& each : ways_) EXPECT_TRUE(each.begin(alltoall, stages));
    }
  }
  [[nodiscard]] std::array<bool, 3> differ() const { return {ways_[0].differ(), ways_[1].differ(), ways_[2].differ()}; }

 private:
  std::byte* const memory_ = new (::operator new(CallWays::bytes(3), alignment)) std::byte[CallWays::bytes(3)]{};

 protected:
  std::vector<CallWays> ways_;
};

using Differ = std::array<bool, 3>;

TEST_F(CallWaysOfThree, TheSameOnAllRanksIsAsItShouldBe) {
  all_begin(20);
  EXPECT_EQ(differ(), (Differ{false, false, false}));
}

TEST_F(CallWaysOfThree, AllSeeThatARankGoesAnotherWay) {
  all_begin(20);
  ways_[0].begin(alltoall, native);
  EXPECT_EQ(differ(), (Differ{false, false, false})) << "the others have not come yet";
  ways_[1].begin(alltoall, stages);
  ways_[2].begin(alltoall, stages);
  EXPECT_EQ(differ(), (Differ{true, true, true}));
}

/// MPI's call may be over on a rank before others have looked.
TEST_F(CallWaysOfThree, AWayIsSeenWhenTheRankHasGoneOn) {
  all_begin(1);
  ways_[0].begin(alltoall, native);
  for (int call = 0; call < 7; ++call) ways_[0].begin(allgather, native);
  ways_[1].begin(alltoall, stages);
  EXPECT_TRUE(ways_[1].differ());
}

/// Calls of other kinds are no two sides of one call.
TEST_F(CallWaysOfThree, OtherKindsAreOtherCalls) {
  all_begin(1);
  ways_[0].begin(allgather, native);
  ways_[1].begin(alltoall, stages);
  EXPECT_FALSE(ways_[1].differ());
  ways_[0].begin(alltoall, native);
  ways_[1].begin(alltoall, stages);
  EXPECT_FALSE(ways_[1].differ()) << "what went before was something else";
}

TEST_F(CallWaysOfThree, ACallThatARankHasLeftIsLeftByAll) {
  all_begin(4);
  ways_[0].begin(alltoall, stages);
  EXPECT_TRUE(ways_[0].leave());
  EXPECT_FALSE(ways_[0].leave());
  EXPECT_TRUE(ways_[1].left());
  EXPECT_TRUE(ways_[0].differ());
  EXPECT_FALSE(ways_[1].differ()) << "it is still in the call before";
  EXPECT_FALSE(ways_[1].begin(alltoall, stages));
  EXPECT_TRUE(ways_[1].differ());
  EXPECT_FALSE(ways_[1].begin(allgather, stages));
}

/// Ranks that have nothing to wait for get ahead.
TEST_F(CallWaysOfThree, EarlierCallsAreNotLeft) {
  all_begin(1);
  for (int call = 0; call < 3; ++call) ways_[0].begin(alltoall, stages);
  ways_[0].leave();
  EXPECT_FALSE(ways_[1].left());
  EXPECT_TRUE(ways_[1].begin(alltoall, stages));
  EXPECT_FALSE(ways_[1].differ());
  EXPECT_TRUE(ways_[1].begin(alltoall, stages));
  EXPECT_TRUE(ways_[1].left());
  EXPECT_FALSE(ways_[1].begin(alltoall, stages));
}

/// Of ranks elsewhere that went another way.
TEST_F(CallWaysOfThree, WhatIsHeardFromElsewhereIsLeftByAllAndToldByOne) {
  all_begin(4);
  ways_[1].leave_from(4);
  EXPECT_EQ(differ(), (Differ{true, true, true}));
  for (const CallWays& each : ways_) EXPECT_TRUE(each.left());
  EXPECT_TRUE(ways_[2].leave()) << "nobody has left before";
  EXPECT_FALSE(ways_[0].leave());
}

TEST(CallWays, OneRankShowsItsLastCalls) {
  CallWays ways;
  CallWays other;
  for (int call = 1; call <= 10; ++call) {
    ways.begin(alltoall, stages);
    other.begin(alltoall, call == 7 ? native : stages);
  }
  EXPECT_FALSE(ways.differ());
  EXPECT_FALSE(CallWays::differ(ways.present(), other.present()));
  EXPECT_TRUE(CallWays::differ(ways.shown(7), other.shown(7)));
  EXPECT_FALSE(CallWays::differ(ways.shown(7), other.shown(8)));
  EXPECT_FALSE(CallWays::differ(ways.shown(11), other.present())) << "not begun";
  EXPECT_FALSE(CallWays::differ({2, ways.shown(2).word}, {2, other.shown(2).word})) << "long ago";
}

}  // namespace
}  // namespace libcoll::call_ways_test
