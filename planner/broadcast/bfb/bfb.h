// BFB: the breadth-first-broadcast allgather (paper 000 §6 and appendix E), by exact integer max-flow.
#pragma once

#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::bfb {

/// The optimal U_{u,t} of LP (1), in its heterogeneous form (14) without latencies: the least possible value of the
/// largest (shards received)/capacity over the links into u in step t, when u receives in step t every shard
/// whose owner is t hops away. Exact rationals in shards per unit capacity; shape steps × N, entry [t−1][u].
/// Error when there are switches or when some host cannot reach another.
Result<std::vector<std::vector<Rational>>> bfb_loads(const topology::Topology& topology);

/// Optimal BFB allgather: steps = diameter, T_B = d/N·Σ_t max_u U_{u,t} (2), achieved exactly by as many chunks
/// per shard as the loads have denominators. When that exceeds options.max_chunks (default 512), the discrete form (13)
/// with the number of chunks up to the limit that loses least; the proof then states what it achieves. Figures:
/// fractional_bandwidth_time, T_B of (1), and rounding_bound, which that form stays below (Theorem 20); both exact.
/// Without options.schedule, steps and optimal T_B alone, by bfb_step_loads() (max_link_load is then an upper bound).
/// Takes options.threads. Errors as for bfb_loads, and when options.time_limit_seconds are over before the schedule is
/// made.
Result<schedule::Schedule> plan_bfb_allgather(const topology::Topology& topology, const registry::PlanOptions& options);

/// The mirror image (reverse of the allgather on the transpose) and, for allreduce, reduce-scatter then allgather
/// with one common number of chunks.
Result<schedule::Schedule> plan_bfb_reduce_scatter(const topology::Topology& topology,
                                                   const registry::PlanOptions& options);
Result<schedule::Schedule> plan_bfb_allreduce(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::bfb
