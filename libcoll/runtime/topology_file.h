// A topology as a file that has no name.
#pragma once

#include <string>

#include "libcoll/runtime/safe_file.h"
#include "planner/result.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// The topology as a nameless file that child processes inherit.
Result<FileDescriptor> share_topology(const Topology& topology);

/// The path by which this process and its children open it.
std::string shared_path(const FileDescriptor& file);

}  // namespace libcoll
