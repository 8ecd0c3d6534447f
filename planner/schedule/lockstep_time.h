// What a schedule takes when nodes keep step: the α–β model of papers 000 and 001.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// T(M) = latency + M · seconds_per_byte. M is the whole vector in bytes: N shards (in all-to-all the N blocks of a
/// node).
struct LockstepTime {
  /// Σ over steps of the most links that a transfer of the step crosses: T_L / α where hosts forward or routes are
  /// long.
  std::int32_t hops = 0;
  double latency_seconds = 0;   ///< the same with every link's latency, and what rewiring the fabric takes
  double seconds_per_byte = 0;  ///< T_B / B

  [[nodiscard]] double seconds(double bytes) const { return latency_seconds + bytes * seconds_per_byte; }
};

/// Needs the transfers; T_B is the proof's.
LockstepTime lockstep_time(const Schedule& schedule);

/// The largest vector in bytes that takes no longer by a plan of `fewer` steps than by the usual one. Nothing where
/// that is no vector at all, or every one.
std::optional<std::int64_t> bytes_up_to(const LockstepTime& fewer, const LockstepTime& usual);

}  // namespace libcoll::schedule
