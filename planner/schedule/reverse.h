// Mirror images of schedules (paper 000 §3 and appendix B).
#pragma once

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// Allgather on G ↔ reduce-scatter on the transpose of G, broadcast ↔ reduce likewise: links turned around, step t
/// becomes T+1−t, copy becomes reduce and back. reverse(reverse(s)) == s. Error for other collectives or routed
/// schedules.
Result<Schedule> reverse(const Schedule& schedule);

/// Reduce-scatter then allgather on the same topology, as one allreduce schedule. Chunk counts are brought
/// to their least common multiple; proofs add up.
Result<Schedule> concatenate(const Schedule& reduce_scatter, const Schedule& allgather);

}  // namespace libcoll::schedule
