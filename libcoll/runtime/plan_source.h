// Where a plan comes from: the cache, a combinatorial planner in this process, or the `libcoll` command.
#pragma once

#include <chrono>
#include <string>

#include "libcoll/runtime/config.h"
#include "planner/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll {

/// A verified plan. All-to-all needs a linear program, which this process does not carry: when it is not in the
/// cache, the `libcoll` command is run once. What was planned is stored in the cache when that is possible. An empty
/// config.topology: `topology` is not what the configuration names, and the command is given its text. A command that
/// takes longer than `patience` is ended.
Result<Schedule> obtain_plan(const Config& config, const Topology& topology, Collective collective,
                             std::chrono::seconds patience = std::chrono::seconds(120));

/// Setting for one planned collective: "auto", "native" or a planner's name.
const std::string& algorithm_setting(const Config& config, Collective collective);

}  // namespace libcoll
