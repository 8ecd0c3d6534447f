// libcoll harvest: when and how to rewire a photonic fabric in the course of a collective (paper 002).
#include "planner/reconfigure/harvest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/text.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"
#include "planner/flow/problem/demand_reader.h"
#include "planner/reconfigure/rewired_schedule.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace flow::problem;
using namespace reconfigure;
using namespace schedule;
using namespace topology;

namespace {

struct HarvestOptions {
  std::string collective;
  std::string algorithm;
  std::string schedule;  ///< a file whose steps are taken
  StageOptions stages{.nodes = 0, .ports = 1, .dimensions = {}, .demand = {}, .root = 0};
  bool ports_given = false;
  bool dimensions_given = false;
  std::string demand;  ///< a file: what each node sends to each other
  std::int32_t degree = 0;
  std::string topology;  ///< the initial wiring
  std::uint64_t size = 1 << 20;
  // As text with units; Figure 5's values.
  std::string alpha = "500ns";
  std::string delta = "500ns";
  std::string bandwidth = "800Gbps";
  std::string reconfiguration = "10us";
  std::optional<double> exact;  ///< seconds for each interval
  std::uint64_t search = 0;
  std::uint64_t seed = 1;
  std::string output;
  std::int32_t max_chunks = 0;
  std::string heatmap;
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> reconfigurations;
  double time_limit_seconds = 0;  ///< 0: none
  bool json = false;
};

/// What was asked for, understood.
struct HarvestRequest {
  StagedCollective collective;
  std::optional<Topology> initial;
  std::int32_t degree = 0;
  HarvestModel model;
};

Result<HarvestModel> model_of(const HarvestOptions& options) {
  HarvestModel model;
  model.bytes = static_cast<double>(options.size);
  for (const auto& [text, seconds] :
       {std::pair{&options.alpha, &model.alpha_seconds}, std::pair{&options.delta, &model.delta_seconds},
        std::pair{&options.reconfiguration, &model.reconfiguration_seconds}}) {
    const Result<double> parsed = parse_latency(*text);
    if (!parsed) return parsed.error();
    *seconds = *parsed;
  }
  const Result<std::int64_t> bandwidth = parse_bandwidth(options.bandwidth);
  if (!bandwidth) return bandwidth.error();
  model.bytes_per_second = static_cast<double>(*bandwidth);
  return model;
}

Result<StagedCollective> read_stages(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  const Result<Schedule> schedule = read_schedule(*text, path);
  if (!schedule) return schedule.error();
  const std::vector<std::string> faults = verify(*schedule, 1);
  if (!faults.empty()) return Error{path + ": the schedule is wrong: " + faults.front()};
  return staged(*schedule);
}

/// The slowest link and the longest latency of a wiring that is there stand for a port's.
void take_links(const Topology& topology, HarvestModel& model) {
  model.bytes_per_second = static_cast<double>(topology.unit_bandwidth_bytes_per_second());
  model.delta_seconds = 0;
  for (const Link& link : topology.links()) model.delta_seconds = std::max(model.delta_seconds, link.latency_seconds);
}

Status read_demand_file(const HarvestOptions& options, StageOptions& stages) {
  if (options.demand.empty()) return {};
  if (options.collective != "alltoall" || (options.algorithm != "direct" && !options.algorithm.empty())) {
    return Error{"--demand is for the direct alltoall only"};
  }
  const Result<Topology> names = generate("complete:" + std::to_string(stages.nodes));
  if (!names) return names.error();
  Result<std::vector<double>> demand = load_demand(options.demand, *names);
  if (!demand) return demand.error();
  stages.demand = std::move(demand).value();
  return {};
}

/// Whether the staged algorithm that was chosen goes by what was given.
Status check_staging(const HarvestOptions& options, std::string_view algorithm) {
  for (const Staging& staging : stagings()) {
    if (staging.collective != options.collective || staging.algorithm != algorithm) continue;
    for (const auto& [given, taken, flag] :
         {std::tuple(options.ports_given, staging.takes_ports, "--ports"),
          std::tuple(options.dimensions_given, staging.takes_dimensions, "--dimensions")}) {
      if (given && !taken) return Error{"staged algorithm \"" + std::string(algorithm) + "\" does not take " + flag};
    }
  }
  return {};
}

Result<HarvestRequest> understand(const HarvestOptions& options) {
  if (options.output == "-" && options.heatmap == "-") {
    return Error{"--output and --heatmap cannot both go to standard output"};
  }
  if (options.collective.empty() == options.schedule.empty()) {
    return Error{"expected a collective, or the schedule whose steps to take (--schedule FILE)"};
  }
  if (!options.collective.empty()) {
    const Result<Collective> known = parse_collective(options.collective);
    if (!known) return Error{known.error().message + "; a schedule file is named by --schedule"};
  }
  HarvestRequest request;
  const Result<HarvestModel> model = model_of(options);
  if (!model) return model.error();
  request.model = *model;
  StageOptions stages = options.stages;
  request.degree = options.degree;
  if (!options.topology.empty()) {
    Result<Topology> initial = load_topology(options.topology);
    if (!initial) return initial.error();
    const Result<Configuration> wires = configuration_of(*initial);
    if (!wires) return wires.error();
    if (stages.nodes == 0) stages.nodes = initial->host_count();
    if (request.degree == 0) request.degree = ports_used(*wires);
    take_links(*initial, request.model);
    request.initial = std::move(initial).value();
  }
  if (const Status read = read_demand_file(options, stages); !read) return read.error();
  Result<StagedCollective> collective =
      options.schedule.empty() ? stage(options.collective, options.algorithm, stages) : read_stages(options.schedule);
  if (!collective) return collective.error();
  if (const Status good = check_staging(options, collective->algorithm); !good) return good.error();
  request.collective = std::move(collective).value();
  if (request.degree == 0) return Error{"expected the ports of a node (--degree) or an initial wiring (--topology)"};
  return request;
}

Result<Harvest> prepare(const HarvestRequest& request, const Deadline& deadline) {
  if (!request.initial) return Harvest::prepare(request.collective, request.degree, std::nullopt, deadline);
  Result<Configuration> initial = configuration_of(*request.initial);
  if (!initial) return initial.error();
  return Harvest::prepare(request.collective, request.degree, std::move(initial).value(), deadline);
}

/// What there was no time for, by its JSON name.
using LeftOut = std::vector<std::pair<std::string, std::int64_t>>;

/// `cells`: of the heat map.
LeftOut left_out(const Harvest& harvest, const HarvestPlan& plan, std::int64_t cells) {
  const auto unproved =
      std::count_if(plan.steps.begin(), plan.steps.end(), [](const HarvestStep& step) { return !step.flow.proved; });
  const HarvestLeftOut& left = harvest.left_out();
  return {{"candidates_left_out", left.candidates},
          {"moves_left_out", left.moves},
          {"intervals_left_out", left.intervals},
          {"flows_unproved", unproved},
          {"cells_left_out", cells}};
}

std::string left_out_text(const LeftOut& left) {
  static const std::map<std::string, const char*> names = {{"candidates_left_out", "wirings"},
                                                           {"moves_left_out", "moves of the search"},
                                                           {"intervals_left_out", "integer programs cut short"},
                                                           {"flows_unproved", "flows of steps without proof"},
                                                           {"cells_left_out", "cells of the heat map"}};
  std::vector<std::string> parts;
  for (const auto& [name, count] : left) {
    if (count > 0) parts.push_back(std::to_string(count) + " " + names.at(name));
  }
  if (parts.empty()) return "nothing was left out\n";
  return "no time for " + join(parts, ", ") + "\n";
}

/// Before which step (from 1) the fabric is rewired, and to which configuration.
std::vector<std::pair<std::size_t, std::size_t>> rewirings(const HarvestPlan& plan) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const Interval& interval : plan.intervals) {
    if (interval.first > 0 || plan.rewired_at_start) result.emplace_back(interval.first + 1, interval.configuration);
  }
  return result;
}

