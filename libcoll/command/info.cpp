// libcoll info: version, settings, algorithms and topologies, all from the tables that the code itself uses.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "libcoll/command/command.h"
#include "libcoll/command/planning.h"
#include "libcoll/runtime/config.h"
#include "libcoll/version.h"
#include "planner/topology/generators.h"

namespace libcoll::command {
namespace {

struct Options {
  bool version = false;
  bool config = false;
  bool algorithms = false;
  bool topologies = false;
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
                    {"value", setting.print(in_force)}});
  }
  return list;
}

Json algorithms_json() {
  Json list = Json::array();
  for (const Planner& planner : planners()) {
    list.push_back({{"name", planner.name},
                    {"collective", to_string(planner.collective)},
                    {"needs", planner.needs},
                    {"text", planner.text}});
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

std::string settings_in_force(const Config& in_force) {
  std::vector<std::vector<std::string>> rows;
  for (const Setting& setting : settings()) {
    rows.push_back({std::string(setting.name), "\"" + setting.print(in_force) + "\"", std::string(setting.text)});
  }
  return columns(rows);
}

void print_everything(const Config& in_force) {
  std::printf("libcoll %s\n\nSettings in force\n%s\nAlgorithms\n%s\nTopologies\n%s", LIBCOLL_VERSION,
              settings_in_force(in_force).c_str(), algorithms_text().c_str(), topologies_text().c_str());
}

/// The sections that were asked for; all of them when none was.
void print_info_json(const Options& options, const Config& in_force) {
  const bool all = !(options.version || options.config || options.algorithms || options.topologies);
  Json json = Json::object();
  if (all || options.version) json["version"] = LIBCOLL_VERSION;
  if (all || options.config) json["settings"] = settings_json(in_force);
  if (all || options.algorithms) json["algorithms"] = algorithms_json();
  if (all || options.topologies) json["topologies"] = topologies_json();
  print_json(json);
}

int info(const Options& options) {
  const LoadedConfig loaded = load_config(environ);
  for (const std::string& warning : loaded.warnings) warn(warning);
  if (options.json) {
    print_info_json(options, loaded.config);
    return ExitCode::good;
  }
  if (options.version) std::printf("libcoll %s\n", LIBCOLL_VERSION);
  if (options.config) std::fputs(commented_config().c_str(), stdout);
  if (options.algorithms) std::fputs(algorithms_text().c_str(), stdout);
  if (options.topologies) std::fputs(topologies_text().c_str(), stdout);
  if (!(options.version || options.config || options.algorithms || options.topologies)) print_everything(loaded.config);
  return ExitCode::good;
}

}  // namespace

void add_info(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("info", "Show version, settings in force, algorithms and topologies");
  sub->add_flag("--version", options->version, "The version alone");
  sub->add_flag("--config", options->config, "A commented configuration file with every setting at its default");
  sub->add_flag("--algorithms", options->algorithms, "The planners");
  sub->add_flag("--topologies", options->topologies, "The forms of topology specifications");
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->callback([options, &exit_code] { exit_code = info(*options); });
}

}  // namespace libcoll::command
