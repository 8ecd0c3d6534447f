// Positions are shared out such that results do not depend on the number of threads.
#include "planner/base/work_sharing.h"

#include <gtest/gtest.h>

#include <numeric>

namespace libcoll::work_sharing_test {
namespace {

TEST(WorkSharing, DoesEveryPieceOnce) {
  for (const std::int32_t threads : {1, 2, 5}) {
    for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
      std::vector<int> done(count, 0);
      std::vector<std::size_t> by_worker(5, 0);
      share_work(threads, count, [&](std::int32_t worker, std::size_t position) {
        ++done[position];
        ++by_worker[static_cast<std::size_t>(worker)];
      });
      EXPECT_EQ(done, std::vector<int>(count, 1));
      EXPECT_EQ(std::accumulate(by_worker.begin(), by_worker.end(), std::size_t{0}), count);
    }
  }
}

TEST(WorkSharing, FindsTheFirstFailuresOnAnyNumberOfThreads) {
  constexpr std::size_t count = 500;
  const auto test = [](std::int32_t, std::size_t position) { return position * position % 37 != 11; };
  std::vector<std::size_t> all;
  for (std::size_t position = 0; position < count; ++position) {
    if (!test(0, position)) all.push_back(position);
  }
  ASSERT_GT(all.size(), 8U);
  for (const std::int32_t threads : {1, 2, 5}) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{8}, count}) {
      const std::vector<std::size_t> expected(all.begin(),
                                              all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
      EXPECT_EQ(first_failures(threads, count, most, test), expected);
    }
  }
}

}  // namespace
}  // namespace libcoll::work_sharing_test
