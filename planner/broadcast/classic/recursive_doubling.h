// Recursive doubling and halving: partners at distances 1, 2, 4, … (Thakur, Rabenseifner, Gropp 2005).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Allgather by recursive doubling (distances 1, 2, …, N/2, twice the data each time), reduce-scatter by recursive
/// halving, its mirror image; log2 N steps each. Partners without a link exchange over shortest routes. Hosts beyond
/// the largest power of two hand their shards to a stand-in first and are given everything at the end: two steps more.
Result<schedule::Schedule> plan_recursive_doubling(schedule::Collective collective, const topology::Topology& topology,
                                                   const registry::PlanOptions& options);

/// Allreduce by halving and doubling (Rabenseifner): vector halving with distance doubling, then vector doubling with
/// distance halving, so that much data goes a short way: 2·log2 N steps. For allgather and reduce-scatter the two
/// halves of it. Other N as above.
Result<schedule::Schedule> plan_halving_doubling(schedule::Collective collective, const topology::Topology& topology,
                                                 const registry::PlanOptions& options);

/// Allreduce by exchange of whole vectors: log2 N steps, each of which loads a link with the whole vector. Partners
/// reduce each other's value of the same step, so it is right in lockstep only (verify_lockstep). Allreduce only; other
/// N with stand-ins that reduce the vectors of hosts beyond the largest power of two.
Result<schedule::Schedule> plan_recursive_doubling_exchange(schedule::Collective collective,
                                                            const topology::Topology& topology,
                                                            const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
