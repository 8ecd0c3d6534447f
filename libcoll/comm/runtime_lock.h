// The lock of a runtime, which the progress thread keeps for as long as nobody else wants it.
#pragma once

#include <atomic>
#include <mutex>

namespace libcoll::comm {

class RuntimeLock {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    wanted_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool try_lock() {
    if (mutex_.try_lock()) return true;
    was_asked_for_.store(true, std::memory_order_relaxed);
    return false;
  }
  void unlock() { mutex_.unlock(); }

  /// Whether some thread waits for it, or has tried to take it since this was last asked.
  bool is_wanted() {
    return was_asked_for_.exchange(false, std::memory_order_relaxed) || wanted_.load(std::memory_order_relaxed) > 0;
  }

 private:
  std::mutex mutex_;
  std::atomic<int> wanted_ = 0;
  std::atomic<bool> was_asked_for_ = false;
};

}  // namespace libcoll::comm
