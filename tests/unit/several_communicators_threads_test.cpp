// Communicators of the same ranks: ranks that have other ids free find one in common, and calls of two communicators,
// begun in another order on every rank, do not meet. Every rank is a thread with a runtime of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/base/index.h"
#include "tests/unit/thread_ranks.h"

namespace libcoll::several_communicators_threads_test {

using namespace comm;
using namespace execute;
using namespace schedule;
using namespace test;

namespace {

constexpr int ranks = 4;
constexpr int generations = 8;

/// An allgather with its buffers.
struct Gather {
  Gather(int number, int rank) : key(number) {
    mine.assign(elements, value(rank));
    all.resize(elements * ranks);
    call.collective = Collective::allgather;
    call.input = reinterpret_cast<const std::byte*>(mine.data());
    call.output = reinterpret_cast<std::byte*>(all.data());
    call.elements = elements;
    call.element_bytes = sizeof(std::int64_t);
  }
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  ~Gather() = default;

  [[nodiscard]] std::int64_t value(int rank) const { return key * 100 + rank; }
  [[nodiscard]] bool is_right() const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != value(static_cast<int>(i / elements))) return false;
    }
    return true;
  }

  static constexpr std::size_t elements = 500;
  const std::int64_t key;
  std::vector<std::int64_t> mine;
  std::vector<std::int64_t> all;
  Call call;
};

class RankOfSeveral final : public ThreadRank {
 public:
  RankOfSeveral(Meeting& meeting, int rank, const std::string& directory)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=ring:4", "LIBCOLL_CACHE_DIR=" + directory, "LIBCOLL_COST_MODEL=no",
                    "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_LOG_LEVEL=error"}) {}

 private:
  void work() override {
    if (!is_served(Collective::allgather, true)) return;
    for (int generation = 0; generation < generations && good(); ++generation) {
      for (int i = 0; i < (rank() + generation) % ranks; ++i) take_id();
      // Odd ranks begin the earlier one's call when the later one's is under way.
      Gather of_earlier(2 * generation, rank());
      Gather of_later(2 * generation + 1, rank());
      const std::shared_ptr<Communicator> earlier = shared_communicator();
      make_another_communicator();
      if (communicator().begins(Collective::allgather, true)) return complain("not taken over");
      if (rank() % 2 == 0) begin_on(*earlier, of_earlier.call);
      begin(of_later.call);
      if (rank() % 2 != 0) begin_on(*earlier, of_earlier.call);
      wait_for_begun(false);
      if (!of_earlier.is_right()) complain("the earlier one's call is wrong");
      if (!of_later.is_right()) complain("the later one's call is wrong");
      if (generation % 2 == 0) free_earlier_communicators();
    }
  }
};

TEST(SeveralCommunicators, ServeBesideEachOther) {
  expect_all_well(ranks, [](Meeting& meeting, int rank, const std::string& directory) {
    return std::make_unique<RankOfSeveral>(meeting, rank, directory);
  });
}

}  // namespace
}  // namespace libcoll::several_communicators_threads_test
