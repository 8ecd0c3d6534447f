// libcoll tune: measures, per call and size, plans and ways to run them against the program's own MPI, and writes the
// tuning table.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/text.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/tuning_sweep.h"
#include "libcoll/command/validators.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/select/tuning_table.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace broadcast;
using namespace execute;
using namespace flow;
using namespace plan;
using namespace registry;
using namespace schedule;
using namespace select;
using namespace topology;

namespace {

constexpr const char* tune_usage = "Usage: libcoll tune [OPTIONS] -- mpirun -n RANKS [OPTIONS OF mpirun]";
constexpr const char* sweep_name = "collective_sweep";
constexpr const char* cached = "cached";

struct TuneOptions {
  std::string topology;
  std::string calls = "allreduce,allgather,alltoall";
  std::string sizes = "4:1048576";
  std::string program;
  std::string library;
  std::string output;
  std::string algorithms = cached;
  std::vector<std::int64_t> segments{32 * 1024};
  std::vector<std::int64_t> in_flight{2, 32};
  int repetitions = 3;
  int iterations = 50;
  double margin = 0.02;
  double time_limit_seconds = 0;
  bool json = false;
};

/// One size of one call, and what became of it.
struct Measured {
  CallKind call = CallKind::allreduce;
  std::int64_t bytes = 0;
  double native_microseconds = 0;
  TuningFigure plan;  ///< as configured
  TuningWay best;
  double best_microseconds = 0;
};

/// The measuring program: beside the command in a build, in libexec where it was installed.
Result<std::string> find_sweep(const std::string& command) {
  const std::filesystem::path folder = std::filesystem::path(command).parent_path();
  std::error_code error;
  for (const auto& path : {folder / sweep_name, folder / "../libexec/libcoll" / sweep_name}) {
    if (std::filesystem::is_regular_file(path, error)) return path.lexically_normal().string();
  }
  return Error{"found no " + std::string(sweep_name) + " beside " + command + "; --program FILE says where it is"};
}

/// Whether how a plan is run can make a difference: longer data than a segment is cut, and up to the bundles' length
/// all that goes to one peer in a step is one message.
bool matters(const TuningWay& way, std::int64_t vector_bytes) {
  return vector_bytes > way.segment_bytes && (way.in_flight == 0 || vector_bytes > Tuning().coalesce_max);
}

/// Of the ways that were served, or are native: the fastest, and of those within the margin of it the first.
/// `vector_bytes`: of all ranks together.
std::size_t fastest(const std::vector<TuningWay>& ways, const std::vector<TuningFigure>& figures,
                    std::int64_t vector_bytes, double margin) {
  const auto fit = [&](std::size_t way) {
    return (ways[way].native || figures[way].served) && matters(ways[way], vector_bytes);
  };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (fit(way)) least = std::min(least, figures[way].microseconds);
  }
  std::size_t best = 0;
  while (best + 1 < ways.size() && (!fit(best) || figures[best].microseconds > least * (1 + margin))) ++best;
  return best;
}

/// What else could be done with the planner of a way: its plan as it is comes first.
std::vector<TuningWay> variants_of(const TuningWay& way, const std::vector<std::int64_t>& segments,
                                   const std::vector<std::int64_t>& in_flight) {
  std::vector<TuningWay> variants{way};
  for (const std::int64_t bytes : segments) {
    if (bytes > 0) variants.push_back({false, way.algorithm, bytes, 0});
  }
  for (const std::int64_t messages : in_flight) {
    if (messages > 0) variants.push_back({false, way.algorithm, 0, messages});
  }
  return variants;
}

/// Planners first, then how their plans are run: segments and messages in flight of those that won at some size.
Result<std::vector<Measured>> measure(TuningSweep& sweep, CallKind call, const std::vector<PlannerName>& algorithms,
                                      const TuneOptions& options) {
  // The plan that is configured comes first: what is no faster by the margin is not worth a line.
  std::vector<TuningWay> ways{{}, {true, {}, 0, 0}};
  for (const PlannerName& algorithm : algorithms) ways.push_back({false, algorithm, 0, 0});
  const Result<TuningFigures> figures = sweep.measure(call, ways);
  if (!figures) return figures.error();
  std::vector<Measured> measured;
  const auto vector_bytes = [&](std::int64_t bytes) {
    return call == CallKind::allreduce ? bytes : bytes * std::max(1, sweep.ranks());
  };
  for (const auto& [bytes, of_size] : *figures) {
    const std::size_t best = fastest(ways, of_size, vector_bytes(bytes), options.margin);
    measured.push_back({call, bytes, of_size[1].microseconds, of_size[0], ways[best], of_size[best].microseconds});
  }
  if (!choices_name_planners(call)) return measured;
  std::vector<TuningWay> winners;
  for (const Measured& row : measured) {
    const bool is_new = std::find(winners.begin(), winners.end(), row.best) == winners.end();
    if (!row.best.native && is_new) winners.push_back(row.best);
  }
  for (const TuningWay& winner : winners) {
    const std::vector<TuningWay> variants = variants_of(winner, options.segments, options.in_flight);
    if (variants.size() == 1) continue;
    const Result<TuningFigures> refined = sweep.measure(call, variants);
    if (!refined) return refined.error();
    for (Measured& row : measured) {
      const auto of_size = refined->find(row.bytes);
      if (row.best != winner || of_size == refined->end()) continue;
      const std::size_t best = fastest(variants, of_size->second, vector_bytes(row.bytes), options.margin);
      row.best = variants[best];
      row.best_microseconds = of_size->second[best].microseconds;
    }
  }
  return measured;
}

