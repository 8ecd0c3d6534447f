// Waiting for a network that has nothing to wake a sleeper with.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace libcoll::transport {

/// Sleeps that grow while nothing happens: what arrives is seen after half a millisecond at the latest, and a process
/// that waits for long takes little of the processor. Members may be called by several threads: relaxed, as the length
/// says nothing of other data, and a lost update makes one nap longer or shorter.
class Nap {
 public:
  /// Sleeps, at most `timeout_milliseconds`.
  void take(int timeout_milliseconds) noexcept {
    const int microseconds = length_.load(std::memory_order_relaxed);
    length_.store(std::min(2 * microseconds, longest_microseconds), std::memory_order_relaxed);
    if (timeout_milliseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }
  /// Something happened: the next one is short again.
  void disturb() noexcept { length_.store(shortest_microseconds, std::memory_order_relaxed); }

 private:
  static constexpr int shortest_microseconds = 20;
  static constexpr int longest_microseconds = 500;
  std::atomic<int> length_{shortest_microseconds};
};

}  // namespace libcoll::transport
