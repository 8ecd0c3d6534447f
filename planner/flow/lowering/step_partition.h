// Time steps for routed schedules (paper 003 §5.5, injection rate control, (1)).
#pragma once

#include <cstdint>

#include "planner/schedule/schedule.h"

namespace libcoll::flow::lowering {

/// What steps that wait for each other make of a routed schedule.
struct StepPartition {
  double load = 0;             ///< Σ over steps of the largest load of a link, in shards per unit capacity
  std::int64_t in_flight = 0;  ///< most chunks that one host sends, or one receives, in one step
};

/// Spreads the chunks of a routed schedule over steps 1..`steps`, so that in each a link carries its share of what it
/// carries in all, and a host sends and receives its share: each chunk goes to the step where links and hosts on its
/// way are least loaded, then chunks move between steps for as long as that evens the loads out. Transfers whose chunks
/// part are split; the order is canonical afterwards. Precondition: every transfer has a route and steps >= 1.
StepPartition partition_over_steps(schedule::Schedule& schedule, std::int32_t steps);

}  // namespace libcoll::flow::lowering