Json wires_json(const Configuration& configuration) {
  Json wires = Json::array();
  for (const Wire& wire : configuration.wires) wires.push_back({wire.from, wire.to, wire.count});
  return wires;
}

Json harvest_json(const HarvestOptions& options, const HarvestRequest& request, const Harvest& harvest,
                  const HarvestPlan& plan, double bound, double plan_seconds) {
  const auto& configurations = harvest.configurations();
  Json events = Json::array();
  for (const auto& [step, configuration] : rewirings(plan)) {
    events.push_back({{"before_step", step},
                      {"to", configurations[configuration].name},
                      {"links", wires_json(configurations[configuration])}});
  }
  Json steps = Json::array();
  for (const HarvestStep& step : plan.steps) {
    steps.push_back({{"wiring", configurations[step.configuration].name},
                     {"hops", step.flow.hops},
                     {"theta", step.flow.congestion > 0 ? 1 / step.flow.congestion : 0},
                     {"seconds", step.seconds}});
  }
  const Configuration& first = configurations[plan.intervals.front().configuration];
  return {{"collective", options.collective.empty() ? "schedule" : options.collective},
          {"algorithm", harvest.collective().algorithm},
          {"nodes", harvest.collective().nodes},
          {"degree", request.degree},
          {"size_bytes", options.size},
          {"alpha_seconds", request.model.alpha_seconds},
          {"delta_seconds", request.model.delta_seconds},
          {"bandwidth_bytes_per_second", request.model.bytes_per_second},
          {"reconfiguration_seconds", request.model.reconfiguration_seconds},
          {"initial", request.initial ? request.initial->name() : first.name},
          {"rewirings", events},
          {"completion_seconds", plan.seconds},
          {"completion_bound_seconds", options.exact ? Json(bound) : Json()},
          {"static_seconds", plan.static_seconds},
          {"static_topology", configurations[plan.static_configuration].name},
          {"ring_seconds", plan.ring_seconds},
          {"every_step_seconds", plan.every_step_seconds},
          {"steps", steps},
          {"configurations", configurations.size()},
          {"plan_seconds", plan_seconds}};
}

