// The schedule that `libcoll routes` has routes for: that of a file, or an all-to-all that is planned.
#pragma once

#include <cstdint>

#include "libcoll/command/routes_fabric.h"
#include "libcoll/command/routes_options.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::command {

/// A schedule, what it lost of F for fewer classes and lanes when it was planned here, and most lanes for its tables.
struct Planned {
  schedule::Schedule schedule;
  double loss = 0;
  std::int32_t most_lanes = exchange::SubnetLimits{}.service_levels;
};

/// The schedule of a file, or an all-to-all on the topology given.
Result<Planned> named_schedule(const RoutesOptions& options);

/// The same on the fabric, or an all-to-all on the fabric itself.
Result<Planned> schedule_for(const RoutesOptions& options, const Fabric& fabric);

}  // namespace libcoll::command
