// Which way long calls within a node go: all ranks go the same one, whoever is ahead, and the faster one wins.
#include "libcoll/node/copy_choice.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace libcoll::copy_choice_test {

using namespace execute;
using namespace node;
using namespace schedule;

namespace {

constexpr std::int64_t least_bytes_read = 128 * 1024;

Call call_of(Collective collective, std::int64_t bytes) {
  Call call;
  call.collective = collective;
  call.elements = bytes;
  return call;
}

/// Ranks that share a choice. Each of them may be in a call when others have not begun it, or have ended it; but none
/// ends one that another has not begun.
class Ranks {
 public:
  Ranks(std::int32_t ranks, unsigned seed) : random_(seed), begun_(static_cast<std::size_t>(ranks)), ended_(begun_) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) choices_.emplace_back(memory_, rank == 0);
  }

  /// `time`: of a call that reads, or does not. How many of them read; -1: some ranks did in a call where others did
  /// not.
  int run(const std::vector<Call>& calls, const std::function<std::int64_t(const Call&, bool)>& time) {
    const std::size_t first = begun_.front();
    std::vector<int> readers(calls.size());
    while (!all_have_ended(first + calls.size())) step(first, calls, time, readers);
    int read = 0;
    for (const int count : readers) {
      if (count != 0 && count != static_cast<int>(choices_.size())) return -1;
      read += count == 0 ? 0 : 1;
    }
    return read;
  }

 private:
  [[nodiscard]] bool all_have_ended(std::size_t number) const {
    for (const std::size_t ended : ended_) {
      if (ended < number) return false;
    }
    return true;
  }
  [[nodiscard]] bool all_have_begun(std::size_t number) const {
    for (const std::size_t begun : begun_) {
      if (begun < number) return false;
    }
    return true;
  }

  void step(std::size_t first, const std::vector<Call>& calls,
            const std::function<std::int64_t(const Call&, bool)>& time, std::vector<int>& readers) {
    const std::size_t rank = random_() % choices_.size();
    if (begun_[rank] == ended_[rank] && begun_[rank] < first + calls.size()) {
      const std::size_t number = begun_[rank]++ - first;
      choices_[rank].begin(calls[number], least_bytes_read);
      readers[number] += choices_[rank].reads() ? 1 : 0;
    } else if (begun_[rank] > ended_[rank] && all_have_begun(begun_[rank])) {
      const Call& call = calls[ended_[rank]++ - first];
      choices_[rank].end(call, time(call, choices_[rank].reads()));
    }
  }

  std::mt19937 random_;
  alignas(128) std::byte memory_[256]{};
  std::deque<CopyChoice> choices_;
  std::vector<std::size_t> begun_;
  std::vector<std::size_t> ended_;
};

std::int64_t reading_is_slow(const Call& call, bool reads) { return call.elements / (reads ? 4 : 8); }
std::int64_t reading_is_fast(const Call& call, bool reads) { return call.elements / (reads ? 8 : 4); }

TEST(CopyChoice, WhatCanGoBothWays) {
  ASSERT_LE(CopyChoice::bytes(), 256U);
  EXPECT_TRUE(CopyChoice::serves(call_of(Collective::allgather, 16 * 1024)));
  EXPECT_TRUE(CopyChoice::serves(call_of(Collective::alltoall, 1024 * 1024 - 1)));
  EXPECT_FALSE(CopyChoice::serves(call_of(Collective::alltoall, 16 * 1024 - 1)));
  EXPECT_FALSE(CopyChoice::serves(call_of(Collective::alltoall, 1024 * 1024)));
  EXPECT_FALSE(CopyChoice::serves(call_of(Collective::allreduce, 16 * 1024)));
  Call call = call_of(Collective::alltoall, 16 * 1024);
  call.counts = {1};
  EXPECT_FALSE(CopyChoice::serves(call));
  call = call_of(Collective::allgather, 16 * 1024);
  call.is_rooted = true;
  EXPECT_FALSE(CopyChoice::serves(call));
}

TEST(CopyChoice, TheFasterWayIsTakenAndTheOtherOneTriedSeldom) {
  for (const std::int64_t bytes : {16 * 1024, 100'000, 128 * 1024, 1'000'000}) {
    const std::vector<Call> calls(4096, call_of(Collective::alltoall, bytes));
    Ranks ranks(3, 7);
    const int tried = ranks.run(calls, reading_is_slow);
    EXPECT_GT(tried, 0) << bytes;
    EXPECT_LT(tried, 200) << bytes;
    Ranks others(3, 8);
    EXPECT_GT(others.run(calls, reading_is_fast), 3896) << bytes;
  }
}

/// What was slow becomes fast: at the next trial all change.
TEST(CopyChoice, ChangesWithTheMachine) {
  Ranks ranks(4, 11);
  const std::vector<Call> calls(4096, call_of(Collective::allgather, 65536));
  EXPECT_LT(ranks.run(calls, reading_is_slow), 200);
  EXPECT_GT(ranks.run(calls, reading_is_fast), 3896 - CopyChoice::most_calls);
  EXPECT_LT(ranks.run(calls, reading_is_slow), 200 + CopyChoice::most_calls);
}

/// A difference that may be chance changes nothing.
TEST(CopyChoice, WhatLiesNearStays) {
  Ranks ranks(2, 13);
  const std::vector<Call> calls(2048, call_of(Collective::alltoall, 65536));
  EXPECT_LT(ranks.run(calls, [](const Call&, bool reads) { return reads ? 9800 : 10'000; }), 100);
}

/// Calls of all kinds and sizes, times without any order.
TEST(CopyChoice, AllRanksGoTheSameWay) {
  std::mt19937 random(17);
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<Call> calls;
    for (int i = 0; i < 3000; ++i) {
      const Collective collective = random() % 2 == 0 ? Collective::allgather : Collective::alltoall;
      const std::int64_t kind =
          random() % 3 == 0 ? static_cast<std::int64_t>(random() % (1024 * 1024 - 16 * 1024)) : 50'000;
      calls.push_back(call_of(collective, 16 * 1024 + kind));
    }
    Ranks ranks(static_cast<std::int32_t>(2 + seed % 5), seed);
    EXPECT_GT(ranks.run(calls, [&](const Call&, bool) { return static_cast<std::int64_t>(random() % 10'000); }), 0);
  }
}

}  // namespace
}  // namespace libcoll::copy_choice_test