/// Neighbours that agree share an entry. The last one is open to larger calls.
TuningTable table_of(const std::vector<Measured>& measured, std::int32_t ranks) {
  TuningTable table;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Measured& row = measured[i];
    const bool last = i + 1 == measured.size() || measured[i + 1].call != row.call;
    TuningChoice choice{row.call, ranks, row.bytes, row.best.native, row.best.segment_bytes};
    choice.in_flight = row.best.in_flight;
    choice.algorithm = row.best.algorithm;
    if (last) choice.up_to_bytes = TuningChoice().up_to_bytes;
    const bool continues = i > 0 && measured[i - 1].call == row.call && measured[i - 1].best == row.best;
    if (continues) table.choices.pop_back();
    table.choices.push_back(choice);
  }
  return table;
}

/// Planners of a call's collective of which the cache has plans for the topology, in the table's order.
std::vector<PlannerName> cached_planners(const std::string& directory, const Topology& topology, CallKind call) {
  std::vector<PlannerName> names;
  const Collective collective = *collective_of(call);
  for (const auto table : {broadcast_planners(), flow_planners()}) {
    for (const Planner& planner : table) {
      if (planner.collective != collective || planner.needs.has(Need::lockstep)) continue;
      const Result<std::optional<Schedule>> plan = load_plan(directory, topology, collective, planner.name);
      if (plan.ok() && plan->has_value()) names.emplace_back(planner.name);
    }
  }
  return names;
}

/// As --algorithms says, those that plan the call's collective.
Result<std::vector<PlannerName>> planners_for(const TuneOptions& options, CallKind call) {
  if (!choices_name_planners(call)) return std::vector<PlannerName>();
  if (options.algorithms == cached) {
    const Config config = load_config(environ).config;
    const Result<Topology> topology = load_topology(options.topology.empty() ? config.topology : options.topology);
    if (!topology) return topology.error();
    return cached_planners(cache_directory(config.cache_dir), *topology, call);
  }
  std::vector<PlannerName> names;
  std::istringstream words(options.algorithms);
  for (std::string word; std::getline(words, word, ',');) {
    bool found = false;
    for (const auto table : {broadcast_planners(), flow_planners()}) {
      for (const Planner& planner : table) {
        if (planner.name != word) continue;
        found = true;
        if (planner.collective == *collective_of(call) && !planner.needs.has(Need::lockstep)) names.emplace_back(word);
      }
    }
    if (!found) return Error{"found '" + word + "' in --algorithms, expected planners' names or \"cached\""};
  }
  return names;
}

void report(const std::vector<Measured>& measured, std::int32_t ranks, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const Measured& row : measured) {
      rows.push_back({{"call", to_string(row.call)},
                      {"bytes", row.bytes},
                      {"native_microseconds", row.native_microseconds},
                      {"plan_microseconds", row.plan.microseconds},
                      {"served", row.plan.served},
                      {"use", row.best.native ? "native" : "plan"},
                      {"algorithm", row.best.algorithm.view()},
                      {"segment_bytes", row.best.segment_bytes},
                      {"in_flight", row.best.in_flight},
                      {"best_microseconds", row.best_microseconds}});
    }
    return print_json({{"ranks", ranks}, {"choices", rows}});
  }
  std::vector<std::vector<std::string>> rows = {
      {"call", "bytes", "native us", "plan us", "native/plan", "best us", "use"}};
  for (const Measured& row : measured) {
    const bool served = row.plan.served;
    rows.push_back({std::string(to_string(row.call)), std::to_string(row.bytes),
                    with_decimals(row.native_microseconds, 2),
                    served ? with_decimals(row.plan.microseconds, 2) : "not served",
                    served ? with_decimals(row.native_microseconds / row.plan.microseconds, 2) : "-",
                    with_decimals(row.best_microseconds, 2), to_string(row.best)});
  }
  std::fputs(columns(rows).c_str(), stdout);
}

Result<std::vector<CallKind>> parse_calls(const std::string& names) {
  std::vector<CallKind> result;
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<CallKind> call = parse_call(word);
    if (!call || !collective_of(*call)) {
      return Error{"found '" + word + "' in --calls, expected names such as allreduce"};
    }
    result.push_back(*call);
  }
  return result;
}

