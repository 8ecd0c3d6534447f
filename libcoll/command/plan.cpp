// libcoll plan: makes, checks and writes the plan of one collective on one topology.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/child_work.h"
#include "libcoll/command/command.h"
#include "libcoll/command/compare.h"
#include "libcoll/command/planner_help.h"
#include "libcoll/command/planning.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"
#include "libcoll/execute/memory_traffic.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/plan_cache.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/flow/planners.h"
#include "planner/flow/problem/demand_reader.h"
#include "planner/plan/default_plan.h"
#include "planner/plan/part_plan.h"
#include "planner/registry/planner_options.h"
#include "planner/route/forwarding_table.h"
#include "planner/schedule/program.h"
#include "planner/schedule/xml.h"
#include "planner/topology/part.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace broadcast::bound;
using namespace default_plan;
using namespace execute;
using namespace flow;
using namespace flow::problem;
using namespace plan;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

// Less of the time limit than this is not enough for a better plan, and left to write the first one.
constexpr double share_of_better_plan = 0.4;
// How long a better plan may be late: commands keep to 1.2 times the limit and half a second.
constexpr double share_to_wait = 0.1;
constexpr const char* no_plan = "no plan that was checked";

struct PlanCommandOptions {
  std::string topology;
  std::string collective;
  std::string algorithm = std::string(automatic_plan);
  std::string output;
  std::string small_output;
  std::string demand;
  std::string nodes;
  std::string forwarding_table;
  std::string dialect = "native";
  std::string cache_dir;
  PlanOptions plan;
  std::optional<NodeId> root;
  bool compare = false;
  std::vector<std::uint64_t> sizes{1 << 20};  ///< M in bytes, for `compare`; harvest takes the first
  // Of harvest, as text with units; empty: the planner's defaults.
  std::string alpha;
  std::string reconfiguration;
  bool no_schedule = false;
  bool no_symmetry = false;
  bool cache = false;
  bool lowering = false;
  bool json = false;
  bool quiet = false;
  std::vector<GivenOption> given;  ///< of those that not all planners take

  /// Whether standard output belongs to the schedule or its routes.
  [[nodiscard]] bool takes_stdout() const { return output == "-" || small_output == "-" || forwarding_table == "-"; }
};

/// What was asked for, understood.
struct PlanRequest {
  Topology topology;
  Collective collective;
  NodeId root = 0;                 ///< of rooted collectives, counted in `topology`
  std::optional<Dialect> dialect;  ///< nullopt: native
};

/// An empty name takes the first planner of a collective.
std::string algorithm_name(const std::string& algorithm) {
  return algorithm == automatic_plan ? std::string() : algorithm;
}

/// The root as a host of the fabric, or of the hosts that --nodes left of it.
Result<NodeId> read_root(const PlanCommandOptions& options, Collective collective, std::span<const NodeId> nodes,
                         const Topology& fabric) {
  if (!options.root) return NodeId{0};
  if (!is_rooted(collective)) {
    return Error{"--root is for broadcast and reduce, " + std::string(to_string(collective)) + " has none"};
  }
  if (const Status status = check_root(fabric, *options.root); !status)
    return Error{"--root: " + status.error().message};
  if (nodes.empty()) return *options.root;
  const auto found = std::find(nodes.begin(), nodes.end(), *options.root);
  if (found == nodes.end()) {
    return Error{"--root: node " + std::to_string(*options.root) + " does not take part, expected one of --nodes " +
                 node_ranges(nodes)};
  }
  return static_cast<NodeId>(found - nodes.begin());
}

/// At most one of the files can be standard output.
Status check_outputs(const PlanCommandOptions& options) {
  std::vector<std::string> on_stdout;
  for (const auto& [flag, path] : {std::pair{"--output", &options.output},
                                   {"--small-output", &options.small_output},
                                   {"--forwarding-table", &options.forwarding_table}}) {
    if (*path == "-") on_stdout.emplace_back(flag);
  }
  if (on_stdout.size() < 2) return {};
  return Error{on_stdout[0] + " and " + on_stdout[1] + " cannot both go to standard output"};
}

