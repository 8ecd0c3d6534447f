// The `libcoll` command: one subcommand per file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string_view>

#include "libcoll/command/command.h"
#include "libcoll/command/doctor_probe.h"
#include "libcoll/command/fabric.h"
#include "libcoll/command/manual.h"
#include "libcoll/fabric/namespace_keeper.h"
#include "libcoll/version.h"

namespace libcoll::command {

using namespace fabric;

namespace {

/// Takes the command line of `libcoll run … -- COMMAND` (or fabric run, fabric exec) apart, so that nothing in COMMAND
/// is read as an option of ours. `arguments` keeps what stands before the `--`.
std::vector<std::string> cut_command(std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 4> with_commands{"run", "fabric", "tune", "doctor"};
  if (arguments.empty() ||
      std::find(with_commands.begin(), with_commands.end(), arguments.front()) == with_commands.end()) {
    return {};
  }
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (mark == arguments.end()) return {};
  std::vector<std::string> command(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  return command;
}

/// The subcommand, if the line begins with one. CLI11 would only say that a subcommand is required.
std::string first_word(const std::vector<std::string>& arguments) {
  return arguments.empty() || arguments.front().starts_with('-') ? std::string() : arguments.front();
}

bool has_subcommand(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; }).empty();
}

/// What this command starts itself as, and nobody else: no part of --help.
std::optional<int> run_hidden(const std::vector<std::string>& arguments) {
  const std::string first = first_word(arguments);
  if (first == keeper_subcommand) return hold_fabric();
  if (first == probe_subcommand) return doctor_probe({arguments.begin() + 1, arguments.end()});
  if (first == agent_subcommand) return fabric_agent({arguments.begin() + 1, arguments.end()});
  return std::nullopt;
}

/// One sentence for whatever is wrong with the line, and as JSON where that was asked for; --help and --version come
/// here, too.
int end_parsing(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    app.exit(error);
    return finish_output(ExitCode::good);
  }
  return fail(error.what(), json);
}

void add_subcommands(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  app.set_version_flag("--version", "libcoll " LIBCOLL_VERSION);
  app.require_subcommand(1);
  app.footer("libcoll SUBCOMMAND --help says more; so do man libcoll and man libcoll-SUBCOMMAND.");
  add_topo(app, exit_code);
  add_plan(app, exit_code);
  add_harvest(app, exit_code);
  add_verify(app, exit_code);
  add_routes(app, exit_code);
  add_simulate(app, exit_code);
  add_info(app, exit_code);
  add_report(app, exit_code);
  add_run(app, command, exit_code);
  add_tune(app, command, exit_code);
  add_doctor(app, command, exit_code);
  add_fabric(app, command, exit_code);
}

int parse_and_run(std::vector<std::string> arguments) {
  if (const std::optional<int> code = run_hidden(arguments)) return *code;
  const std::vector<std::string> command = cut_command(arguments);
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  int exit_code = ExitCode::good;
  CLI::App app("libcoll plans collectives for direct-connect fabrics and runs MPI programs on the plans.", "libcoll");
  add_subcommands(app, command, exit_code);
  if (first_word(arguments) == manual_subcommand) {
    return write_manual_page(app, {arguments.begin() + 1, arguments.end()});
  }
  if (const std::string sub = first_word(arguments); !sub.empty() && !has_subcommand(app, sub)) {
    return fail(
        "unknown subcommand '" + sub +
            "', expected topo, plan, harvest, verify, routes, simulate, info, report, run, tune, doctor or fabric",
        json);
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return end_parsing(app, error, json);
  }
  return finish_output(exit_code);
}

}  // namespace
}  // namespace libcoll::command

int main(int argc, char** argv) {
  try {
    return libcoll::command::parse_and_run({argv + 1, argv + argc});
  } catch (const std::exception& error) {  // memory, and what the libraries of the command line throw
    const bool json = std::find(argv + 1, argv + argc, std::string_view("--json")) != argv + argc;
    return libcoll::command::fail(error.what(), json);
  }
}
