// Starting the user's command under the preloaded library, for `libcoll run`.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// Exit code where the command cannot be started, as shells have it.
inline constexpr int cannot_start = 127;

/// A command line with the environment it runs in.
struct Launch {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=VALUE
};

/// Path of this executable.
Result<std::string> own_path();

/// libcoll_pmpi.so beside `command` (a path such as …/bin/libcoll): ../lib, ../lib64 or one folder below them.
Result<std::string> find_preload_library(const std::string& command);

/// Prepares `arguments` to run with `library` preloaded and `variables` (NAME, VALUE) set. Launchers of Open MPI and
/// MPICH (mpirun, mpiexec, orterun) hand both to the ranks, on every machine, and stay without the library themselves;
/// anything else gets them from its environment. What LD_PRELOAD held before stays behind ours.
Launch prepare_launch(std::vector<std::string> arguments, std::vector<std::string> environment,
                      const std::string& library, const std::vector<std::pair<std::string, std::string>>& variables);

/// Runs it and waits. SIGINT, SIGTERM, SIGHUP and SIGQUIT sent to this process are passed on. Returns the
/// command's exit code, 128 + n when signal n ended it, 127 (and a sentence on stderr) when it cannot be started.
/// `output` becomes its standard output. When the deadline passes first the command is sent SIGTERM, and SIGKILL a
/// moment later.
int run_and_wait(const Launch& launch, int output = STDOUT_FILENO, const Deadline& deadline = Deadline(0));

}  // namespace libcoll::command
