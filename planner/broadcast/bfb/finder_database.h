// What the topology finder found, kept in a file (paper 000 §5.4: computed once, looked up ever after).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/broadcast/bfb/finder.h"

namespace libcoll::broadcast::bfb {

/// Frontiers of one direction by (nodes, degree). Those that are not there were not looked for; empty ones were found
/// to be empty.
struct FinderDatabase {
  Direction direction = Direction::any;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<FoundTopology>> frontiers;
};

/// Every number of nodes from 2 to `most_nodes` with each of the degrees.
/// `threads`: how many degrees at a time. After the deadline no other frontier is begun.
FinderDatabase sweep(Direction direction, std::int32_t most_nodes, const std::vector<std::int32_t>& degrees,
                     std::int32_t threads = 1, const Deadline& deadline = Deadline(0));

/// CSV: a line that names the format, then nodes,degree,steps,bandwidth_time,specification by frontier member, the last
/// to the end of the line; steps 0 and no specification for an empty frontier.
std::string write_database(const FinderDatabase& database);

/// Errors start with "FILE:LINE: " and say what was found and expected. FoundTopology::regular and bfb_optimal, which
/// only the finder itself asks for, are left at their defaults.
Result<FinderDatabase> read_database(std::string_view text, const std::string& file);

}  // namespace libcoll::broadcast::bfb
