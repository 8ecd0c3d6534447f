// Bidirectional ring: every shard goes both ways, half around the ring each (paper 000 §F.1, Figure 17).
#pragma once

#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Every shard both ways around ring_order(). Precondition: every host can reach every other.
Result<Pattern> bidirectional_ring_pattern(const topology::Topology& topology, const registry::PlanOptions& options);

/// ⌊N/2⌋ steps (allreduce twice as many); with even N the node opposite gets half of the shard from either side. T_B =
/// d/2·(N−1)/N on a two-way ring of links. Ring and errors as for plan_ring.
Result<schedule::Schedule> plan_bidirectional_ring(schedule::Collective collective, const topology::Topology& topology,
                                                   const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
