// What the ranks of a node have to know before a call: which cables are done without from it on. One of them finds out
// and tells the others in memory that they share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

#include "libcoll/node/bidirectional_link.h"
#include "libcoll/node/phases.h"

namespace libcoll::node {

class CallOrder {
 public:
  /// Bytes of shared memory, zeroed at first and aligned to a cache line, for so many processes.
  static std::size_t bytes(std::int32_t processes);
  /// `self`: the place of this process; that of the one who tells is 0.
  CallOrder(std::byte* memory, std::int32_t processes, std::int32_t self);

  /// Turn number 1, 2, … begins, and from it on all of `cables` are done without, of which the list has room
  /// for some hundreds. Those of other turns stay.
  void tell(std::uint32_t turn, const std::set<BidirectionalLink>& cables);
  /// Until it was told. False when the one who tells gave no sign of life for too long, or has given up.
  bool hear(std::uint32_t turn, const Patience& patience);
  /// Without waiting.
  [[nodiscard]] bool was_told(std::uint32_t turn) const;
  /// All that are done without in that turn; precondition: it was heard, or told.
  [[nodiscard]] std::set<BidirectionalLink> cables(std::uint32_t turn) const;
  /// Nobody hears of any further turn.
  void fail() { phases_.fail(); }
  /// For one who waits for others itself before it tells.
  [[nodiscard]] std::atomic<std::uint32_t>& signs_of_life() { return phases_.signs_of_life(); }

 private:
  struct List;

  [[nodiscard]] List& list() const;

  std::byte* memory_;
  std::int32_t processes_;
  Phases phases_;
};

}  // namespace libcoll::node
