// Whether polling is worth a rank's while before it blocks.
#pragma once

#include <atomic>

namespace libcoll::comm {

/// How the last waits of a kind ended. Threads may use it at the same time; a count may then be lost.
class PollHistory {
 public:
  /// Polling that ended in blocking this often in a row is left out, but for a try every now and then.
  static constexpr unsigned fruitless_limit = 3;
  static constexpr unsigned waits_per_try = 32;

  /// Whether the next wait begins with polling.
  bool pays() noexcept {
    const unsigned fruitless = fruitless_.load(std::memory_order_relaxed);
    if (fruitless < fruitless_limit) return true;
    fruitless_.store(fruitless + 1, std::memory_order_relaxed);
    return fruitless % waits_per_try == 0;
  }

  /// @param in_time whether something came within the time that a rank polls. What comes later, where others use the
  ///        processor between two looks, a rank that sleeps sees as early.
  void note(bool in_time) noexcept {
    if (in_time) {
      fruitless_.store(0, std::memory_order_relaxed);
    } else {
      fruitless_.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<unsigned> fruitless_ = 0;  ///< waits in a row
};

}  // namespace libcoll::comm
