// Routing in two phases (L. G. Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 11, 1982), with
// every node as the place between in turn instead of a random one.
#pragma once

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// An all-to-all in which part w of the N parts of every block goes by way of node w, on both legs as whole blocks go
/// in `uniform`: what single pairs have for each other loads the links as even blocks would that are (R_s + C_d)/N
/// long, where source s sends R_s and destination d receives C_d to and from all others. Even blocks cross twice as
/// many links as in `uniform`, whose bounds are kept. Error unless that is an all-to-all in one step, in which no host
/// forwards.
Result<Schedule> spread_over_nodes(const Schedule& uniform);

}  // namespace libcoll::schedule
