// Fork and join for the numerical kernels.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace libcoll {

/// Runs work(0), …, work(count-1) at the same time, work(0) on the calling thread, and waits for all of them.
template <class Work>
void run_on_threads(std::int32_t count, const Work& work) {
  std::vector<std::jthread> others;
  for (std::int32_t i = 1; i < count; ++i) others.emplace_back([&work, i] { work(i); });
  work(0);
}

}  // namespace libcoll
