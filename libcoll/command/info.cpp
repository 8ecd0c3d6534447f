// libcoll info: version, settings, algorithms and topologies, all from the tables that the code itself uses.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/choices.h"
#include "libcoll/command/command.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/memory.h"
#include "libcoll/command/planning.h"
#include "libcoll/command/plans_by_size.h"
#include "libcoll/command/validators.h"
#include "libcoll/version.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

struct InfoOptions {
  bool version = false;
  bool config = false;
  bool all = false;  ///< advanced settings, too
  bool algorithms = false;
  bool topologies = false;
  std::string memory;   ///< topology
  std::string choices;  ///< topology
  std::string plans;    ///< topology
  std::string nodes;    ///< of it, for `plans`; empty: all
  std::int32_t layers = 1;
  std::int64_t call_bytes = 1 << 20;
  bool json = false;
};

std::string_view type_name(SettingType type) {
  switch (type) {
    case SettingType::boolean:
      return "boolean";
    case SettingType::integer:
      return "integer";
    case SettingType::bytes:
      return "bytes";
    case SettingType::text:
      return "text";
    case SettingType::choice:
      return "choice";
  }
  return "";
}

Json settings_json(const Config& in_force) {
  Json list = Json::array();
  for (const Setting& setting : settings()) {
    list.push_back({{"name", setting.name},
                    {"type", type_name(setting.type)},
                    {"default", setting.default_value},
                    {"bounds", setting.bounds},
                    {"text", setting.text},
                    {"advanced", setting.advanced},
                    {"value", setting.print(in_force)}});
  }
  return list;
}

Json options_json(const Planner& planner) {
  Json list = Json::array();
  for (const TakenOption& taken : planner.options) list.push_back(record_of(taken.option).flag);
  return list;
}

Json algorithms_json() {
  Json list = Json::array();
  for (const Planner& planner : planners()) {
    list.push_back({{"name", planner.name},
                    {"collective", to_string(planner.collective)},
                    {"needs", to_string(planner.needs)},
                    {"text", planner.text},
                    {"options", options_json(planner)}});
  }
  return list;
}

Json topologies_json() {
  Json list = Json::array();
  for (const Generator& generator : generators()) {
    list.push_back(
        {{"name", generator.name}, {"form", generator.form}, {"example", generator.example}, {"text", generator.text}});
  }
  return list;
}

std::string settings_in_force(const Config& in_force, bool with_advanced) {
  std::vector<std::vector<std::string>> rows;
  for (const Setting& setting : settings()) {
    if (setting.advanced && !with_advanced) continue;
    rows.push_back({std::string(setting.name), "\"" + setting.print(in_force) + "\"", std::string(setting.text)});
  }
  return columns(rows);
}

void print_everything(const Config& in_force, bool with_advanced) {
  std::printf("libcoll %s\n\nSettings in force\n%s\nAlgorithms\n%s\nTopologies\n%s", LIBCOLL_VERSION,
              settings_in_force(in_force, with_advanced).c_str(), algorithms_text().c_str(), topologies_text().c_str());
}

/// The sections that were asked for; all of them when none was.
void print_info_json(const InfoOptions& options, const Config& in_force) {
  const bool all = !(options.version || options.config || options.algorithms || options.topologies);
  Json json = Json::object();
  if (all || options.version) json["version"] = LIBCOLL_VERSION;
  if (all || options.config) json["settings"] = settings_json(in_force);
  if (all || options.algorithms) json["algorithms"] = algorithms_json();
  if (all || options.topologies) json["topologies"] = topologies_json();
  print_json(json);
}

void print_memory_json(const Topology& topology, const MemoryReport& report) {
  Json parts = Json::array();
  for (const MemoryPart& part : report.parts) {
    parts.push_back({{"name", part.name},
                     {"anonymous_bytes", part.added.anonymous},
                     {"shared_bytes", part.added.shared},
                     {"file_bytes", part.added.files}});
  }
  print_json({{"memory",
               {{"topology", topology.name()},
                {"nodes", report.nodes},
                {"transport", report.transport},
                {"route_classes", report.route_classes},
                {"connections", report.connections},
                {"parts", parts},
                {"total_bytes", report.total()},
                {"limit_bytes", memory_limit_bytes}}}});
}

std::string mebibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

void print_memory(const Topology& topology, const MemoryReport& report) {
  std::printf("%s: a process of %d, %s, %d route classes, %d connections. Resident memory that libcoll adds, MiB:\n",
              topology.name().c_str(), report.nodes, report.transport.c_str(), report.route_classes,
              report.connections);
  std::vector<std::vector<std::string>> rows = {{"part", "own", "shared", "files", "all"}};
  ResidentMemory sum;
  const auto add_row = [&](const std::string& name, const ResidentMemory& memory) {
    rows.push_back({name, mebibytes(memory.anonymous), mebibytes(memory.shared), mebibytes(memory.files),
                    mebibytes(memory.total())});
  };
  for (const MemoryPart& part : report.parts) {
    add_row(part.name, part.added);
    sum.anonymous += part.added.anonymous;
    sum.shared += part.added.shared;
    sum.files += part.added.files;
  }
  add_row("total", sum);
  std::printf("%sAimed at for 64 nodes and 4 route classes: at most %s MiB.\n", columns(rows).c_str(),
              mebibytes(memory_limit_bytes).c_str());
}