Result<PlanRequest> understand(const PlanCommandOptions& options) {
  const bool writes = !options.output.empty() || !options.small_output.empty() || !options.forwarding_table.empty();
  if (options.no_schedule && (writes || options.cache)) {
    return Error{"--no-schedule leaves nothing for --output, --small-output, --forwarding-table or --cache to write"};
  }
  if (const Status separate = check_outputs(options); !separate) return separate.error();
  if (!options.cache_dir.empty() && !options.cache) return Error{"--cache-dir needs --cache"};
  if (!options.demand.empty() && options.cache) {
    return Error{"--cache keeps plans for any program, and a plan for --demand serves one"};
  }
  if (options.dialect != "native" && options.output.empty() && options.small_output.empty()) {
    return Error{"--dialect needs --output FILE"};
  }
  std::optional<Dialect> dialect;
  if (options.dialect != "native") {
    const Result<Dialect> parsed = parse_dialect(options.dialect);
    if (!parsed) return parsed.error();
    dialect = *parsed;
  }
  const Result<Collective> collective = parse_collective(options.collective);
  if (!collective) return collective.error();
  if (!options.small_output.empty() && (options.algorithm != automatic_plan || !is_gathering(*collective))) {
    return Error{"--small-output is for allgather, reduce_scatter and allreduce without --algorithm"};
  }
  if (options.lowering && (is_rooted(*collective) || options.no_schedule)) {
    return Error{"--lowering is for allgather, reduce_scatter, allreduce and alltoall, with a schedule"};
  }
  if (options.cache && is_rooted(*collective)) {
    return Error{
        "--cache keeps plans that programs run, and MPI_Bcast and MPI_Reduce run those of allgather and "
        "reduce_scatter"};
  }
  Result<Topology> topology = load_topology(options.topology);
  if (!topology) return topology.error();
  std::vector<NodeId> nodes;
  if (!options.nodes.empty()) {
    Result<std::vector<NodeId>> parsed = parse_node_ranges(options.nodes, topology->host_count());
    if (!parsed) return Error{"--nodes: " + parsed.error().message};
    nodes = std::move(parsed).value();
  }
  const Result<NodeId> root = read_root(options, *collective, nodes, *topology);
  if (!root) return root.error();
  if (!nodes.empty()) {
    topology = part_of(*topology, nodes);
    if (!topology) return Error{"--nodes: " + topology.error().message};
  }
  return PlanRequest{std::move(topology).value(), *collective, *root, dialect};
}

/// What the plan is to carry; the options' own where no file names another. Only some planners know demands.
Status read_demand(const PlanCommandOptions& options, const PlanRequest& request, std::string& algorithm,
                   PlanOptions& wanted) {
  if (options.demand.empty()) return {};
  if (request.collective != Collective::alltoall) return Error{"--demand is for alltoall only"};
  if (options.algorithm == automatic_plan) algorithm = default_demand_planner;
  if (!takes_demand(algorithm)) {
    return Error{"--demand: planner \"" + algorithm +
                 "\" knows equal blocks only, expected one of: " + demand_planners()};
  }
  Result<std::vector<double>> demand = load_demand(options.demand, request.topology);
  if (!demand) return demand.error();
  wanted.demand = std::move(*demand);
  return {};
}

/// The planners that what was asked for goes to.
Result<std::vector<Planner>> planners_asked(const PlanCommandOptions& options, const PlanRequest& request,
                                            const std::string& algorithm) {
  std::vector<std::string> names;
  if (options.compare) {
    std::vector<Planner> compared;
    for (const Planner& planner : planners()) {
      if (planner.collective == request.collective && !planner.needs.has(Need::rewiring)) compared.push_back(planner);
    }
    return compared;
  }
  if (options.nodes.empty() && algorithm == automatic_plan)
    return default_planners(planners(), request.topology, request.collective);
  if (!options.nodes.empty()) names = part_planners(request.topology, request.collective, algorithm_name(algorithm));
  if (names.empty()) names.emplace_back(algorithm_name(algorithm));
  std::vector<Planner> asked;
  for (const std::string& name : names) {
    const Result<Planner> planner = find_planner(planners(), request.collective, name);
    if (!planner) return planner.error();
    asked.push_back(*planner);
  }
  return asked;
}

/// Whether one of these planners at least knows what each option that was given is about.
Status check_given(const PlanCommandOptions& options, const PlanRequest& request, const std::string& algorithm) {
  const Result<std::vector<Planner>> asked = planners_asked(options, request, algorithm);
  if (!asked) return asked.error();
  const bool sized = std::any_of(options.given.begin(), options.given.end(),
                                 [](const GivenOption& given) { return given.option == PlannerOption::size; });
  const bool taken = std::any_of(asked->begin(), asked->end(),
                                 [](const Planner& planner) { return takes(planner, PlannerOption::size); });
  if (sized && !taken) return Error{"--size requires --compare or --algorithm harvest"};
  return check_options(*asked, options.given);
}

