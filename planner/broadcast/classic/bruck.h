// Bruck: allgather and all-to-all in ⌈log2 N⌉ steps for any N (Bruck, Ho, Kipnis, Upfal, Weathersby 1997).
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// In step k node v sends what it gathered, the shards of v, v+1, …, to v − 2^(k−1) mod N, in the last step only what
/// is lacking there. Reduce-scatter is the mirror image, allreduce both. Shortest routes where there is no link.
Result<schedule::Schedule> plan_bruck(schedule::Collective collective, const topology::Topology& topology,
                                      const registry::PlanOptions& options);

/// The index algorithm of radix r (all-to-all): in step x a block that has to go o hosts on goes j·r^x of them, j being
/// digit x of o; a host sends r − 1 messages in a step. Precondition: radix ≥ 2.
Pattern bruck_index_pattern(std::int32_t hosts, std::int32_t radix);

/// The index algorithm of radix 2: ⌈log2 N⌉ steps, in each of which about half of all blocks travel. Shortest routes
/// where there is no link. F is what its loads come to, its bound the links' share of all shortest ways.
Result<schedule::Schedule> plan_bruck_alltoall(const topology::Topology& topology,
                                               const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
