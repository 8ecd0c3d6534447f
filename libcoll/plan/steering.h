// Which of a transport's contexts sends what takes a route.
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/schedule.h"

namespace libcoll::plan {

/// Puts the transport's contexts (places in binding.classes, see context_of()) in the place of the routes' classes.
/// Where the binding has none for a route, or is for other routes, all routes take context 0, the fabric's default
/// routing, and the error says what is missing. Routes that are all of class 0 stay as they are. `contexts`: how many
/// the transport has.
Status steer(schedule::Schedule& schedule, const schedule::RouteBinding& binding, std::int32_t contexts);

}  // namespace libcoll::plan
