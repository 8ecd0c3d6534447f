// The choice between a plan and MPI by trying both, with a clock that the calls turn.
#include "libcoll/select/crossover.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/two_ranks.h"

namespace libcoll::crossover_test {

using namespace select;
using namespace test;

namespace {

/// Both take a time that depends on the size; `calls` counts them.
struct Model {
  std::function<std::int64_t(std::int64_t)> plan;
  std::function<std::int64_t(std::int64_t)> native;
  std::int64_t calls = 0;

  Contest contest(std::int64_t largest_bytes, std::int64_t budget = 1'000'000'000) {
    const auto run = [this](const std::function<std::int64_t(std::int64_t)>& time) {
      return [this, &time](std::int64_t bytes) {
        ++calls;
        TwoRanks::clock += time(bytes);
        return true;
      };
    };
    return {run(plan), run(native), largest_bytes, budget, &TwoRanks::now};
  }
};

/// α + m/b each: MPI starts at 1 µs and moves a byte per ns, the plan starts at 5 µs and moves four. They meet at
/// 4000/(3/4) = 5333 bytes, between the 4096 and 32768 that are tried.
TEST(Crossover, FindsWhereTheLinesMeet) {
  Model model{[](std::int64_t m) { return 5000 + m / 4; }, [](std::int64_t m) { return 1000 + m; }};
  TwoRanks host(3);
  EXPECT_EQ(find_crossover(host, model.contest(1 << 20)), 4096);
  EXPECT_EQ(host.agreements, 5 * 2);
  EXPECT_EQ(model.calls, 5 * (4 + 5 * 2 * 8));
}

TEST(Crossover, APlanThatIsFasterOrHardlySlowerIsTaken) {
  TwoRanks host(1);
  Model faster{[](std::int64_t) { return 900; }, [](std::int64_t) { return 1000; }};
  EXPECT_EQ(find_crossover(host, faster.contest(1 << 20)), never_native);
  Model hardly_slower{[](std::int64_t) { return 1040; }, [](std::int64_t) { return 1000; }};
  EXPECT_EQ(find_crossover(host, hardly_slower.contest(1 << 20)), never_native);
  Model slower{[](std::int64_t) { return 1100; }, [](std::int64_t) { return 1000; }};
  EXPECT_EQ(find_crossover(host, slower.contest(1 << 10)), 512);
}

/// One try in five in which MPI seems to take no time decides nothing.
TEST(Crossover, OneLuckyTryIsNothing) {
  std::int64_t count = 0;
  Model model{[](std::int64_t) { return 900; }, [&](std::int64_t) { return count++ < 2 + 8 ? 1 : 1000; }};
  TwoRanks host(1);
  EXPECT_EQ(find_crossover(host, model.contest(1 << 20)), never_native);
}

TEST(Crossover, StopsWhenTheTimeIsUp) {
  Model model{[](std::int64_t) { return 2000; }, [](std::int64_t) { return 1000; }};
  TwoRanks host(1);
  // So slow against the budget that a try is one call: a size takes (2 + 5)·3000 ns, and the second passes it.
  EXPECT_EQ(find_crossover(host, model.contest(1 << 30, 40'000)), 64);
}

TEST(Crossover, NothingIsSaidAfterAFailure) {
  Model model{[](std::int64_t) { return 2000; }, [](std::int64_t) { return 1000; }};
  TwoRanks mpi_fails(1);
  mpi_fails.fails = true;
  EXPECT_EQ(find_crossover(mpi_fails, model.contest(1 << 20)), std::nullopt);
  TwoRanks other_fails(1);
  other_fails.other_failed = true;
  EXPECT_EQ(find_crossover(other_fails, model.contest(1 << 20)), std::nullopt);
  Contest failing = model.contest(1 << 20);
  failing.plan = [](std::int64_t) { return false; };
  TwoRanks host(1);
  EXPECT_EQ(find_crossover(host, failing), std::nullopt);
  EXPECT_EQ(host.agreements, 1);  // all the same, so that the others need not wait
}

class CrossoverFile : public testing::Test {
 protected:
  CrossoverFile() : directory_(mkdtemp(name_.data())) {
    place_ = {directory_.string(), "abc.xml", CallKind::allgather, 8, 4, "ucx"};
  }
  ~CrossoverFile() override { std::filesystem::remove_all(directory_); }

  CrossoverPlace place_;

 private:
  std::string name_ = (std::filesystem::temp_directory_path() / "libcoll-crossover-XXXXXX").string();
  std::filesystem::path directory_;
};

TEST_F(CrossoverFile, IsReadBack) {
  EXPECT_EQ(load_crossover(place_), std::nullopt);
  for (const std::int64_t up_to : {never_native, std::int64_t{8}, std::int64_t{32768}}) {
    ASSERT_TRUE(store_crossover(place_, up_to).ok());
    EXPECT_EQ(load_crossover(place_), up_to);
  }
}

/// Another call, communicator, transport or plan has its own.
TEST_F(CrossoverFile, IsForOneSituation) {
  ASSERT_TRUE(store_crossover(place_, 64).ok());
  std::vector<CrossoverPlace> others(5, place_);
  others[0].call = CallKind::bcast;
  others[1].ranks = 16;
  others[2].nodes = 8;
  others[3].transport = "ofi";
  others[4].plan_file = "def.xml";
  for (const CrossoverPlace& other : others) EXPECT_EQ(load_crossover(other), std::nullopt);
}

TEST_F(CrossoverFile, WhatCannotBeReadIsNotThere) {
  ASSERT_TRUE(store_crossover(place_, 64).ok());
  for (const auto& entry : std::filesystem::directory_iterator(place_.directory)) {
    std::ofstream(entry.path()) << "[[choice]]\ncall = \"bcast\"\nuse = \"plan\"\n";
  }
  EXPECT_EQ(load_crossover(place_), std::nullopt);
  for (const auto& entry : std::filesystem::directory_iterator(place_.directory)) {
    std::ofstream(entry.path()) << "no table";
  }
  EXPECT_EQ(load_crossover(place_), std::nullopt);
  CrossoverPlace nowhere = place_;
  nowhere.directory += "/nowhere";
  EXPECT_EQ(load_crossover(nowhere), std::nullopt);
  EXPECT_FALSE(store_crossover(nowhere, 64).ok());
}

}  // namespace
}  // namespace libcoll::crossover_test
