// Places for what is under way: their numbers are what completions carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "libcoll/transport/transport.h"

namespace libcoll::transport {

/// Slots stay in place; one that was given back is taken again first.
template <class Slot>
class SlotPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void give(std::uint32_t number) { free_.push_back(number); }

  Slot& operator[](std::uint32_t number) { return slots_[number]; }
  const Slot& operator[](std::uint32_t number) const { return slots_[number]; }
  /// All slots that ever were taken, those that are free included.
  std::deque<Slot>& all() { return slots_; }

 private:
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

/// Calls a member function of its owner.
template <class Owner, void (Owner::*Member)(std::uint32_t, bool)>
class Relay final : public Waiter {
 public:
  explicit Relay(Owner& owner) : owner_(owner) {}
  void completed(std::uint32_t index, bool ok) noexcept override { (owner_.*Member)(index, ok); }

 private:
  Owner& owner_;
};

}  // namespace libcoll::transport
