// Ring: every shard travels once around one ring (Patarasuk and Yuan 2009; paper 001 Fig. 1).
#pragma once

#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Every shard once around ring_order(). Precondition: every host can reach every other.
Result<Pattern> ring_pattern(const topology::Topology& topology, const registry::PlanOptions& options);

/// N−1 steps (allreduce: 2·(N−1)), one shard per link and step: T_B = d·(N−1)/N on a ring of links, since one of d
/// links is used. The ring is a Hamiltonian cycle where one is found (ring_order); neighbours without a link are joined
/// by shortest routes. Error when a host cannot reach another.
Result<schedule::Schedule> plan_ring(schedule::Collective collective, const topology::Topology& topology,
                                     const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
