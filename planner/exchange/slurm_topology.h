// Slurm's topology.conf of topology/tree.
#pragma once

#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// Lines `SwitchName=NAME Nodes=HOSTLIST` and `SwitchName=NAME Switches=HOSTLIST [LinkSpeed=N]`, in any order; comments
/// after '#', keys in any case, a backslash at the end joins lines. Slurm knows which switch a node hangs on, not how
/// fast: every cable has the default bandwidth. Errors start with "FILE:LINE: ".
Result<topology::Topology> read_slurm_topology(std::string_view text, const std::string& file);

}  // namespace libcoll::exchange
