// Entering the namespaces that a process holds, and running tools inside them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "libcoll/fabric/processes.h"
#include "planner/base/result.h"

namespace libcoll::fabric {

/// Moves the calling process, which must have one thread, into the network, UTS, IPC and mount namespaces of the
/// holder (its user namespace first, when that is another). The working directory stays the same path.
Status join_namespaces(const ProcessId& holder);

/// A program to run inside a holder's namespaces, with `input` as its standard input.
struct InsideJob {
  ProcessId holder;
  std::vector<std::string> arguments;
  std::string input;
};

/// Runs all jobs, a few at a time, and returns their standard outputs in order. The error is the first job's that
/// failed: what it wrote to standard error, with the line of its input that it complains of.
Result<std::vector<std::string>> run_inside(std::span<const InsideJob> jobs);

/// Path of a system tool such as "ip"; the error says that it is missing.
Result<std::string> find_tool(const std::string& name, const std::string& package);

}  // namespace libcoll::fabric
