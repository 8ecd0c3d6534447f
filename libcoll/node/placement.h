// Where a process is bound on its node, as hwloc sees it. Read, never changed.
#pragma once

#include <cstdint>
#include <string>

#include "planner/base/result.h"

namespace libcoll::node {

/// The NUMA domain (logical index) whose processors the calling thread is bound to; -1 when they are not all of one
/// domain. An error when hwloc cannot read the node's structure.
Result<std::int32_t> numa_domain();

/// The same for processors `cpus` ("0-3,8") of a node that hwloc's synthetic description says ("numa:2 core:4 pu:1").
Result<std::int32_t> numa_domain(const std::string& synthetic, const std::string& cpus);

}  // namespace libcoll::node