std::string ratio(double slow, double fast) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f times as long", slow / fast);
  return text;
}

std::string harvest_text(const HarvestRequest& request, const Harvest& harvest, const HarvestPlan& plan) {
  const auto& configurations = harvest.configurations();
  std::string text = harvest.collective().algorithm + " of " + std::to_string(harvest.collective().nodes) +
                     " nodes with " + std::to_string(request.degree) + " ports, " + std::to_string(plan.steps.size()) +
                     " steps\n";
  std::vector<std::vector<std::string>> rows = {
      {"completion", with_decimals(1e6 * plan.seconds, 3, "us"),
       "with " + std::to_string(plan.rewirings()) + " rewirings"},
      {"static", with_decimals(1e6 * plan.static_seconds, 3, "us"),
       ratio(plan.static_seconds, plan.seconds) + ", " + configurations[plan.static_configuration].name},
      {"static ring", with_decimals(1e6 * plan.ring_seconds, 3, "us"),
       ratio(plan.ring_seconds, plan.seconds) + ", shortest paths"},
      {"every step", with_decimals(1e6 * plan.every_step_seconds, 3, "us"),
       ratio(plan.every_step_seconds, plan.seconds)},
  };
  text += columns(rows);
  rows = {{"step", "wiring", "hops", "1/theta", "time"}};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const HarvestStep& step = plan.steps[i];
    const bool same = i > 0 && plan.steps[i - 1].configuration == step.configuration;
    char congestion[32];
    std::snprintf(congestion, sizeof congestion, "%.4g", step.flow.congestion);
    rows.push_back({std::to_string(i + 1), same ? "\"" : configurations[step.configuration].name,
                    std::to_string(step.flow.hops), congestion, with_decimals(1e6 * step.seconds, 3, "us")});
  }
  return text + columns(rows);
}

Status write_schedule_file(const HarvestOptions& options, const HarvestRequest& request, const Harvest& harvest,
                           const HarvestPlan& plan, const Deadline& deadline) {
  const Result<Schedule> schedule = rewired_schedule(harvest, plan, request.model, options.max_chunks,
                                                     request.initial ? &*request.initial : nullptr, deadline);
  if (!schedule) return schedule.error();
  const std::vector<std::string> faults = verify(*schedule);
  if (!faults.empty()) return Error{"the schedule is FAULTY: " + join(faults, "; ")};
  return write_text(options.output, write_schedule(*schedule));
}

struct Heatmap {
  std::string text;
  std::int64_t left_out = 0;  ///< lines there was no time for
};

