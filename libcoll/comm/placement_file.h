// The file that says where each rank is, for clusters whose host names do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

/// The node of a rank of the world by the text of a placement file: lines "rank 3=n5", as Open MPI's rankfile has them;
/// what follows the name ("slot=0") and '#' to the end of a line are left out. The name is a host's or a node's. Errors
/// name `file`, the line, what was found and what was expected, also where the rank is missing.
Result<topology::NodeId> read_placement(std::string_view text, const std::string& file,
                                        const topology::Topology& topology, std::int32_t world_rank);

/// The same from a file.
Result<topology::NodeId> load_placement(const std::string& path, const topology::Topology& topology,
                                        std::int32_t world_rank);

}  // namespace libcoll::comm