int show_memory(const InfoOptions& options, const Config& config) {
  const Result<Topology> topology = load_topology(options.memory);
  if (!topology) return fail(topology.error().message, options.json);
  const Result<MemoryReport> report = measure_memory(*topology, config, options.layers, options.call_bytes);
  if (!report) return fail(report.error().message, options.json);
  if (options.json) {
    print_memory_json(*topology, *report);
  } else {
    print_memory(*topology, *report);
  }
  return ExitCode::good;
}

int show_choices(const InfoOptions& options, const Config& config) {
  const Result<Topology> topology = load_topology(options.choices);
  if (!topology) return fail(topology.error().message, options.json);
  const std::vector<JobChoices> jobs = find_choices(*topology, config);
  if (options.json) {
    print_json(choices_json(*topology, jobs));
  } else {
    std::fputs(choices_text(*topology, jobs).c_str(), stdout);
  }
  return ExitCode::good;
}

int show_plans(const InfoOptions& options, Config config) {
  const Result<Topology> topology = load_topology(options.plans);
  if (!topology) return fail(topology.error().message, options.json);
  const Result<std::string> command = own_path();
  if (!command) return fail(command.error().message, options.json);
  config.topology = options.plans;
  config.command = *command;
  config.background_planning = false;
  const Result<std::vector<PlansOfCollective>> plans = plans_by_size(*topology, options.nodes, config);
  if (!plans) return fail(plans.error().message, options.json);
  if (options.json) {
    print_json(plans_by_size_json(*topology, options.nodes, *plans));
  } else {
    std::fputs(plans_by_size_text(*topology, options.nodes, *plans).c_str(), stdout);
  }
  return ExitCode::good;
}

int info(const InfoOptions& options) {
  const LoadedConfig loaded = load_config(environ);
  for (const std::string& warning : loaded.warnings) warn(warning);
  if (!options.memory.empty()) return show_memory(options, loaded.config);
  if (!options.choices.empty()) return show_choices(options, loaded.config);
  if (!options.plans.empty()) return show_plans(options, loaded.config);
  if (options.json) {
    print_info_json(options, loaded.config);
    return ExitCode::good;
  }
  if (options.version) std::printf("libcoll %s\n", LIBCOLL_VERSION);
  if (options.config) std::fputs(commented_config(options.all).c_str(), stdout);
  if (options.algorithms) std::fputs(algorithms_text().c_str(), stdout);
  if (options.topologies) std::fputs(topologies_text().c_str(), stdout);
  if (!(options.version || options.config || options.algorithms || options.topologies))
    print_everything(loaded.config, options.all);
  return ExitCode::good;
}

}  // namespace

void add_info(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* sub = app.add_subcommand("info", "Show version, settings in force, algorithms and topologies");
  sub->add_flag("--version", options->version, "The version alone");
  sub->add_flag("--config", options->config, "A commented configuration file with every setting at its default");
  sub->add_flag("--all", options->all, "Advanced settings, too");
  sub->add_flag("--algorithms", options->algorithms, "The planners");
  sub->add_flag("--topologies", options->topologies, "The forms of topology specifications");
  CLI::Option* memory =
      sub->add_option("--memory", options->memory,
                      "Measure what libcoll takes in a process of a job on this topology, part by part")
          ->type_name("TOPOLOGY");
  sub->add_option("--layers", options->layers, "Route classes, for --memory")
      ->check(whole_in(1, 64))
      ->needs(memory)
      ->capture_default_str();
  CLI::Option* choices =
      sub->add_option(
             "--choices", options->choices,
             "By what calls of jobs on this topology go, size by size, and who says so: settings, the tuning table, "
             "what was measured and kept beside the plans")
          ->type_name("TOPOLOGY");
  CLI::Option* plans =
      sub->add_option(
             "--plans", options->plans,
             "Which plan serves which sizes of allreduce, allgather and reduce_scatter on this topology, and why")
          ->type_name("TOPOLOGY");
  sub->add_option("--nodes", options->nodes, "Participating hosts, for --plans: 0-2,6")
      ->type_name("LIST")
      ->needs(plans);
  memory->excludes(choices);
  for (CLI::Option* other : {memory, choices}) plans->excludes(other);
  for (const char* other : {"--version", "--config", "--algorithms", "--topologies"}) {
    memory->excludes(sub->get_option(other));
    choices->excludes(sub->get_option(other));
    plans->excludes(sub->get_option(other));
  }
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->callback([options, &exit_code] { exit_code = info(*options); });
}

}  // namespace libcoll::command
