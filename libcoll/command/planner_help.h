// Help for one planner: its own options with their bounds, from the planner table.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace libcoll::command {

/// Options of this group are left out of `plan --help`: not every planner takes them.
inline constexpr const char* planner_options_group = "Planner options";

/// What `libcoll plan --algorithm NAME --help` prints: what the planner does and needs for each of its collectives, and
/// the options that it takes beside the general ones. Empty when there is no planner of that name. `plan` has the
/// options' value names and defaults.
std::string planner_help(const CLI::App& plan, const std::string& algorithm);

/// Gives `plan` a --help that is planner_help() where the line names a planner. `algorithm` is where the parser puts
/// the name; it must outlive `plan`.
void set_planner_help(CLI::App& plan, const std::string& algorithm);

}  // namespace libcoll::command
