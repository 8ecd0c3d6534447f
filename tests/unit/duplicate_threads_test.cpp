// Duplicates of communicators: ranks that have other ids free find one in common, and calls of a duplicate and of its
// original, begun in another order on every rank, do not meet. Every rank is a thread with a runtime of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/base/index.h"
#include "tests/unit/thread_ranks.h"

namespace libcoll::duplicate_threads_test {

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

class RankOfDuplicates final : public ThreadRank {
 public:
  RankOfDuplicates(Meeting& meeting, int rank, const std::string& directory)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=ring:4", "LIBCOLL_CACHE_DIR=" + directory, "LIBCOLL_COST_MODEL=no",
                    "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_LOG_LEVEL=error"}) {}

 private:
  void work() override {
    if (!is_served(Collective::allgather, true)) return;
    for (int generation = 0; generation < generations && good(); ++generation) {
      for (int i = 0; i < (rank() + generation) % ranks; ++i) take_id();
      // Odd ranks begin the original's call when the duplicate's is under way.
      Gather of_original(2 * generation, rank());
      Gather of_duplicate(2 * generation + 1, rank());
      const std::shared_ptr<Communicator> original = shared_communicator();
      change_to_duplicate();
      if (!good()) return;
      if (rank() % 2 == 0) begin_on(*original, of_original.call);
      begin(of_duplicate.call);
      if (rank() % 2 != 0) begin_on(*original, of_original.call);
      wait_for_begun(false);
      if (!of_original.is_right()) complain("the original's call is wrong");
      if (!of_duplicate.is_right()) complain("the duplicate's call is wrong");
      if (generation % 2 == 0) forget_originals();
    }
  }
};

TEST(Duplicate, ServesBesideItsOriginal) {
  expect_all_well(ranks, [](Meeting& meeting, int rank, const std::string& directory) {
    return std::make_unique<RankOfDuplicates>(meeting, rank, directory);
  });
}

}  // namespace
}  // namespace libcoll::duplicate_threads_test
