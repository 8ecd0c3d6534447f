// What the subcommands of `libcoll` share: exit codes, errors, JSON, and how each is registered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace CLI {
class App;
}

namespace libcoll::command {

/// Exit codes of every subcommand but `run`, which passes its command's code through.
enum ExitCode : int {
  good = 0,
  bad = 1,    ///< the thing that was checked is bad
  usage = 2,  ///< wrong usage, unreadable input, or an output that cannot be written
};

/// Fields in the order they were put in.
using Json = nlohmann::ordered_json;

/// One JSON document on stdout; bytes that are not UTF-8 (file names) are replaced, never refused.
void print_json(const Json& document);

/// "libcoll: MESSAGE" on stderr and, with `json`, {"error": MESSAGE} on stdout. Returns ExitCode::usage.
int fail(const std::string& message, bool json = false);

/// "libcoll: warning: MESSAGE" on stderr.
void warn(const std::string& message);

/// "a, b, c" or what else stands between.
std::string join(const std::vector<std::string>& parts, const std::string& between);

/// The whole of a file or pipe, of the length of a schedule at most; "-" is standard input.
Result<std::string> read_text(const std::string& path);

/// `text` as the whole of a file; "-" is standard output.
Status write_text(const std::string& path, const std::string& text);

/// The exit code of a command that has printed all it had to: ExitCode::usage, and a sentence on stderr, when standard
/// output did not take it (a full disk).
int finish_output(int exit_code);

/// Rows as aligned columns, each line indented by two; the last column is not padded.
std::string columns(const std::vector<std::vector<std::string>>& rows);

/// The tables behind --help and `libcoll info`.
std::string topologies_text();
std::string algorithms_text();

/// Each adds one subcommand; when it was chosen and parsed, its exit code is put into `exit_code`.
void add_topo(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_harvest(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_routes(CLI::App& app, int& exit_code);
void add_simulate(CLI::App& app, int& exit_code);
void add_info(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
/// `command` is what stood behind the first `--` of the command line.
void add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
/// The launcher stands behind the `--`.
void add_tune(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
/// The same.
void add_doctor(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
/// The same for `fabric exec` and `fabric run`.
void add_fabric(CLI::App& app, const std::vector<std::string>& command, int& exit_code);

}  // namespace libcoll::command
