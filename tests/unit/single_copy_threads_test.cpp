// Longer calls of a node, whose ranks are threads here, or processes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "libcoll/node/process_memory.h"
#include "libcoll/node/short_exchange.h"
#include "libcoll/node/single_copy.h"
#include "tests/unit/calls_of_ranks.h"

namespace libcoll::single_copy_threads_test {

using namespace calls_of_ranks;
using namespace execute;
using namespace node;
using namespace schedule;

namespace {

constexpr int calls = 48;

/// Of the shortest block that is read.
std::int64_t least_elements(Collective collective, std::int32_t ranks) {
  const std::int64_t bytes = collective == Collective::allgather ? NeighbourMemory::least_block_bytes_of_gather(ranks)
                                                                 : NeighbourMemory::least_block_bytes;
  return bytes / static_cast<std::int64_t>(sizeof(double));
}

NeighbourMemory this_process(std::int32_t ranks) {
  return NeighbourMemory(std::vector<pid_t>(static_cast<std::size_t>(ranks), getpid()));
}

/// Waits as ranks do. How the call ended.
SingleCopy::State run(SingleCopy& copies, CallPhases& phases, const Call& call) {
  copies.begin(call);
  for (SingleCopy::State state = SingleCopy::State::goes_on;;) {
    if (!wait_for_all(phases)) return SingleCopy::State::failed;
    state = copies.go_on(call);
    if (state == SingleCopy::State::failed) phases.phases().fail();
    if (state != SingleCopy::State::goes_on) return state;
  }
}

/// Each collective in place and not, over the shortest and other lengths; short calls go through the same phases.
std::string run_calls(ShortExchange& exchange, SingleCopy& copies, std::int32_t ranks, std::int32_t rank) {
  for (int number = 0; number < calls; ++number) {
    const Collective collective = number % 2 == 0 ? Collective::allgather : Collective::alltoall;
    const bool in_place = number / 2 % 2 == 0;
    const std::int64_t elements = least_elements(collective, ranks) + number / 4 * 4999;
    const RankCall mine(collective, number, elements, ranks, rank, in_place);
    if (!copies.fits(mine.call)) return mine.complaint("does not fit");
    if (run(copies, exchange.phases(), mine.call) != SingleCopy::State::over) return mine.complaint("failed");
    if (!mine.fault().empty()) return mine.fault();
    const RankCall short_call(Collective::allgather, number, 1 + number % 3, ranks, rank, false);
    exchange.begin(short_call.call);
    if (!wait_for_all(exchange.phases()) || !exchange.finish(short_call.call)) return short_call.complaint("failed");
    if (!short_call.fault().empty()) return short_call.fault();
  }
  return "";
}

class SingleCopyOf : public testing::TestWithParam<std::int32_t> {};

TEST_P(SingleCopyOf, RanksGetWhatTheyShow) {
  const std::int32_t ranks = GetParam();
  Shared memory(ShortExchange::bytes(ranks));
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
  const NeighbourMemory neighbours = this_process(ranks);
  on_all_ranks(ranks, [&](std::int32_t rank) {
    ShortExchange exchange(memory.data(), one_domain(ranks), rank);
    SingleCopy copies(exchange.phases(), neighbours);
    wrong[static_cast<std::size_t>(rank)] = run_calls(exchange, copies, ranks, rank);
  });
  EXPECT_EQ(wrong, std::vector<std::string>(wrong.size()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, SingleCopyOf, testing::Values(2, 3, 5));

#if !defined(__SANITIZE_THREAD__)
/// Two processes; the one that waits for the other is its parent. 0: the results are right.
int run_as(std::int32_t rank, std::byte* memory, const std::vector<pid_t>& processes) {
  ShortExchange exchange(memory, one_domain(2), rank);
  const NeighbourMemory neighbours(processes);
  SingleCopy copies(exchange.phases(), neighbours);
  const std::string wrong = run_calls(exchange, copies, 2, rank);
  if (!wrong.empty()) fprintf(stderr, "%s\n", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

TEST(SingleCopy, ProcessesReadEachOthersMemory) {
  // Both have the word at one place.
  const ProcessMark parent = own_mark();
  void* const shared =
      mmap(nullptr, ShortExchange::bytes(2), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::array<int, 2> answers{};
  ASSERT_EQ(pipe(answers.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const char may = can_read(parent) ? 1 : 0;
    const bool told = write(answers[1], &may, 1) == 1;
    _exit(told && may == 1 ? run_as(1, static_cast<std::byte*>(shared), {parent.process, getpid()}) : 0);
  }
  char may = 0;
  ASSERT_EQ(read(answers[0], &may, 1), 1);
  ProcessMark of_child = parent;
  of_child.process = child;
  const bool both_may = may == 1 && can_read(of_child);
  const int failures = both_may ? run_as(0, static_cast<std::byte*>(shared), {parent.process, child}) : 0;
  if (may == 1 && !both_may) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(answers[0]);
  close(answers[1]);
  munmap(shared, ShortExchange::bytes(2));
  if (!both_may) GTEST_SKIP() << "processes may not read each other's memory here";
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(status, 0);
}
#endif

/// Of one rank alone the memory cannot be read; the other one hears of it.
TEST(SingleCopy, MemoryThatCannotBeReadIsNoResult) {
  constexpr std::size_t block = NeighbourMemory::least_block_bytes;
  void* const mapped = mmap(nullptr, 2 * block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(mprotect(mapped, block, PROT_NONE), 0);
  Shared memory(ShortExchange::bytes(2));
  std::array<SingleCopy::State, 2> ends{};
  const NeighbourMemory neighbours = this_process(2);
  on_all_ranks(2, [&](std::int32_t rank) {
    ShortExchange exchange(memory.data(), one_domain(2), rank);
    SingleCopy copies(exchange.phases(), neighbours);
    const RankCall mine(Collective::allgather, 0, least_elements(Collective::allgather, 2), 2, rank, true);
    Call call = mine.call;
    if (rank == 0) call.input = call.output = static_cast<std::byte*>(mapped);
    ends[static_cast<std::size_t>(rank)] = run(copies, exchange.phases(), call);
  });
  EXPECT_EQ(ends[0], SingleCopy::State::failed);
  EXPECT_EQ(ends[1], SingleCopy::State::failed);
  munmap(mapped, 2 * block);
}

TEST(SingleCopy, OtherLengthsAreSeenAndTheNextCallIsRight) {
  Shared memory(ShortExchange::bytes(2));
  std::array<SingleCopy::State, 2> first{};
  std::array<std::string, 2> second;
  const NeighbourMemory neighbours = this_process(2);
  on_all_ranks(2, [&](std::int32_t rank) {
    const auto place = static_cast<std::size_t>(rank);
    ShortExchange exchange(memory.data(), one_domain(2), rank);
    SingleCopy copies(exchange.phases(), neighbours);
    const RankCall other(Collective::allgather, 0, least_elements(Collective::allgather, 2) + rank, 2, rank, false);
    first[place] = run(copies, exchange.phases(), other.call);
    const RankCall same(Collective::alltoall, 1, least_elements(Collective::alltoall, 2), 2, rank, false);
    second[place] = run(copies, exchange.phases(), same.call) == SingleCopy::State::over ? same.fault() : "failed";
  });
  EXPECT_EQ(first[0], SingleCopy::State::lengths_differ);
  EXPECT_EQ(first[1], SingleCopy::State::lengths_differ);
  EXPECT_EQ(second[0], "");
  EXPECT_EQ(second[1], "");
}

TEST(SingleCopy, WhatFits) {
  Shared memory(ShortExchange::bytes(3));
  ShortExchange exchange(memory.data(), one_domain(3), 0);
  const NeighbourMemory neighbours = this_process(3);
  const SingleCopy of_three(exchange.phases(), neighbours);
  Call call;
  call.collective = Collective::alltoall;
  call.elements = NeighbourMemory::least_block_bytes;
  EXPECT_TRUE(of_three.fits(call));
  --call.elements;
  EXPECT_FALSE(of_three.fits(call));
  call.collective = Collective::allgather;
  call.elements = 2 * NeighbourMemory::least_block_bytes;
  EXPECT_TRUE(of_three.fits(call));
  --call.elements;
  EXPECT_FALSE(of_three.fits(call));
  ++call.elements;
  call.counts = {1, 2, 3};
  EXPECT_FALSE(of_three.fits(call));
  call.counts.clear();
  call.collective = Collective::allreduce;
  EXPECT_FALSE(of_three.fits(call));
}

TEST(ProcessMemory, AnotherProcessOfThatNumberIsSeen) {
  ProcessMark mark = own_mark();
  EXPECT_TRUE(can_read(mark));
  ++mark.value;
  EXPECT_FALSE(can_read(mark));
  mark = own_mark();
  mark.address = 8;  // nobody has the first page
  EXPECT_FALSE(can_read(mark));
}

}  // namespace

}  // namespace libcoll::single_copy_threads_test
