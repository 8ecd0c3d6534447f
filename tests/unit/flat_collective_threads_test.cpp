// Calls of ranks that have a node each, several of them under way at a time, by a plan whose hosts forward blocks that
// only their ends know the lengths of: every rank is a thread with a runtime of its own, and has a progress thread.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/plan/plan_cache.h"
#include "planner/base/index.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"
#include "tests/unit/thread_ranks.h"

namespace libcoll::flat_collective_threads_test {

using namespace execute;
using namespace plan;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

constexpr int ranks = 4;
constexpr int repetitions = 6;
/// Bytes that some pair has; a round takes 64 KiB at most of what a rank has.
constexpr std::array<int, 4> lengths{0, 1000, 150'000, 20'000};

/// Rank 0 has much for the last; everybody has something for the next; nobody else has anything.
int length(int number, int from, int to) {
  const int most = lengths[static_cast<std::size_t>(number) % lengths.size()];
  if (from == 0 && to == ranks - 1) return most;
  return (from + 1) % ranks == to ? most / 5 + from : 0;
}

std::byte element(int number, int from, int to, int i) {
  return static_cast<std::byte>(number * 101 + from * 31 + to * 7 + i / 3);
}

/// An all-to-all with its buffers.
struct Exchange {
  Exchange(int call_number, int own_rank) : number(call_number), rank(own_rank) {
    call.collective = Collective::alltoall;
    call.counts.resize(ranks * ranks);
    for (int peer = 0; peer < ranks; ++peer) {
      call.counts[at(rank * ranks + peer)] = length(number, rank, peer);
      call.counts[at(peer * ranks + rank)] = length(number, peer, rank);
      call.input_offsets.push_back(static_cast<std::int64_t>(input.size()));
      for (int i = 0; i < length(number, rank, peer); ++i) input.push_back(element(number, rank, peer, i));
      call.output_offsets.push_back(static_cast<std::int64_t>(output.size()));
      output.resize(output.size() + static_cast<std::size_t>(length(number, peer, rank)));
    }
    call.input = input.data();
    call.output = output.data();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() = default;

  [[nodiscard]] bool is_right() const {
    std::size_t next = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      for (int i = 0; i < length(number, peer, rank); ++i) {
        if (output[next++] != element(number, peer, rank, i)) return false;
      }
    }
    return true;
  }

  int number;
  int rank;
  std::vector<std::byte> input;
  std::vector<std::byte> output;
  Call call;
};

class RankOnItsOwn final : public ThreadRank {
 public:
  RankOnItsOwn(Meeting& meeting, int rank, const std::string& cache)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=uniring:" + std::to_string(ranks), "LIBCOLL_CACHE_DIR=" + cache,
                    "LIBCOLL_BACKGROUND_PLANNING=no", "LIBCOLL_COST_MODEL=no", "LIBCOLL_PROGRESS_THREAD=yes",
                    "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_ROUND_BYTES=64K", "LIBCOLL_SEGMENT_BYTES=8K",
                    "LIBCOLL_LOG_LEVEL=warn"}) {}

 private:
  void work() override {
    if (!is_served(Collective::alltoall, false)) return;
    for (int repetition = 0; repetition < repetitions && good(); ++repetition) exchange(repetition);
  }

  /// Some are waited for while others are under way, whose rounds are numbered before theirs.
  void exchange(int repetition) {
    std::vector<std::unique_ptr<Exchange>> begun;
    for (int number = repetition; number < repetition + 8; ++number) {
      begun.push_back(std::make_unique<Exchange>(number, rank()));
      begin(begun.back()->call);
      if (number % 3 != 0) continue;
      const Exchange blocking(number + 1, rank());
      wait_for(blocking.call);
      check(blocking);
    }
    wait_for_begun(repetition % 2 == 0);
    for (const auto& each : begun) check(*each);
  }

  void check(const Exchange& each) {
    if (!each.is_right()) complain("exchange " + std::to_string(each.number) + " is wrong");
  }
};

TEST(FlatCollective, ForwardedBlocksOfUnequalLengths) {
  Schedule plan = ring_alltoall(ranks, 2);
  plan.topology = *generate("uniring:" + std::to_string(ranks));
  finish(plan);
  ASSERT_EQ(verify(plan), std::vector<std::string>{});
  expect_all_well(ranks, [&plan](Meeting& meeting, int rank, const std::string& cache) {
    if (rank == 0) {
      const Status stored = store_plan(cache, plan, automatic_plan);
      EXPECT_TRUE(stored.ok());
    }
    return std::make_unique<RankOnItsOwn>(meeting, rank, cache);
  });
}

}  // namespace
}  // namespace libcoll::flat_collective_threads_test
