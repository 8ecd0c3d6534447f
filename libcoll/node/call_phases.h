// The phases of calls in which all ranks of a memory take part, one after the other: each rank says something, and goes
// on when all others have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcoll/node/phases.h"

namespace libcoll::node {

/// One rank's side. Of two phases in a row a rank has seen all others in the first before it comes to the second: what
/// it says in a phase is there until it comes to the second one after that.
class CallPhases {
 public:
  /// `memory` as for Phases.
  CallPhases(std::byte* memory, std::int32_t ranks, std::int32_t rank)
      : ranks_(ranks), rank_(rank), phases_(memory, ranks, rank) {}

  // A phase, in this order.
  /// What this rank will say.
  [[nodiscard]] Phases::Note& next() {
    ++number_;
    return phases_.note(rank_, number_);
  }
  /// Says it. What was written before is seen by those that see the phase.
  void post() { phases_.post(number_); }
  [[nodiscard]] bool has_come(std::int32_t rank) const { return phases_.has_come(rank, number_); }
  /// Whether all ranks have come, after looking for it for a moment.
  [[nodiscard]] bool all_came_soon() const;
  /// What there is to wait for otherwise, on phases().
  [[nodiscard]] Awaited awaited() const { return {ranks_, number_}; }
  /// When it has come: what a rank says.
  [[nodiscard]] Phases::Note& note(std::int32_t rank) const { return phases_.note(rank, number_); }
  /// When they have: whether all say the same number.
  [[nodiscard]] bool all_say(std::int64_t number) const;

  [[nodiscard]] Phases& phases() { return phases_; }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t rank() const { return rank_; }
  /// Of the present phase; equal on all ranks between the same two of their calls.
  [[nodiscard]] std::uint32_t number() const { return number_; }

 private:
  const std::int32_t ranks_;
  const std::int32_t rank_;
  Phases phases_;
  std::uint32_t number_ = 0;
};

}  // namespace libcoll::node