/// One line per size and α_r, as Figures 5, 8 and 9 have them.
Result<Heatmap> heatmap(const HarvestOptions& options, const HarvestRequest& request, const Harvest& harvest,
                        const Deadline& deadline) {
  std::vector<double> delays;
  for (const std::string& text : options.reconfigurations) {
    const Result<double> seconds = parse_latency(text);
    if (!seconds) return seconds.error();
    delays.push_back(*seconds);
  }
  if (delays.empty()) {
    for (int exponent = -8; exponent <= -2; ++exponent) delays.push_back(std::pow(10.0, exponent));
  }
  std::vector<std::uint64_t> sizes = options.sizes;
  if (sizes.empty()) {
    for (int shift = 10; shift <= 30; shift += 2) sizes.push_back(std::uint64_t{1} << shift);
  }
  Heatmap map;
  std::string& text = map.text;
  text =
      "size_bytes,reconfiguration_seconds,completion_seconds,static_seconds,every_step_seconds,rewirings,"
      "speedup_over_static,speedup_over_every_step,speedup_over_best,ring_seconds,speedup_over_ring\n";
  for (const std::uint64_t size : sizes) {
    for (const double delay : delays) {
      if (deadline.passed()) {
        ++map.left_out;
        continue;
      }
      HarvestModel model = request.model;
      model.bytes = static_cast<double>(size);
      model.reconfiguration_seconds = delay;
      const HarvestPlan plan = harvest.plan(model);
      char line[256];
      std::snprintf(line, sizeof line, "%llu,%.9g,%.9g,%.9g,%.9g,%zu,%.6g,%.6g,%.6g,%.9g,%.6g\n",
                    static_cast<unsigned long long>(size), delay, plan.seconds, plan.static_seconds,
                    plan.every_step_seconds, plan.rewirings(), plan.static_seconds / plan.seconds,
                    plan.every_step_seconds / plan.seconds,
                    std::min(plan.static_seconds, plan.every_step_seconds) / plan.seconds, plan.ring_seconds,
                    plan.ring_seconds / plan.seconds);
      text += line;
    }
  }
  return map;
}

int harvest(const HarvestOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const TimeLimit limit(options.time_limit_seconds, "no plan yet", options.json);
  const Deadline& deadline = limit.deadline();
  const Result<HarvestRequest> request = understand(options);
  if (!request) return fail(request.error().message, options.json);
  // What comes later has a share of the time, too.
  const bool goes_on = options.search > 0 || options.exact;
  Result<Harvest> harvest = prepare(*request, deadline.part(goes_on ? 0.5 : 0.8));
  if (!harvest) return fail(harvest.error().message, options.json);
  if (options.search > 0) {
    const Result<std::size_t> kept =
        harvest->search(request->model, options.search, options.seed, deadline.part(options.exact ? 0.5 : 0.8));
    if (!kept) return fail(kept.error().message, options.json);
  }
  double bound = 0;
  if (options.exact) {
    const Result<double> proven = harvest->solve(request->model, *options.exact, deadline.part(0.8));
    if (!proven) return fail(proven.error().message, options.json);
    bound = *proven;
  }
  const HarvestPlan plan = harvest->plan(request->model);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (!options.output.empty()) {
    const Status written = write_schedule_file(options, *request, *harvest, plan, deadline);
    if (!written) return fail(written.error().message, options.json);
  }
  std::int64_t cells_left_out = 0;
  if (!options.heatmap.empty()) {
    const Result<Heatmap> map = heatmap(options, *request, *harvest, deadline);
    const Status written = map.ok() ? write_text(options.heatmap, map->text) : Status(map.error());
    if (!written) return fail(written.error().message, options.json);
    cells_left_out = map->left_out;
  }
  const LeftOut left = deadline.limited() ? left_out(*harvest, plan, cells_left_out) : LeftOut();
  if (options.output == "-" || options.heatmap == "-") {  // stdout is theirs then
    if (!left.empty()) std::fputs(left_out_text(left).c_str(), stderr);
    return ExitCode::good;
  }
  if (options.json) {
    Json json = harvest_json(options, *request, *harvest, plan, bound, spent.count());
    for (const auto& [name, count] : left) json[name] = count;
    print_json(json);
  } else {
    std::fputs(harvest_text(*request, *harvest, plan).c_str(), stdout);
    if (options.exact) {
      std::printf("no rewirings take less than %s (integer programs)\n", with_decimals(1e6 * bound, 3, "us").c_str());
    }
    if (!left.empty()) std::fputs(left_out_text(left).c_str(), stdout);
  }
  return ExitCode::good;
}

std::string stagings_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Staging& staging : stagings()) {
    rows.push_back({std::string(staging.collective), std::string(staging.algorithm),
                    std::string(staging.text) + (staging.powers_of_two ? " (powers of two)" : "")});
  }
  return columns(rows);
}

constexpr std::int32_t max_harvest_nodes = 1024;
constexpr std::int32_t max_harvest_degree = 64;
constexpr std::int64_t max_harvest_chunks = 1 << 20;
constexpr std::int64_t max_harvest_moves = 1'000'000'000;

}  // namespace

