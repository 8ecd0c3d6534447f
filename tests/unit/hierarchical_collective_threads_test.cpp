// Calls of ranks that share nodes, as the preloaded library runs them: every rank is a thread with a runtime of its
// own, and has a progress thread beside it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/thread_ranks.h"

namespace libcoll::hierarchical_collective_threads_test {

using namespace execute;
using namespace schedule;
using namespace test;

namespace {

using Words = std::vector<std::uint64_t>;

// What comes through the transport's memory is aligned to nothing.
void add(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, static_cast<const std::uint64_t*>(left) + i, sizeof a);
    std::memcpy(&b, static_cast<const char*>(right) + i * static_cast<std::int64_t>(sizeof b), sizeof b);
    static_cast<std::uint64_t*>(destination)[i] = a + b;
  }
}

std::uint64_t value(int rank, int call, std::size_t i) {
  return static_cast<std::uint64_t>(rank) * 1'000'003 + static_cast<std::uint64_t>(call) * 10'007 + i * 31 + 1;
}

/// One call with its buffers.
struct Job {
  Job(Collective collective, int rank, int ranks, int number, std::size_t elements) : input(elements) {
    const bool reduces = collective == Collective::allreduce;
    for (std::size_t i = 0; i < elements; ++i) input[i] = value(rank, number, i);
    output.resize(reduces ? elements : elements * static_cast<std::size_t>(ranks));
    expected.resize(output.size());
    for (int from = 0; from < ranks; ++from) {
      const std::size_t begin = reduces ? 0 : static_cast<std::size_t>(from) * elements;
      for (std::size_t i = 0; i < elements; ++i) expected[begin + i] += value(from, number, i);
    }
    call.collective = collective;
    call.input = reinterpret_cast<const std::byte*>(input.data());
    call.output = reinterpret_cast<std::byte*>(output.data());
    call.elements = static_cast<std::int64_t>(elements);
    call.element_bytes = sizeof(std::uint64_t);
    call.reducer.apply = &add;
  }

  Words input;
  Words output;
  Words expected;
  Call call;
};

constexpr int world = 6;
constexpr int repetitions = 12;
constexpr std::array<std::size_t, 3> lengths{1, 700, 20'000};

class RankOfNode final : public ThreadRank {
 public:
  RankOfNode(Meeting& meeting, int rank, int ranks_per_node, const std::string& cache)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=ring:2", "LIBCOLL_HOST=node" + std::to_string(rank / ranks_per_node),
                    "LIBCOLL_CACHE_DIR=" + cache, "LIBCOLL_BACKGROUND_PLANNING=no", "LIBCOLL_COST_MODEL=no",
                    "LIBCOLL_ONE_NODE=yes", "LIBCOLL_PROGRESS_THREAD=yes", "LIBCOLL_TIMEOUT_SECONDS=120",
                    "LIBCOLL_ALLREDUCE=bfb", "LIBCOLL_ALLGATHER=bfb", "LIBCOLL_LOG_LEVEL=warn"}),
        has_one_node_(ranks_per_node == world) {}

 private:
  void work() override {
    if (!is_served(Collective::allreduce, true) || !is_served(Collective::allgather, true)) return;
    for (int number = 0; number < repetitions && good(); number += 2) {
      wait_for_one(number);
      begin_several(number + 1);
    }
    if ((transport_name() == "none") != has_one_node_) complain("the transport is " + transport_name());
  }

  void check(const Job& job) {
    if (job.output != job.expected) complain("a wrong result of " + std::to_string(job.call.elements) + " elements");
  }

  void wait_for_one(int number) {
    for (const std::size_t elements : lengths) {
      const Job job(number % 4 == 0 ? Collective::allreduce : Collective::allgather, rank(), world, number, elements);
      wait_for(job.call);
      check(job);
    }
  }

  /// Several under way at once, which the progress thread moves along as this one does.
  void begin_several(int number) {
    std::vector<std::unique_ptr<Job>> jobs;
    jobs.reserve(2 * lengths.size());
    for (const std::size_t elements : lengths) {
      for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
        jobs.push_back(std::make_unique<Job>(collective, rank(), world, number, elements));
        begin(jobs.back()->call);
      }
    }
    wait_for_begun(number % 4 != 1);
    for (const auto& job : jobs) check(*job);
  }

  const bool has_one_node_;
};

TEST(HierarchicalCollective, RanksOfNodesWithProgressThreads) {
  expect_all_well(world, [](Meeting& meeting, int rank, const std::string& cache) {
    return std::make_unique<RankOfNode>(meeting, rank, world / 2, cache);
  });
}

TEST(HierarchicalCollective, RanksOfOneNodeOpenNoTransport) {
  expect_all_well(world, [](Meeting& meeting, int rank, const std::string& cache) {
    return std::make_unique<RankOfNode>(meeting, rank, world, cache);
  });
}

}  // namespace
}  // namespace libcoll::hierarchical_collective_threads_test
