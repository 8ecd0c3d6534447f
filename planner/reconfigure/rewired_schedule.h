// Harvest's plan as a schedule: what is sent when, over which routes, on which wiring.
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/reconfigure/harvest.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"

namespace libcoll::reconfigure {

/// The collective's transfers on the routes of each step's flow, the shards cut into at most `max_chunks` as finely as
/// the shares of the paths ask for; the wirings with their delays, unless the first one serves throughout. The topology
/// is the union of all wirings, with the name and the nodes of `initial` where it is not null; a wire has
/// `model.bytes_per_second` for each of its ports and `model.delta_seconds`. Layers and classes as for other routed
/// schedules. After the deadline paths as in step_flow.h. Error for broadcasts and demands.
Result<schedule::Schedule> rewired_schedule(const Harvest& harvest, const HarvestPlan& plan, const HarvestModel& model,
                                            std::int32_t max_chunks, const topology::Topology* initial = nullptr,
                                            const Deadline& deadline = Deadline(0));

/// "harvest": the staged algorithm options.staging (empty: the default of the collective) on a fabric that is wired as
/// `topology` when the collective begins and can be rewired within its degree; α, α_r and M from the options, δ and the
/// bandwidth of a port from the topology. Without options.schedule no transfers and routes. Figures:
/// completion_seconds, static_seconds, static_topology, every_step_seconds.
Result<schedule::Schedule> plan_harvest(schedule::Collective collective, const topology::Topology& topology,
                                        const registry::PlanOptions& options);

}  // namespace libcoll::reconfigure
