// Blink (Wang et al., MLSys 2020): for each root by itself the spanning trees that carry its broadcast fastest.
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// An allgather in which each host's shard goes as plan_forestcoll_broadcast() sends it from there: the plan for calls
/// in which one host has something. Alone, a shard of M bytes takes broadcast_time · M/B, which is the optimum
/// (Edmonds) where all hosts' trees have one number of chunks of at most options.max_chunks (0: 64), or one that
/// divides it; else each host has 16 trees, the best of so many. All shards at once take longer than by the forest of
/// plan_forestcoll_allgather(): T_B is of that. Figures: broadcast_time, in M/B, of the slowest root;
/// broadcast_bound, the least that any broadcast from that root takes; tree_depth_max. Errors as of the broadcasts.
Result<schedule::Schedule> plan_blink_allgather(const topology::Topology& topology,
                                                const registry::PlanOptions& options);

/// The same for reductions to one host, as plan_forestcoll_reduce() has them.
Result<schedule::Schedule> plan_blink_reduce_scatter(const topology::Topology& topology,
                                                     const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::forest