/// What harvest's rewirings are for.
Status read_rewiring(const PlanCommandOptions& options, PlanOptions& wanted) {
  wanted.size_bytes = static_cast<double>(options.sizes.front());
  for (const auto& [text, seconds] : {std::pair{&options.alpha, &wanted.alpha_seconds},
                                      std::pair{&options.reconfiguration, &wanted.reconfiguration_seconds}}) {
    if (text->empty()) continue;
    const Result<double> parsed = parse_latency(*text);
    if (!parsed) return parsed.error();
    *seconds = *parsed;
  }
  return {};
}

Result<std::string> output_text(const Schedule& schedule, const std::optional<Dialect>& dialect) {
  return dialect ? write_msccl(schedule, *dialect) : Result<std::string>(write_schedule(schedule));
}

/// Under its own name, and as the plan of choice when no algorithm was asked for, with the plan for small vectors. Of a
/// part only as what was asked for: the planner by its name may plan it otherwise.
Status store(const PlanCommandOptions& options, const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  if (!schedule.wirings.empty()) return Error{"--cache keeps plans that programs run, and none can rewire the fabric"};
  const LoadedConfig loaded = load_config(environ);
  const std::string directory =
      cache_directory(options.cache_dir.empty() ? loaded.config.cache_dir : options.cache_dir);
  const bool automatic = options.algorithm == automatic_plan;
  if (!automatic || options.nodes.empty()) {
    if (Status stored = store_plan(directory, schedule); !stored) return stored;
  }
  return automatic ? store_plans(directory, {schedule, plan.least_steps}, automatic_plan) : Status();
}

constexpr std::int64_t lowered_shard_bytes = std::int64_t{1} << 20;

/// Of the rank that reads and writes most, where a shard has 1 MiB: bytes in memory for each byte of the vector.
MemoryTraffic most_traffic(const Schedule& schedule) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(schedule.topology.host_count()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const bool whole = schedule.collective == Collective::allreduce;
  const std::int64_t elements = lowered_shard_bytes * (whole ? std::ssize(ranks) : 1);
  MemoryTraffic most;
  for (const NodeId node : ranks) {
    const MemoryTraffic traffic =
        memory_traffic(make_task_graph(lower(schedule, node), ranks, equal_shards(elements, 1), {}));
    if (traffic.total() > most.total()) most = traffic;
  }
  return most;
}

Json lowering_json(const Schedule& schedule) {
  const MemoryTraffic most = most_traffic(schedule);
  const auto vector = static_cast<double>(lowered_shard_bytes * schedule.topology.host_count());
  const auto per_byte = [vector](std::int64_t bytes) { return static_cast<double>(bytes) / vector; };
  return {{"sent", per_byte(most.sent)},         {"received", per_byte(most.received)},
          {"copied", per_byte(most.copied)},     {"reduced", per_byte(most.reduced)},
          {"in_memory", per_byte(most.total())}, {"in_shared_memory", per_byte(most.total_by_memory())},
          {"scratch", per_byte(most.scratch)}};
}

std::string lowering_text(const Schedule& schedule) {
  std::string text = "Bytes for each byte of the vector, busiest rank\n";
  const Json figures = lowering_json(schedule);
  for (const auto& [name, value] : figures.items()) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "  %-17s %.3f\n", name.c_str(), value.get<double>());
    text += line.data();
  }
  return text;
}

