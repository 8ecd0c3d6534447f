// Numbers that tell the communicators of a process apart in message tags.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace libcoll::comm {

/// Ids 1..limit of one process, each with one owner at most. Any thread may call. A communicator's id is one that was
/// free in all of its processes: see Membership::agree_on_id().
class IdPool {
 public:
  explicit IdPool(std::uint32_t limit) : taken_(limit + 1, false) { taken_[0] = true; }

  /// Takes this id; false when it has an owner or is none.
  bool take(std::uint32_t id) {
    const std::lock_guard guard(mutex_);
    if (id >= taken_.size() || taken_[id]) return false;
    taken_[id] = true;
    return true;
  }
  void give_back(std::uint32_t id) {
    const std::lock_guard guard(mutex_);
    taken_[id] = false;
  }
  /// The first free id from this one on, else the first of all; 0 when all are taken.
  [[nodiscard]] std::uint32_t next_free(std::uint32_t from) const {
    const std::lock_guard guard(mutex_);
    const auto size = static_cast<std::uint32_t>(taken_.size());
    for (std::uint32_t step = 0; step < size; ++step) {
      const std::uint32_t id = (from + step) % size;
      if (!taken_[id]) return id;
    }
    return 0;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<bool> taken_;
};

}  // namespace libcoll::comm
