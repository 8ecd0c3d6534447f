// One route for each pair of nodes between which a schedule takes several: for blocks so short that a further message
// costs more than the busiest link gains by it.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// By source · N + destination, of N hosts: an index into the schedule's routes, one of those that its transfers from
/// source to destination take; `direct` where they take none. Empty where no pair has two. Greedily: one pair after
/// the other, those with the fewest routes first, takes the route whose most loaded link carries least; then all of
/// them once more, with the others known. A pair counts once, whatever it sends. O(pairs · routes of a pair · hops).
std::vector<std::int32_t> single_path_routes(const Schedule& schedule);

}  // namespace libcoll::schedule
