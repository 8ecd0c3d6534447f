#include "libcoll/serve/reentrancy_guard.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace libcoll::reentrancy_guard_test {

using namespace serve;

namespace {

/// What happened, in order: "s" served, "f" handed on; with the argument behind it.
std::string history;

bool is_new(int) noexcept { return false; }

std::optional<int> serve_even(int argument) noexcept {
  if (argument % 2 != 0) return std::nullopt;
  history += "s" + std::to_string(argument);
  return argument + 100;
}

int hand_on(int argument) {
  history += "f" + std::to_string(argument);
  return argument + 200;
}

/// A call that falls through and wants to know when it has come back.
std::optional<int> serve_nothing_and_wait(int argument) noexcept {
  ReentrancyGuard::call_at_end([]() noexcept { history += "e"; });
  history += "w" + std::to_string(argument);
  return std::nullopt;
}

constexpr std::uint64_t some_communicator = 0x44000001;
std::optional<int> serve_where_remembered(int) noexcept {
  return ReentrancyGuard::communicator() == some_communicator ? 1 : 0;
}

/// An MPI, or another tool, whose call is made of another call.
int hand_on_to_even(int argument) { return enter(0, &is_new, &serve_even, &hand_on, argument + 1); }

/// Ours, when serving a call takes another call.
std::optional<int> serve_by_even(int argument) noexcept { return enter(0, &is_new, &serve_even, &hand_on, argument); }

int hand_on_and_throw(int) { throw std::runtime_error("as an error handler may"); }

class EntranceTest : public testing::Test {
 protected:
  EntranceTest() { history.clear(); }
};

TEST_F(EntranceTest, ServesOrHandsOn) {
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on, 2), 102);
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on, 3), 203);
  EXPECT_EQ(history, "s2f3");
}

TEST_F(EntranceTest, KnownCallsAreHandedOnUnlessTheyAreWithinOthers) {
  const auto is_known = [](int argument) noexcept {
    history += "k";
    return argument < 10;
  };
  EXPECT_EQ(enter(0, is_known, &serve_even, &hand_on, 2), 202);
  EXPECT_EQ(enter(0, is_known, &serve_even, &hand_on, 12), 112);
  EXPECT_EQ(history, "kf2ks12");
  const ReentrancyGuard within_another;
  EXPECT_EQ(enter(0, is_known, &serve_even, &hand_on, 2), 202);
  EXPECT_EQ(history, "kf2ks12f2");
}

TEST_F(EntranceTest, CallsMadeOfCallsAreHandedOn) {
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on_to_even, 3), 204);
  EXPECT_EQ(enter(0, &is_new, &serve_by_even, &hand_on, 4), 204);
  EXPECT_EQ(history, "f4f4");
}

TEST_F(EntranceTest, EndsWithTheCall) {
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on_to_even, 3), 204);
  EXPECT_THROW(enter(0, &is_new, &serve_even, &hand_on_and_throw, 5), std::runtime_error);
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on, 6), 106);
  EXPECT_EQ(history, "f4s6");
}

/// Once, after the call was handed on and whatever it was made of, also when it ended badly.
TEST_F(EntranceTest, CallsBackAtTheEnd) {
  EXPECT_EQ(enter(0, &is_new, &serve_nothing_and_wait, &hand_on_to_even, 3), 204);
  EXPECT_EQ(history, "w3f4e");
  EXPECT_EQ(enter(0, &is_new, &serve_even, &hand_on, 2), 102);
  EXPECT_EQ(history, "w3f4es2");
  EXPECT_THROW(enter(0, &is_new, &serve_nothing_and_wait, &hand_on_and_throw, 5), std::runtime_error);
  EXPECT_EQ(history, "w3f4es2w5e");
}

TEST_F(EntranceTest, RemembersTheCommunicator) {
  EXPECT_EQ(enter(some_communicator, &is_new, &serve_where_remembered, &hand_on, 7), 1);
  EXPECT_EQ(ReentrancyGuard::communicator(), some_communicator);
}

}  // namespace
}  // namespace libcoll::reentrancy_guard_test
