// Manual pages: hand-written templates, filled in from the records that the code itself goes by.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "planner/base/result.h"

namespace libcoll::command {

/// The name of a subcommand that writes one page: for the build, no part of --help.
inline constexpr const char* manual_subcommand = "man";

/// A page in roff. `text` is its template, which `file` names in errors; `app` is the whole command line. These lines
/// of a template are replaced:
///
///     @SUBCOMMANDS          name and purpose of every subcommand
///     @SYNOPSIS WORDS       how the subcommand WORDS ("plan", "fabric up") is called
///     @OPTIONS WORDS        its options (of plan: those that all planners take)
///     @PLANNER_OPTIONS      the options of `plan` that some planners take, with bounds and planners
///     @ALGORITHMS           the planners
///     @TOPOLOGIES           the forms of specifications
///     @SETTINGS KIND        the settings for "users", or the "advanced" ones
///
/// A list of options or settings ends with the line @END. Text between goes to the end of an entry, which a line
/// @--option or @LIBCOLL_SETTING names. `@VERSION@` anywhere is libcoll's version.
Result<std::string> manual_page(const CLI::App& app, const std::string& text, const std::string& file);

/// `libcoll man TEMPLATE PAGE`: reads the one and writes the other. An exit code.
int write_manual_page(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace libcoll::command
