#include "libcoll/observe/histogram.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace libcoll::histogram_test {

using namespace observe;

namespace {

using Bin = SizeHistogram::Bin;

/// Powers of two begin a bin, what is one less ends the one before, and every size is within its bin's ends.
TEST(SizeHistogram, BinsArePowersOfTwo) {
  EXPECT_EQ(SizeHistogram::bin_of(unknown_bytes), 0U);
  EXPECT_EQ(SizeHistogram::bin_of(0), 1U);
  for (int power = 0; power < 63; ++power) {
    const std::int64_t bytes = std::int64_t{1} << power;
    const auto bin = static_cast<std::size_t>(power) + 2;
    EXPECT_EQ(SizeHistogram::bin_of(bytes), bin);
    EXPECT_EQ(SizeHistogram::bin_of(bytes - 1), power == 0 ? 1 : bin - 1);
    EXPECT_EQ(SizeHistogram::first_byte(bin), bytes);
    EXPECT_EQ(SizeHistogram::last_byte(bin), bytes - 1 + bytes);
  }
  EXPECT_EQ(SizeHistogram::last_byte(SizeHistogram::bin_of(std::numeric_limits<std::int64_t>::max())),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(SizeHistogram::first_byte(0), unknown_bytes);
  EXPECT_EQ(SizeHistogram::last_byte(1), 0);
}

TEST(SizeHistogram, CountsTimes) {
  SizeHistogram histogram;
  EXPECT_TRUE(histogram.empty());
  histogram.count(5, 30);
  histogram.count(7, 10);
  histogram.count(4, 20);
  histogram.count(8, 99);
  EXPECT_EQ(histogram.calls(), 4);
  ASSERT_EQ(histogram.bins().size(), 6U);
  EXPECT_EQ(histogram.bins()[4], (Bin{3, 60, 10, 30}));
  EXPECT_EQ(histogram.bins()[5], (Bin{1, 99, 99, 99}));
  EXPECT_EQ(histogram.bins()[3], Bin());
}

TEST(SizeHistogram, AddsCallsOfTheSameProcess) {
  SizeHistogram a;
  SizeHistogram b;
  SizeHistogram both;
  for (const auto& [bytes, time] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 5}, {100, 7}, {100, 3}}) {
    a.count(bytes, time);
    both.count(bytes, time);
  }
  for (const auto& [bytes, time] : std::vector<std::pair<std::int64_t, std::int64_t>>{{100, 2}, {1000, 9}, {-1, 4}}) {
    b.count(bytes, time);
    both.count(bytes, time);
  }
  SizeHistogram sum = a;
  sum.add(b);
  EXPECT_EQ(sum, both);
  SizeHistogram other_way = b;
  other_way.add(a);
  EXPECT_EQ(other_way, both);
}

/// The same two calls on two ranks, one of which was later each time.
TEST(SizeHistogram, JoinsRanks) {
  SizeHistogram fast;
  SizeHistogram slow;
  fast.count(64, 10);
  fast.count(64, 20);
  slow.count(64, 15);
  slow.count(64, 40);
  fast.take_slower(slow);
  EXPECT_EQ(fast, slow);
  EXPECT_EQ(fast.calls(), 2);
}

/// In an alltoallv ranks send different amounts: one call, in two bins.
TEST(SizeHistogram, RanksThatSortACallDifferentlyStillHaveOneCall) {
  SizeHistogram mine;
  SizeHistogram other;
  mine.count(64, 10);
  other.count(1024, 10);
  mine.take_slower(other);
  EXPECT_EQ(mine.calls(), 1);
  EXPECT_EQ(mine.bins()[SizeHistogram::bin_of(64)].calls, 1);
  EXPECT_EQ(mine.bins()[SizeHistogram::bin_of(1024)].calls, 1);
}

TEST(SizeHistogram, Texts) {
  EXPECT_EQ(bin_text(0), "unknown size");
  EXPECT_EQ(bin_text(1), "0 B");
  EXPECT_EQ(bin_text(2), "1 B");
  EXPECT_EQ(bin_text(SizeHistogram::bin_of(3)), "2 B..4 B");
  EXPECT_EQ(bin_text(SizeHistogram::bin_of(1000)), "512 B..1 KiB");
  EXPECT_EQ(bin_text(SizeHistogram::bin_of(100'000)), "64 KiB..128 KiB");
  EXPECT_EQ(bin_text(64), "from 4 EiB");
  EXPECT_EQ(seconds_text(0), "0.000000000");
  EXPECT_EQ(seconds_text(1'002'003'004), "1.002003004");
  EXPECT_EQ(seconds_text(999), "0.000000999");
}

}  // namespace
}  // namespace libcoll::histogram_test
