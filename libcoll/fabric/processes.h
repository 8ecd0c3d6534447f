// Processes by identity: a pid is only trusted together with the time its process started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "planner/base/result.h"

namespace libcoll::fabric {

/// A process, told apart from a later one with the same pid.
struct ProcessId {
  pid_t pid = -1;
  std::uint64_t start = 0;  ///< clock ticks after boot, field 22 of /proc/PID/stat
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

/// What a file of /proc/PID says, such as "net/dev"; empty when the process is gone, or goes while it is read.
std::string read_proc(pid_t pid, const std::string& file);

/// Start time of a running process; nullopt when there is none (or only a zombie).
std::optional<std::uint64_t> start_time(pid_t pid);
bool is_running(const ProcessId& process);

/// A handle that goes on meaning this very process; without a value when it is gone.
FileDescriptor open_process(const ProcessId& process);

/// Device and inode of a namespace of a process ("net", "user"); nullopt when it cannot be seen.
using NamespaceId = std::pair<std::uint64_t, std::uint64_t>;
std::optional<NamespaceId> namespace_of(pid_t pid, const std::string& kind);

/// Arguments, or environment entries, of a process of this user; empty when they cannot be seen.
std::vector<std::string> arguments_of(pid_t pid);
std::vector<std::string> environment_of(pid_t pid);

/// Whether it is a process of this user.
bool is_own(pid_t pid);

/// All processes this user may signal, but the calling one, for which the condition holds.
std::vector<ProcessId> find_processes(const std::function<bool(pid_t)>& condition);

/// Ends the processes that `find` names, until it names none: with SIGTERM and, for those that are still there after
/// `patience_seconds`, SIGKILL. Each signal goes to exactly the process that was found. Error when some resist.
Status end_processes(const std::function<std::vector<ProcessId>()>& find, double patience_seconds);

}  // namespace libcoll::fabric
