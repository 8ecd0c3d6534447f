// libcoll run: plans what is missing, then runs a command with the library preloaded.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "libcoll/base/config.h"
#include "libcoll/command/binary.h"
#include "libcoll/command/command.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/planning.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/plan/plan_source.h"
#include "libcoll/select/tuning_table.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace plan;
using namespace schedule;
using namespace select;
using namespace topology;

namespace {

constexpr const char* run_usage = "Usage: libcoll run [OPTIONS] -- COMMAND [ARGUMENTS]";

using Variables = std::vector<std::pair<std::string, std::string>>;

struct RunOptions {
  std::string topology;
  std::string stats;
  std::string log_level;
  std::string cache_dir;
  std::string library;
  bool no_plan = false;
};

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path result = std::filesystem::absolute(path, error);
  return error ? path : result.lexically_normal().string();
}

/// The command line's word over the configuration's, checked by the setting's own record.
Status override_setting(Config& config, std::string_view name, const std::string& value) {
  if (value.empty()) return {};
  for (const Setting& setting : settings()) {
    if (setting.name != name) continue;
    const Status assigned = setting.assign(config, value);
    if (assigned.ok()) return {};
    return Error{"--" + std::string(name) + ": " + assigned.error().message +
                 (setting.bounds.empty() ? "" : ", expected " + std::string(setting.bounds))};
  }
  return {};
}

Result<Config> configure(const RunOptions& options) {
  LoadedConfig loaded = load_config(environ);
  for (const std::string& warning : loaded.warnings) warn(warning);
  const std::vector<std::pair<std::string_view, std::string>> words = {
      {"topology", options.topology},
      {"stats", options.stats},
      {"log_level", options.log_level},
      {"cache_dir", options.cache_dir.empty() ? "" : absolute(options.cache_dir)},
  };
  for (const auto& [name, value] : words) {
    if (Status good = override_setting(loaded.config, name, value); !good) return good.error();
  }
  if (loaded.config.topology.empty()) return Error{"no topology: give --topology or set LIBCOLL_TOPOLOGY"};
  return loaded.config;
}

/// Has the plan of one collective in the cache afterwards, or says why not. Programs run without it, too.
void provide_plan(const std::string& directory, const Topology& topology, Collective collective,
                  const std::string& algorithm) {
  if (algorithm == "native") return;
  const Result<std::optional<PlanPair>> cached = load_plans(directory, topology, collective, algorithm);
  if (!cached) warn(cached.error().message + "; planning again");
  if (cached.ok() && cached->has_value()) return;
  const std::string without = std::string(to_string(collective)) + " stays with MPI: ";
  Result<Plan> plan = make_plan(topology, collective, algorithm, {});
  if (!plan) return warn(without + plan.error().message);
  if (!plan->faults.empty()) return warn(without + "the plan is faulty: " + plan->faults.front());
  const PlanPair plans{std::move(plan->schedule), std::move(plan->least_steps)};
  if (const Status stored = store_plans(directory, plans, algorithm); !stored) warn(stored.error().message);
}

void provide_plans(const Config& config, const Topology& topology) {
  const std::string directory = cache_directory(config.cache_dir);
  // These serve MPI_Bcast, MPI_Reduce and the vector variants as well.
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    provide_plan(directory, topology, collective, algorithm_setting(config, collective));
  }
  if (config.tuning_table.empty()) return;
  // The program itself says what is wrong with it.
  const Result<TuningTable> table = load_tuning_table(config.tuning_table);
  if (!table) return;
  for (const TuningChoice& choice : table->choices) {
    if (choice.algorithm.empty()) continue;
    provide_plan(directory, topology, *collective_of(choice.call), std::string(choice.algorithm.view()));
  }
}

/// LD_PRELOAD is split at colons and spaces, and cannot quote them.
Result<std::string> preload_library(const RunOptions& options, const std::string& command) {
  Result<std::string> found =
      options.library.empty() ? find_preload_library(command) : Result<std::string>(absolute(options.library));
  if (!found) return found.error();
  if (access(found->c_str(), R_OK) != 0) return Error{*found + ": cannot be read"};
  if (found->find_first_of(": \t") != std::string::npos) {
    return Error{"the dynamic linker cannot preload \"" + *found + "\": its path has a space or a colon"};
  }
  return found;
}

Variables variables(const RunOptions& options, const Config& config, const std::string& command) {
  const bool specification = generate(config.topology).ok();
  Variables result = {{"LIBCOLL_TOPOLOGY", specification ? config.topology : absolute(config.topology)},
                      {"LIBCOLL_COMMAND", command}};
  if (!options.cache_dir.empty()) result.emplace_back("LIBCOLL_CACHE_DIR", config.cache_dir);
  if (!options.stats.empty()) result.emplace_back("LIBCOLL_STATS", config.stats);
  if (!options.log_level.empty()) result.emplace_back("LIBCOLL_LOG_LEVEL", options.log_level);
  return result;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

int run(const RunOptions& options, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return fail(std::string("no command. ") + run_usage);
  const Result<Config> config = configure(options);
  if (!config) return fail(config.error().message);
  const Result<Topology> topology = load_topology(config->topology);
  if (!topology) return fail(topology.error().message);
  const Result<std::string> command = own_path();
  if (!command) return fail(command.error().message);
  const Result<std::string> library = preload_library(options, *command);
  if (!library) return fail(library.error().message);
  const std::string program = program_among(arguments);
  const std::string obstacle = preload_obstacle(program.empty() ? arguments.front() : program);
  if (!obstacle.empty()) warn(obstacle);
  if (!options.no_plan) provide_plans(*config, *topology);
  const Launch launch =
      prepare_launch(arguments, current_environment(), *library, variables(options, *config, *command));
  if (config->log_level >= LogLevel::info) {
    std::fprintf(stderr, "libcoll: running %s\n", join(launch.arguments, " ").c_str());
  }
  return run_and_wait(launch);
}

/// CLI11 never sees the command, so its usage line would not name it.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return std::string(run_usage) + "\n";
  }
};

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "Run an MPI program, unmodified, on planned collectives");
  sub->formatter(std::make_shared<RunFormatter>());
  sub->allow_extras();  // refused below, with the hint that is needed
  sub->add_option("--topology", options->topology,
                  "Specification such as torus:2x2x2, or a topology file; default: as configured");
  sub->add_flag("--stats{summary}", options->stats, "Totals at the end: a table, or --stats=json:FILE");
  sub->add_option("--log-level", options->log_level, "error, warn, info, debug or trace");
  sub->add_option("--cache-dir", options->cache_dir, "Use this plan cache instead of the configured one")
      ->type_name("DIR");
  sub->add_option("--library", options->library, "The library to preload; default: libcoll_pmpi.so of this command")
      ->type_name("FILE");
  sub->add_flag("--no-plan", options->no_plan, "Do not plan before the start; the first calls do");
  sub->footer(
      "The exit code is the command's own; 128 + n when signal n ended it; 127 when it cannot be started.\n\n"
      "Examples\n  libcoll run --topology torus:2x2x2 --stats -- mpirun -n 8 ./app\n"
      "  libcoll run --topology cluster.toml -- srun -n 27 ./app\n");
  sub->callback([options, sub, &command, &exit_code] {
    const std::vector<std::string> extras = sub->remaining();
    exit_code = extras.empty() ? run(*options, command) : fail("unexpected '" + extras.front() + "'. " + run_usage);
  });
}

}  // namespace libcoll::command
