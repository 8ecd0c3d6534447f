// What tells the nodes of one machine apart in the file system: each has a view of its own.
#pragma once

#include <string>
#include <vector>

#include "planner/base/result.h"

namespace libcoll::fabric {

/// In a new mount namespace: /sys (network devices), /dev/shm, and `hosts_file` as /etc/hosts.
Status mount_private_view(const std::string& hosts_file);

/// Empty /tmp, /run and /var, as a machine of its own has, but for these directories, which stay visible where they are
/// (absolute paths). Those elsewhere are visible anyway, and those that do not exist are passed over.
Status mount_private_directories(const std::vector<std::string>& shared);

}  // namespace libcoll::fabric
