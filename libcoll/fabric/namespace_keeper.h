// The processes that keep a fabric's namespaces alive: one control process and, below it, one per node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/fabric/processes.h"
#include "planner/base/result.h"

namespace libcoll::fabric {

/// The hidden subcommand a control process and its holders show in /proc/PID/cmdline, before the fabric's name.
inline constexpr const char* keeper_subcommand = "fabric-hold";

/// What the control process is told.
struct KeeperOrder {
  std::string fabric;
  std::string hosts_file;          ///< absolute path; bound over /etc/hosts in every node
  std::int64_t window_factor = 1;  ///< of kernel_settings()
  /// Absolute paths that nodes see as they are, also below what is private to them (private_files.h).
  std::vector<std::string> shared_directories;
  std::vector<std::string> host_names;  ///< by node
};

/// Who holds what.
struct Keepers {
  ProcessId control;
  std::vector<ProcessId> nodes;
};

/// Starts the control process (this very executable, with keeper_subcommand) and waits until all namespaces are there.
/// It outlives the caller; when it ends, so do the holders of the nodes.
Result<Keepers> start_keepers(const KeeperOrder& order);

/// What that subcommand does: makes the namespaces, reports on standard output, waits to be killed. Returns only when
/// something failed.
int hold_fabric();

}  // namespace libcoll::fabric