std::string report(const PlanCommandOptions& options, const Plan& plan) {
  const bool lowers = options.lowering && plan.faults.empty();
  if (!options.json) return plan_text(plan) + (lowers ? lowering_text(plan.schedule) : std::string());
  Json json = plan_json(plan);
  if (lowers) {
    const Json figures = lowering_json(plan.schedule);
    for (const auto& [name, value] : figures.items()) json["lowering_" + name] = value;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// What is to be written of a plan, as far as it can be made beforehand.
struct Written {
  Result<std::string> output = std::string();
  Result<std::string> small_output = std::string();
  std::string forwarding_table;
  std::string report;
};

Written written(const PlanCommandOptions& options, const PlanRequest& request, const Plan& plan) {
  Written result;
  if (plan.faults.empty()) {
    if (!options.output.empty()) result.output = output_text(plan.schedule, request.dialect);
    if (!options.small_output.empty() && plan.least_steps) {
      result.small_output = output_text(*plan.least_steps, request.dialect);
    }
    if (!options.forwarding_table.empty()) {
      result.forwarding_table = write_forwarding_table(request.topology, plan.schedule.routes);
    }
  }
  if (options.quiet && plan.faults.empty()) return result;
  result.report = report(options, plan);
  return result;
}

/// The files that were asked for.
Status write_files(const PlanCommandOptions& options, const Plan& plan, const Written& texts) {
  // Whoever waits for the usual plan finds the other one there.
  if (!options.small_output.empty() && plan.least_steps) {
    Status written =
        texts.small_output.ok() ? write_text(options.small_output, *texts.small_output) : texts.small_output.error();
    if (!written) return written;
  }
  if (!options.output.empty()) {
    Status written = texts.output.ok() ? write_text(options.output, *texts.output) : texts.output.error();
    if (!written) return written;
  }
  if (!options.forwarding_table.empty()) {
    if (plan.schedule.routes.empty()) {
      return Error{"--forwarding-table: the plan goes over links alone and has no routes"};
    }
    if (Status written = write_text(options.forwarding_table, texts.forwarding_table); !written) return written;
  }
  return options.cache ? store(options, plan) : Status();
}

/// Writes and prints; the exit code of the command.
int finish(const PlanCommandOptions& options, const Plan& plan, const Written& texts) {
  if (plan.faults.empty()) {
    const Status done = write_files(options, plan, texts);
    if (!done) return fail(done.error().message, options.json && !options.takes_stdout());
  }
  std::fputs(texts.report.c_str(), options.takes_stdout() ? stderr : stdout);
  return plan.faults.empty() ? ExitCode::good : ExitCode::bad;
}

int compare_algorithms(const PlanCommandOptions& options) {
  const TimeLimit limit(options.plan.time_limit_seconds, "no comparison yet", options.json);
  const Result<PlanRequest> request = understand(options);
  if (!request) return fail(request.error().message, options.json);
  const std::vector<double> sizes(options.sizes.begin(), options.sizes.end());
  if (const Status good = check_given(options, *request, ""); !good) return fail(good.error().message, options.json);
  PlanOptions wanted = options.plan;
  wanted.root = request->root;
  wanted.symmetry = !options.no_symmetry;
  const Comparison comparison = compare(request->topology, request->collective, sizes, wanted, limit.deadline());
  if (options.json) {
    print_json(comparison_json(comparison));
  } else {
    std::fputs(comparison_text(comparison).c_str(), stdout);
  }
  return all_right(comparison) ? ExitCode::good : ExitCode::bad;
}

/// Whether options ask for what first plans do not have.
bool wants_more_than_first(const PlanCommandOptions& options) {
  return !options.plan.layer_method.empty() || options.plan.steps > 1;
}

/// A first plan, and a better one if that is there by the limit. Planners cannot be stopped at any moment, so the
/// better one is made in a child. Nothing where there is no first plan.
std::optional<int> plan_in_time(const PlanCommandOptions& options, const PlanRequest& request,
                                const PlanOptions& wanted, const TimeLimit& limit) {
  PlanOptions in_time = wanted;
  in_time.time_limit_seconds = limit.for_planning(wanted.schedule);
  Result<Plan> first = make_first_plan(request.topology, in_time);
  if (!first || !first->faults.empty()) return std::nullopt;
  first->deadline = limit.deadline();
  first->figures.more.emplace_back("time_note", std::string("the time limit left none for a better plan"));
  if (limit.deadline().remaining() < share_of_better_plan * options.plan.time_limit_seconds) {
    return finish(options, *first, written(options, request, *first));
  }
  in_time.time_limit_seconds = limit.for_planning(wanted.schedule);
  Result<Plan> better = Error{};
  Written of_better;
  Written of_first;
  const auto prepare = [&] {
    better = make_plan(request.topology, request.collective, std::string(automatic_plan), in_time);
    if (!better || first->schedule.proof.bandwidth_time < better->schedule.proof.bandwidth_time) return false;
    better->deadline = limit.deadline();
    of_better = written(options, request, *better);
    return true;
  };
  const std::optional<int> code = finished_in_child(
      prepare, [&] { return finish_output(finish(options, *better, of_better)); },
      [&] { of_first = written(options, request, *first); },
      Deadline(limit.deadline().remaining() + share_to_wait * options.plan.time_limit_seconds));
  return code ? code : finish(options, *first, of_first);
}

int plan(const PlanCommandOptions& options) {
  const bool json_on_stdout = options.json && !options.takes_stdout();
  const TimeLimit limit(options.plan.time_limit_seconds, no_plan, json_on_stdout);
  const Result<PlanRequest> request = understand(options);
  if (!request) return fail(request.error().message, json_on_stdout);
  PlanOptions wanted = options.plan;
  wanted.root = request->root;
  wanted.schedule = !options.no_schedule;
  wanted.symmetry = !options.no_symmetry;
  if (const Status read = read_rewiring(options, wanted); !read) return fail(read.error().message, json_on_stdout);
  std::string algorithm = options.algorithm;
  if (const Status read = read_demand(options, *request, algorithm, wanted); !read) {
    return fail(read.error().message, json_on_stdout);
  }
  if (const Status good = check_given(options, *request, algorithm); !good) {
    return fail(good.error().message, json_on_stdout);
  }
  // ForestColl, which is asked for the allgather family, has trees of its own to fall back to.
  const bool automatic =
      request->collective == Collective::alltoall && options.nodes.empty() && algorithm == automatic_plan;
  if (limit.deadline().limited() && automatic && !wants_more_than_first(options)) {
    if (const std::optional<int> code = plan_in_time(options, *request, wanted, limit)) return *code;
  }
  wanted.time_limit_seconds = limit.for_planning(wanted.schedule);
  const Deadline planning(wanted.time_limit_seconds);
  const auto make = options.nodes.empty() ? &make_plan : &make_part_plan;
  Result<Plan> made = make(request->topology, request->collective, algorithm, wanted);
  if (!made && planning.passed()) {
    return fail(limit_sentence(options.plan.time_limit_seconds, no_plan) + ": " + made.error().message, json_on_stdout);
  }
  if (!made) return fail(made.error().message, json_on_stdout);
  made->deadline = limit.deadline();
  return finish(options, *made, written(options, *request, *made));
}

/// Those of PlannerOption that stand on the command line. A comparison has sizes of its own.
std::vector<GivenOption> given_options(const CLI::App& sub, bool comparison) {
  std::vector<GivenOption> given;
  for (const PlannerOptionRecord& record : planner_option_records()) {
    if (comparison && record.option == PlannerOption::size) continue;
    const CLI::Option* on_line = sub.get_option(std::string(record.flag));
    if (on_line->count() == 0) continue;
    GivenOption& entry = given.emplace_back(GivenOption{record.option});
    if (record.number) entry.number = on_line->as<double>();
  }
  return given;
}

/// An option that not all planners take; its text is the planner table's.
template <class Value>
CLI::Option* add_planner_option(CLI::App& sub, PlannerOption option, Value& value) {
  const PlannerOptionRecord& record = record_of(option);
  const std::string flag(record.flag);
  const std::string text(record.text);
  CLI::Option* added = nullptr;
  if constexpr (std::is_same_v<Value, bool>) {
    added = sub.add_flag(flag, value, text);
  } else {
    added = sub.add_option(flag, value, text);
  }
  return added->group(planner_options_group);
}

void add_planner_options(CLI::App& sub, PlanCommandOptions& options) {
  const CLI::Validator chunks = whole_in(0, static_cast<std::int64_t>(most_chunks));
  PlanOptions& plan = options.plan;
  add_planner_option(sub, PlannerOption::max_chunks, plan.max_chunks)->check(chunks);
  add_planner_option(sub, PlannerOption::chunk_loss, plan.chunk_loss)->check(number_in(0, 1))->capture_default_str();
  add_planner_option(sub, PlannerOption::max_routes, plan.max_routes)->check(chunks);
  add_planner_option(sub, PlannerOption::gap, plan.gap)->check(number_in(0, 1));
  add_planner_option(sub, PlannerOption::paths, plan.paths);
  add_planner_option(sub, PlannerOption::steps, plan.steps)->check(whole_in(0, static_cast<std::int64_t>(most_steps)));
  add_planner_option(sub, PlannerOption::epsilon, plan.epsilon)->check(number_in(0, 1));
  add_planner_option(sub, PlannerOption::trees, plan.trees)
      ->transform(CLI::Transformer(std::map<std::string, std::int32_t>{{"auto", -1}}))
      ->check(whole_in(-1, 1 << 20));
  add_planner_option(sub, PlannerOption::layer_method, plan.layer_method)
      ->type_name("METHOD")
      ->check(CLI::IsMember({"auto", "lash", "lash-longest", "lash-shortest", "lash-destination", "dfsssp"}));
  add_planner_option(sub, PlannerOption::max_layers, plan.max_layers)->check(whole_in(0, 1024));
  add_planner_option(sub, PlannerOption::class_loss, plan.class_loss)->check(number_in(0, 1));
  add_planner_option(sub, PlannerOption::max_classes, plan.max_classes)
      ->check(whole_in(0, static_cast<std::int64_t>(most_classes)));
  add_planner_option(sub, PlannerOption::no_symmetry, options.no_symmetry);
  add_planner_option(sub, PlannerOption::demand, options.demand)->type_name("FILE");
  add_planner_option(sub, PlannerOption::forwarding_table, options.forwarding_table)->type_name("FILE");
  add_planner_option(sub, PlannerOption::staging, plan.staging);
  add_planner_option(sub, PlannerOption::size, options.sizes)
      ->group("PlanCommandOptions")  // --compare takes it, too
      ->type_name("BYTES")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(1));
  add_planner_option(sub, PlannerOption::alpha, options.alpha)->type_name("TIME");
  add_planner_option(sub, PlannerOption::reconfiguration, options.reconfiguration)->type_name("TIME");
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* sub = app.add_subcommand("plan", "Plan a collective on a topology, check the plan, print its figures");
  sub->add_option("topology,--topology", options->topology, "Specification such as torus:3x3x3, or a topology file")
      ->required();
  sub->add_option("collective,--collective", options->collective,
                  "allgather, reduce_scatter, allreduce, alltoall, broadcast or reduce")
      ->required();
  sub->add_option("--algorithm", options->algorithm, "Planner (below); auto: least T_B. With --help: its own options");
  sub->add_option("--root", options->root, "Root host (default 0)")->type_name("NODE");
  CLI::Option* nodes =
      sub->add_option("--nodes", options->nodes, "Participating hosts: 0-2,6; others only forward, if their NICs do")
          ->type_name("LIST");
  sub->add_option("--output", options->output, "Write the schedule to this file; - is standard output");
  sub->add_option("--small-output", options->small_output,
                  "Write the plan for small vectors to this file, where there is one")
      ->type_name("FILE");
  sub->add_option("--dialect", options->dialect, "Format of the schedule file: native, msccl, rccl or verifier");
  sub->add_option("--time-limit", options->plan.time_limit_seconds,
                  "Then the best plan so far, with its bound; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_option("--threads", options->plan.threads, "Threads to plan with")
      ->check(whole_in(1, most_threads))
      ->capture_default_str();
  sub->add_flag("--no-schedule", options->no_schedule, "Print figures and certificate only; no transfers");
  sub->add_flag("--lowering", options->lowering, "Also how many bytes of memory a rank reads and writes in the plan");
  sub->add_flag("--cache", options->cache, "Also store the plan in the plan cache");
  sub->add_option("--cache-dir", options->cache_dir, "Use this plan cache instead of the configured one")
      ->type_name("DIR");
  add_planner_options(*sub, *options);
  CLI::Option* comparing = sub->add_flag("--compare", options->compare,
                                         "Every algorithm of the collective: T_L, T_B, modelled time, planning time");
  sub->add_flag("--quiet", options->quiet, "Print nothing on success");
  for (const char* other : {"--algorithm", "--output", "--small-output", "--cache", "--no-schedule", "--demand",
                            "--forwarding-table", "--lowering", "--quiet"}) {
    comparing->excludes(sub->get_option(other));
  }
  for (CLI::Option* other : {comparing, sub->get_option("--demand")}) nodes->excludes(other);
  sub->add_flag("--json", options->json, "Machine-readable figures");
  sub->footer("Algorithms\n" + algorithms_text() + "\nTopologies\n" + topologies_text() +
              "\nA planner's own options: libcoll plan --algorithm NAME --help\n"
              "\nExamples\n"
              "  libcoll plan torus:3x3x3 alltoall\n"
              "  libcoll plan torus:3x3x3 allreduce --nodes 0-8\n"
              "  libcoll plan hypercube:3 allreduce --output allreduce.xml\n"
              "  libcoll plan torus:4x4 broadcast --root 5\n"
              "  libcoll plan ring:8 allgather --dialect msccl --output -\n"
              "  libcoll plan --compare torus:8x8 --collective allreduce --size 64KiB,32MiB\n");
  set_planner_help(*sub, options->algorithm);
  sub->callback([options, sub, &exit_code] {
    options->given = given_options(*sub, options->compare);
    exit_code = options->compare ? compare_algorithms(*options) : plan(*options);
  });
}

}  // namespace libcoll::command
