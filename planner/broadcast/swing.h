// Swing: partners at distances 1, 1, 3, 5, 11, … to alternate sides, so that they stay near on rings and tori (De
// Sensi, Bonato, Saam, Hoefler 2024).
#pragma once

#include "planner/planner.h"
#include "planner/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// The bandwidth-optimal form: in step s of the reduce-scatter a node with even coordinate a turns to a + ρ(s), one
/// with odd a to a − ρ(s), ρ(s) = (1 − (−2)^(s+1))/3, in the dimensions in turn; the allgather is its mirror image.
/// log2 N steps (allreduce: twice as many). On topologies without dimensions (grid_of) hosts form one ring by id. Every
/// dimension must be a power of two; partners without a link exchange over shortest routes.
Result<Schedule> plan_swing(Collective collective, const Topology& topology, const PlanOptions& options);

/// Multiported: 2·D of these at once, each with its part of the data, starting in another dimension or to the other
/// side.
Result<Schedule> plan_swing_multiport(Collective collective, const Topology& topology, const PlanOptions& options);

}  // namespace libcoll
