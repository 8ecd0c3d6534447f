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
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

  /// Whether some thread waits for it.
  [[nodiscard]] bool is_wanted() const { return wanted_.load(std::memory_order_relaxed) > 0; }

 private:
  std::mutex mutex_;
  std::atomic<int> wanted_ = 0;
};

}  // namespace libcoll::comm
