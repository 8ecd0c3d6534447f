// Work in a child: what it returns, and how it is stopped.
#include "libcoll/command/child_work.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace libcoll::command {

using namespace command;

namespace {

using std::chrono::steady_clock;

TEST(ChildWork, ReturnsWhatItMade) {
  // Longer than a pipe holds.
  const std::string text(1 << 20, 'x');
  int changed = 0;
  const Result<std::optional<std::string>> made = in_child(
      [&] {
        changed = 1;
        return std::string(text);
      },
      60);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*made, text);
  EXPECT_EQ(changed, 0);  // in the child alone
  EXPECT_EQ(in_child([] { return std::string("for as long as it takes"); }, 0).value(), "for as long as it takes");
}

TEST(ChildWork, IsStoppedWhenTheTimeIsUp) {
  const steady_clock::time_point start = steady_clock::now();
  const Result<std::optional<std::string>> made = in_child(
      [] {
        for (;;) pause();
        return std::string();
      },
      0.2);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_FALSE(made->has_value());
  EXPECT_GE(steady_clock::now() - start, std::chrono::milliseconds(200));
}

TEST(ChildWork, SaysHowItDied) {
  const auto killed = in_child(
      [] {
        raise(SIGKILL);
        return std::string();
      },
      60);
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().message, "ended by signal 9");
  const auto ended = in_child([]() -> std::string { _exit(3); }, 60);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().message, "ended with exit code 3");
}

TEST(ChildWork, FinishesACommandOnceItIsReady) {
  int done_here = 0;
  const auto meanwhile = [&] { ++done_here; };
  const auto seven = [] { return 7; };
  EXPECT_EQ(finished_in_child([] { return true; }, seven, meanwhile, Deadline(60)), 7);
  EXPECT_EQ(finished_in_child([] { return true; }, seven, meanwhile, Deadline(0)), 7);
  EXPECT_EQ(done_here, 2);
}

TEST(ChildWork, LeavesACommandToItsParent) {
  const auto nothing = [] {};
  const auto never = []() -> int { return kill(getppid(), SIGKILL); };
  EXPECT_EQ(finished_in_child([] { return false; }, never, nothing, Deadline(60)), std::nullopt);
  const auto dies = [] { return raise(SIGKILL) == 0; };
  EXPECT_EQ(finished_in_child(dies, never, nothing, Deadline(60)), std::nullopt);
  const auto goes_on = [] {
    for (;;) pause();
    return true;
  };
  EXPECT_EQ(finished_in_child(goes_on, never, nothing, Deadline(0.2)), std::nullopt);
}

}  // namespace
}  // namespace libcoll::command
