// Swing: partners at distances 1, 1, 3, 5, 11, … to alternate sides, so that they stay near on rings and tori (De
// Sensi, Bonato, Saam, Hoefler 2024).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// The bandwidth-optimal form: in step s of the reduce-scatter a node with even coordinate a turns to a + ρ(s), one
/// with odd a to a − ρ(s), ρ(s) = (1 − (−2)^(s+1))/3, in the dimensions in turn; the allgather is its mirror image. On
/// topologies without dimensions (grid_of) hosts form one ring by id; partners without a link exchange over shortest
/// routes. A dimension of n nodes takes ⌈log2 n⌉ steps (allreduce: twice as many). Where n is even but no power of two,
/// distances are taken modulo n and the last step of the allgather leaves out what its receiver has already (§3.2 of
/// the paper). Where n is odd, the first n − 1 nodes swing, in ⌈log2 (n−1)⌉ steps, and the extra one exchanges a shard
/// with each of them directly: with as many in a step as the others send shards in it.
Result<schedule::Schedule> plan_swing(schedule::Collective collective, const topology::Topology& topology,
                                      const registry::PlanOptions& options);

/// Multiported: 2·D of these at once, each with its part of the data, starting in another dimension or to the other
/// side.
Result<schedule::Schedule> plan_swing_multiport(schedule::Collective collective, const topology::Topology& topology,
                                                const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
