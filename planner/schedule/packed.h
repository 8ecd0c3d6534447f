// Schedules as ranks of one job hand them to each other: as few bytes as can be had cheaply, not for keeping.
#pragma once

#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// unpack_schedule(pack_schedule(s)) == s, bit for bit, of the same version of libcoll.
std::string pack_schedule(const Schedule& schedule);

/// Error when the bytes are not a packed schedule. The result is well-formed (ids in range) but not verified.
Result<Schedule> unpack_schedule(std::string_view bytes);

}  // namespace libcoll::schedule
