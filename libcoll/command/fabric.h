// What the parts of `libcoll fabric` share.
#pragma once

#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/fabric/state.h"

namespace libcoll::command {

/// Bits per second for people: "100 Mbit/s".
std::string rate_text(double bits_per_second);

/// libcoll fabric exec: becomes the command inside a node. Returns only when that failed.
int fabric_exec(const std::string& fabric, const std::string& node, const std::vector<std::string>& command);

/// libcoll fabric run: becomes the command in the control namespaces, with what launchers need in the environment.
int fabric_run(const std::string& fabric, const std::vector<std::string>& command);

/// The hidden subcommand that mpirun calls to start a daemon on a host: DIRECTORY [-OPTION…] HOST COMMAND….
inline constexpr const char* agent_subcommand = "fabric-agent";
int fabric_agent(const std::vector<std::string>& arguments);

/// libcoll fabric status.
int fabric_status(const std::string& fabric, bool json);

/// libcoll fabric watch: until interrupted, or `rounds` times when that is positive.
int fabric_watch(const std::string& fabric, double interval_seconds, int rounds);

}  // namespace libcoll::command
