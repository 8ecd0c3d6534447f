// What a planner may spend.
#pragma once

#include <algorithm>
#include <cstdint>

#include "planner/base/deadline.h"
#include "planner/registry/planner.h"

namespace libcoll::registry {

/// Until when, and on how many threads. Results are the same for any number of threads.
struct Effort {
  Deadline deadline{0};
  std::int32_t threads = 1;
  /// For planners that go on after the deadline without proofs: when to give that up, too.
  Deadline end{0};
};

/// From now on.
inline Effort effort_of(const PlanOptions& options) {
  return {Deadline(options.time_limit_seconds), std::max(options.threads, 1)};
}

}  // namespace libcoll::registry