int tune(const TuneOptions& options, const std::vector<std::string>& launcher) {
  if (launcher.empty()) return fail(std::string("no launcher. ") + tune_usage, options.json);
  const TimeLimit limit(options.time_limit_seconds, "no measured call", options.json);
  const Result<std::vector<CallKind>> calls = parse_calls(options.calls);
  if (!calls) return fail(calls.error().message, options.json);
  const Result<std::string> command = own_path();
  if (!command) return fail(command.error().message, options.json);
  const Result<std::string> program = options.program.empty() ? find_sweep(*command) : Result(options.program);
  if (!program) return fail(program.error().message, options.json);
  TuningSweep sweep(
      {options.topology, options.library, options.sizes, options.repetitions, options.iterations, limit.deadline()},
      *command, *program, launcher);
  std::vector<Measured> measured;
  for (const CallKind call : *calls) {
    const Result<std::vector<PlannerName>> planners = planners_for(options, call);
    if (!planners) return fail(planners.error().message, options.json);
    const Result<std::vector<Measured>> rows = measure(sweep, call, *planners, options);
    if (!rows) return fail(rows.error().message, options.json);
    measured.insert(measured.end(), rows->begin(), rows->end());
  }
  const bool late = limit.deadline().passed();
  if (measured.empty()) {
    return fail(late ? limit_sentence(options.time_limit_seconds, "no measured call") : "the sweeps printed no figures",
                options.json);
  }
  if (late) warn(limit_sentence(options.time_limit_seconds, "no measurement of some calls, sizes or ways"));
  const TuningTable table = table_of(measured, sweep.ranks());
  const std::string text = "# Made by libcoll tune -- " + join(launcher, " ") + "\n\n" + write_tuning_table(table);
  if (!options.output.empty()) {
    if (const Status written = write_text(options.output, text); !written) {
      return fail(written.error().message, options.json);
    }
  }
  if (options.output != "-") report(measured, sweep.ranks(), options.json);  // stdout is the table's then
  return ExitCode::good;
}

}  // namespace

void add_tune(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* sub = app.add_subcommand(
      "tune", "Measure plans, and how they are run, against the program's own MPI and write the tuning table");
  sub->allow_extras();  // refused below, with the hint that is needed
  sub->add_option("--topology", options->topology, "Specification or topology file; default: as configured");
  sub->add_option("--calls", options->calls, "Which, comma-separated")->capture_default_str();
  sub->add_option("--sizes", options->sizes, "In bytes: vector (allreduce) or block; doubled from MIN to MAX")
      ->type_name("MIN:MAX")
      ->capture_default_str();
  sub->add_option("--algorithms", options->algorithms,
                  "Planners that are tried beside the configured one, comma-separated; cached: those whose plans for "
                  "the topology are in the cache")
      ->type_name("cached|NAME,...")
      ->capture_default_str();
  sub->add_option("--segments", options->segments,
                  "Segment lengths that are tried beside the configured one, which is the longest; 0: none")
      ->delimiter(',')
      ->type_name("BYTES,...")
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(0))
      ->capture_default_str();
  sub->add_option("--in-flight", options->in_flight,
                  "Numbers of messages in flight per peer that are tried beside the configured one; 0: none")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(whole_in(0, 1 << 20))
      ->capture_default_str();
  sub->add_option("--repetitions", options->repetitions, "Sweeps of each, in turn; medians count")
      ->check(whole_in(1, 1000))
      ->capture_default_str();
  sub->add_option("--iterations", options->iterations, "Calls of a size in a sweep")
      ->check(whole_in(1, 1000000))
      ->capture_default_str();
  sub->add_option("--margin", options->margin, "By how much anything else must be faster than the configured plan")
      ->check(number_in(0, 1))
      ->capture_default_str();
  sub->add_option("--time-limit", options->time_limit_seconds,
                  "For all of it: the table of what was measured by then; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_option("--program", options->program, "The measuring program; default: collective_sweep of this command")
      ->type_name("FILE");
  sub->add_option("--library", options->library, "The library to preload; default: libcoll_pmpi.so of this command")
      ->type_name("FILE");
  sub->add_option("--output", options->output, "Write the table to this file, for LIBCOLL_TUNING_TABLE")
      ->type_name("FILE");
  sub->add_flag("--json", options->json, "Machine-readable figures");
  sub->footer(
      "Behind -- stands the launcher without a program: as many ranks, placed as the program will have them.\n\n"
      "Example\n  libcoll tune --topology torus:2x2x2 --output tuning.toml -- mpirun -n 8\n");
  sub->callback([options, sub, &command, &exit_code] {
    const std::vector<std::string> extras = sub->remaining();
    exit_code = extras.empty() ? tune(*options, command)
                               : fail("unexpected '" + extras.front() + "'. " + tune_usage, options->json);
  });
}

}  // namespace libcoll::command
