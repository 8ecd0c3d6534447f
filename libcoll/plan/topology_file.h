// Files that have no name, for child processes; a topology as one.
#pragma once

#include <string>

#include "libcoll/base/safe_file.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::plan {

/// An empty file. `name` is for people who look at the process's descriptors.
Result<FileDescriptor> make_nameless_file(const char* name);

/// The same file, as child processes inherit it.
Result<FileDescriptor> share_file(const FileDescriptor& file);

/// The topology as a nameless file that child processes inherit.
Result<FileDescriptor> share_topology(const topology::Topology& topology);

/// The path by which this process and, where it is inherited, its children open it.
std::string shared_path(const FileDescriptor& file);

}  // namespace libcoll::plan
