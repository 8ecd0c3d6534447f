// What calls of the allgather family take in which one host has everything: broadcasts and reductions by such a plan.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// Pipelined in segments: T(M) = latency + (steps − 1) · segment / b + M · seconds_per_byte. The latency has, beside
/// the links' own, 4 us a step for what a message costs its ends: more steps are to pay on fast links, too.
struct OneRootTime {
  std::int32_t steps = 0;
  double latency_seconds = 0;             ///< of a message on its way along the longest tree
  double most_at_once = 1;                ///< the largest part of the vector that is one transfer
  double bandwidth_bytes_per_second = 1;  ///< b, of a link
  double seconds_per_byte = 0;            ///< of the busiest link, whichever host has the vector

  /// Of a vector of so many bytes, cut into segments of so many.
  [[nodiscard]] double seconds(double bytes, double segment_bytes) const;

  /// What a vector of so many bytes is best cut into, `most` at most: with L bytes on the busiest link and α a message,
  /// (steps − 1) · s / b + L / s · α is least for s = √(L · α · b / (steps − 1)). A power of two, 32 KiB at least.
  [[nodiscard]] std::int64_t best_segment_bytes(std::int64_t bytes, std::int64_t most) const;
};

/// Of an allgather or a reduce-scatter; needs the transfers.
OneRootTime one_root_time(const Schedule& schedule);

/// The least power of two, in bytes, from which on vectors (up to 1 GiB) take less time by `rooted`, in its best
/// segments, than by `usual` in segments of `segment_bytes`; nothing where those of 1 GiB do not. 32 KiB at least: with
/// less, what counts is how many messages there are.
std::optional<std::int64_t> one_root_from(const OneRootTime& rooted, const OneRootTime& usual,
                                          std::int64_t segment_bytes);

}  // namespace libcoll::schedule
