// Loads and times of a schedule, exactly.
#pragma once

#include <vector>

#include "planner/base/rational.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// Largest (shards crossing a link in the step) / capacity, one entry per step (index step − 1).
/// A routed transfer loads every link of its route. Capacities are those of the wiring in force.
std::vector<Rational> step_loads(const Schedule& schedule);

/// Largest Σ over all steps of shards crossing one link, per unit capacity.
Rational max_link_load(const Schedule& schedule);

/// Most shards that any host sends or receives over all steps, per unit of injection bandwidth (in b, as link
/// capacities); 0 where injection has no limit. Where it is more than max_link_load, it is what bounds the schedule.
Rational injection_load(const Schedule& schedule);

/// What proofs claim as max_link_load: that, and in all-to-all no less than injection_load().
Rational busiest_load(const Schedule& schedule);

/// What no schedule on any topology whose links all have the same bandwidth can beat, in M/B: a host takes in, or gives
/// away, (N−1)/N of M in allgather and reduce-scatter (paper 000 §3.2) and all of M in broadcast and reduce; allreduce
/// is both of the former. In all-to-all (N−1)/N of M holds as well, but no fabric of few links comes near it.
Rational universal_bandwidth_bound(Collective collective, std::int32_t hosts);

/// T_B in M/B as Proof::bandwidth_time defines it, recomputed from the transfers.
Rational bandwidth_time(const Schedule& schedule);

}  // namespace libcoll::schedule
