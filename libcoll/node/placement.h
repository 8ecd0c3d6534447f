// Where processes are bound on their node, as hwloc sees it. The program's threads stay where they are.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/result.h"

namespace libcoll::node {

/// The NUMA domain (logical index) whose processors the calling thread is bound to; -1 when they are not all of one
/// domain. By the files of Linux, unless HWLOC_SYNTHETIC, HWLOC_XMLFILE or HWLOC_FSROOT says another structure: to read
/// it hwloc loads its plugins, some of which load the libraries of GPUs. An error when neither can read it.
Result<std::int32_t> numa_domain();

/// The same for processors `cpus` ("0-3,8") by files that are as Linux has them in /sys/devices/system/node. Domains
/// are numbered by their place among those that are online.
Result<std::int32_t> numa_domain_by_files(const std::string& directory, const std::string& cpus);

/// The same for processors `cpus` ("0-3,8") of a node that hwloc's synthetic description says ("numa:2 core:4 pu:1").
Result<std::int32_t> numa_domain(const std::string& synthetic, const std::string& cpus);

// Processors are lists of numbers as hwloc and Linux have them: "0-3,8".

/// Those that the threads of this process may run on; empty: all that the node has for it.
Result<std::string> bound_processors();

/// A core for a thread of rank `rank` that none of this node's ranks, bound to `bindings`, is bound to: in the rank's
/// NUMA domain where there is one, and another one for each rank as long as there are enough. Empty: none is free, or
/// some rank is not bound.
Result<std::string> free_core(const std::vector<std::string>& bindings, std::size_t rank);

/// The same on a node that hwloc's synthetic description says.
Result<std::string> free_core(const std::string& synthetic, const std::vector<std::string>& bindings, std::size_t rank);

/// An error where the system refuses.
Status bind_thread(pthread_t thread, const std::string& processors);

}  // namespace libcoll::node