void add_harvest(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<HarvestOptions>();
  CLI::App* sub = app.add_subcommand("harvest", "Say when and how to rewire a photonic fabric during a collective");
  sub->add_option("collective,--collective", options->collective,
                  "allreduce, reduce_scatter, allgather, alltoall, broadcast or reduce");
  sub->add_option("--algorithm", options->algorithm, "Staged algorithm (below); default: the first that serves");
  CLI::Option* schedule =
      sub->add_option("--schedule", options->schedule, "Take the steps of this schedule file instead")
          ->type_name("FILE");
  sub->add_option("--demand", options->demand, "Demand matrix (direct alltoall): CSV or TOML")->type_name("FILE");
  sub->add_option("--nodes", options->stages.nodes, "Number of nodes")->check(whole_in(2, max_harvest_nodes));
  sub->add_option("--degree", options->degree, "Ports of a node, out and in")->check(whole_in(1, max_harvest_degree));
  CLI::Option* topology =
      sub->add_option("--topology", options->topology,
                      "What the fabric is wired as at the beginning (also gives nodes, degree, delta and bandwidth); "
                      "default: whatever suits the first steps");
  sub->add_option("--ports", options->stages.ports, "Messages of a node per step (bruck, direct, binary-tree)")
      ->check(whole_in(1, max_harvest_degree))
      ->capture_default_str();
  sub->add_option("--dimensions", options->stages.dimensions, "Dimensions of swing-multiport: 8,8; default: one ring")
      ->delimiter(',')
      ->check(whole_in(2, max_harvest_nodes));
  sub->add_option("--root", options->stages.root, "Root node of broadcast and reduce")
      ->check(whole_in(0, max_harvest_nodes - 1))
      ->capture_default_str();
  sub->add_option("--size", options->size, "Bytes of the whole vector: 64KiB")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(1))
      ->capture_default_str();
  sub->add_option("--alpha", options->alpha, "Start-up time of a step")->capture_default_str();
  sub->add_option("--delta", options->delta, "Latency of a link")->capture_default_str();
  sub->add_option("--bandwidth", options->bandwidth, "Bandwidth of one port")->capture_default_str();
  sub->add_option("--reconfiguration", options->reconfiguration, "Reconfiguration time alpha_r")->capture_default_str();
  sub->add_option("--search", options->search, "Moves of a local search for better wirings")
      ->check(whole_in(0, max_harvest_moves))
      ->capture_default_str();
  sub->add_option("--seed", options->seed, "Seed of the search")
      ->check(whole_in(0, std::numeric_limits<std::int64_t>::max()))
      ->needs(sub->get_option("--search"))
      ->capture_default_str();
  sub->add_option("--exact", options->exact,
                  "Solve an integer program for every interval of steps, each for so long at most (0: no limit), and "
                  "print what no rewirings can beat; 8 nodes at most")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  CLI::Option* output =
      sub->add_option("--output", options->output, "Write the schedule with its rewirings to this file; - is stdout");
  sub->add_option("--max-chunks", options->max_chunks, "Upper limit on chunks per shard; 0: 16")
      ->check(whole_in(0, max_harvest_chunks))
      ->needs(output);
  CLI::Option* heatmap =
      sub->add_option("--heatmap", options->heatmap, "Write speed-ups over sizes and delays as CSV; - is stdout")
          ->type_name("FILE");
  sub->add_option("--sizes", options->sizes, "Sizes of the heat map: 1KiB,1MiB; default: 1 KiB to 1 GiB")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(1))
      ->needs(heatmap);
  sub->add_option("--reconfigurations", options->reconfigurations,
                  "Reconfiguration times of the heat map; default: 10ns to 10ms")
      ->delimiter(',')
      ->needs(heatmap);
  sub->add_option("--time-limit", options->time_limit_seconds,
                  "For all of it: the best plan so far, and what was left out; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  // A schedule has its steps, a wiring its links: what would say otherwise is refused.
  for (const char* other : {"--algorithm", "--demand", "--nodes", "--ports", "--dimensions", "--root"}) {
    schedule->excludes(sub->get_option(other));
  }
  for (const char* other : {"--delta", "--bandwidth"}) topology->excludes(sub->get_option(other));
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->footer("Algorithms\n" + stagings_text() +
              "\nExamples\n  libcoll harvest allreduce --nodes 64 --degree 2 --size 1MiB --reconfiguration 10us\n"
              "  libcoll harvest alltoall --nodes 16 --degree 1 --heatmap figure5.csv\n");
  sub->callback([options, sub, &exit_code] {
    options->ports_given = sub->get_option("--ports")->count() > 0;
    options->dimensions_given = sub->get_option("--dimensions")->count() > 0;
    exit_code = harvest(*options);
  });
}

}  // namespace libcoll::command
