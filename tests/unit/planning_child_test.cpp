// The planner's process: its output, and that the program never sees it as a child.
#include "libcoll/plan/planning_child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace libcoll::planning_child_test {

using namespace plan;

namespace {

constexpr std::chrono::milliseconds between_looks{5};

Result<PlanningChild> start(const std::string& task_graph) {
  return PlanningChild::start({"/bin/sh", "-c", task_graph}, -1);
}

void wait_for_end(const PlanningChild& child) {
  while (!child.ended()) std::this_thread::sleep_for(between_looks);
}

/// Of a process that may have ended: it is a zombie until its new parent has looked at it.
bool runs(const std::string& process) {
  std::ifstream stat("/proc/" + process + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return false;
  return text.at(text.rfind(')') + 2) != 'Z';
}

TEST(PlanningChild, WhatItWritesIsKept) {
  Result<PlanningChild> child = start("echo a plan; echo a remark >&2");
  ASSERT_TRUE(child.ok());
  wait_for_end(*child);
  EXPECT_EQ(child->output().value(), "a plan\n");
}

TEST(PlanningChild, WhoWritesNoPlanSaysWhy) {
  Result<PlanningChild> child = start("echo first >&2; echo second >&2; exit 3");
  ASSERT_TRUE(child.ok());
  wait_for_end(*child);
  const Result<std::string> output = child->output();
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().message, "/bin/sh plan ended without a plan: first second");
}

TEST(PlanningChild, WhatCannotRunIsAnError) {
  const Result<PlanningChild> child = PlanningChild::start({"/nonexistent/planner"}, -1);
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().message, "cannot run /nonexistent/planner: No such file or directory");
}

/// A program's wait() for all its children has to end when these have.
TEST(PlanningChild, IsNoChildOfTheProgram) {
  Result<PlanningChild> child = start("sleep 600");
  ASSERT_TRUE(child.ok());
  for (const int options : {WNOHANG, 0}) {
    EXPECT_EQ(waitpid(-1, nullptr, options), -1);
    EXPECT_EQ(errno, ECHILD);
  }
  EXPECT_FALSE(child->ended());
}

TEST(PlanningChild, IsStartedWhereTheProgramIgnoresItsChildren) {
  struct sigaction before {};
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  Result<PlanningChild> child = start("echo a plan");
  sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(child.ok());
  wait_for_end(*child);
  EXPECT_EQ(child->output().value(), "a plan\n");
}

int signals = 0;

TEST(PlanningChild, ItsEndSignalsNothing) {
  struct sigaction before {};
  struct sigaction counted {};
  counted.sa_handler = [](int) { ++signals; };
  sigaction(SIGCHLD, &counted, &before);
  {
    Result<PlanningChild> child = start("exit 0");
    ASSERT_TRUE(child.ok());
    wait_for_end(*child);
    EXPECT_FALSE(child->output().ok());
  }
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(signals, 0);
}

TEST(PlanningChild, GoesWithWhoWantedIt) {
  const std::string file = std::filesystem::temp_directory_path() / ("planning_child." + std::to_string(getpid()));
  std::string process;
  {
    Result<PlanningChild> child = start("echo $$ >" + file + ".new; mv " + file + ".new " + file + "; exec sleep 600");
    ASSERT_TRUE(child.ok());
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(between_looks);
    std::ifstream(file) >> process;
    EXPECT_TRUE(runs(process));
    const PlanningChild moved = std::move(child).value();
    EXPECT_TRUE(runs(process));
  }
  EXPECT_FALSE(runs(process));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace libcoll::planning_child_test
