// Work in equal kinds of pieces over several threads, with results that do not depend on how many.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/run_on_threads.h"

namespace libcoll {

/// The positions, ascending and at most `most`, of the first of 0..count-1 for which test(worker, position) is false.
/// Workers 0..threads-1 take positions in ascending order, each one at a time; positions beyond the last one returned
/// may be tested or not.
template <class Test>
std::vector<std::size_t> first_failures(std::int32_t threads, std::size_t count, std::size_t most, const Test& test) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> found{0};
  std::vector<char> failed(count, 0);
  const auto workers = static_cast<std::int32_t>(std::clamp<std::size_t>(count, 1, static_cast<std::size_t>(threads)));
  run_on_threads(workers, [&](std::int32_t worker) {
    while (found < most) {
      const std::size_t position = next++;
      if (position >= count) return;
      if (test(worker, position)) continue;
      failed[position] = 1;
      ++found;
    }
  });
  // What was taken is a beginning of the list, and all of it was tested.
  std::vector<std::size_t> positions;
  for (std::size_t position = 0; position < count && positions.size() < most; ++position) {
    if (failed[position] != 0) positions.push_back(position);
  }
  return positions;
}

/// work(worker, position) for every position 0..count-1.
template <class Work>
void share_work(std::int32_t threads, std::size_t count, const Work& work) {
  first_failures(threads, count, 1, [&](std::int32_t worker, std::size_t position) {
    work(worker, position);
    return true;
  });
}

}  // namespace libcoll
