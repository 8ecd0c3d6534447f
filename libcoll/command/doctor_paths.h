// Links of switches, for `libcoll doctor`: no process is at their ends, so that they are judged by what hosts measure
// across them.
#pragma once

#include <cstdint>
#include <vector>

#include "libcoll/command/doctor_verdict.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

/// Paths between hosts to be measured. Only those through switches whose way is known: there is no other shortest one.
struct SwitchPaths {
  /// A topology of the hosts alone, in which every path is a link as wide as its narrowest.
  topology::Topology ends;
  std::vector<std::vector<topology::LinkId>> links;  ///< of the topology, by link of `ends`
  std::int32_t links_of_switches = 0;                ///< that there are
  std::int32_t links_on_paths = 0;                   ///< that some path crosses
};

/// Enough for two paths over every link where there are two. `measures` by host: it has a process. Without paths where
/// there are no switches.
SwitchPaths choose_paths(const topology::Topology& topology, const std::vector<bool>& measures);

/// What is wrong with links that paths cross: of those of slow paths, those that no good path crosses. `measured` is of
/// links of `paths.ends`.
std::vector<Finding> judge_paths(const topology::Topology& topology, const SwitchPaths& paths,
                                 const std::vector<LinkMeasurement>& measured, double tolerance);

}  // namespace libcoll::command
