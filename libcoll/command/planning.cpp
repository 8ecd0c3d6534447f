#include "libcoll/command/planning.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "libcoll/command/progress.h"
#include "libcoll/command/text.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/select/cost_model.h"
#include "planner/base/index.h"
#include "planner/broadcast/bound/cut_bound.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/baseline/single_path.h"
#include "planner/flow/planners.h"
#include "planner/plan/claims.h"
#include "planner/plan/part_plan.h"
#include "planner/reconfigure/planners.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"

namespace libcoll::command {

using namespace broadcast;
using namespace broadcast::bound;
using namespace default_plan;
using namespace flow;
using namespace flow::baseline;
using namespace reconfigure;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::size_t faults_shown = 20;
constexpr double share_of_first_plan = 0.25;  // of the time there is

/// One hop of a chunk, or its whole way when it is routed.
struct Hop {
  std::int32_t step;
  NodeId from;
  NodeId to;
  std::int32_t route;
  friend bool operator<(const Hop& a, const Hop& b) {
    return std::tie(a.step, a.from, a.to, a.route) < std::tie(b.step, b.from, b.to, b.route);
  }
};

/// The largest number of different ways that chunks of one shard take (all-to-all).
std::size_t paths_per_pair_max(const Schedule& schedule) {
  struct Part {
    ShardId shard;
    std::int32_t chunk;
    Hop hop;
    [[nodiscard]] bool of_chunk(const Part& other) const { return shard == other.shard && chunk == other.chunk; }
  };
  std::vector<Part> parts;
  parts.reserve(schedule.transfers.size());
  for (const Transfer& t : schedule.transfers) {
    for (std::int32_t chunk = t.chunk_begin; chunk < t.chunk_begin + t.chunk_count; ++chunk) {
      parts.push_back({t.shard, chunk, {t.step, t.from, t.to, t.route}});
    }
  }
  const auto before = [](const Part& a, const Part& b) {
    return std::tie(a.shard, a.chunk, a.hop) < std::tie(b.shard, b.chunk, b.hop);
  };
  if (!std::is_sorted(parts.begin(), parts.end(), before)) std::sort(parts.begin(), parts.end(), before);
  std::size_t most = 0;
  std::set<std::vector<Hop>> ways;  // of the shard at hand
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t next = first;
    while (next < parts.size() && parts[next].of_chunk(parts[first])) ++next;
    const bool last = next == parts.size() || parts[next].shard != parts[first].shard;
    if (last && ways.empty()) {  // a chunk that is the whole shard, as most are where there are many
      most = std::max<std::size_t>(most, 1);
    } else {
      std::vector<Hop> way;
      for (std::size_t i = first; i < next; ++i) {
        way.push_back(parts[i].hop);
        way.back().step = 0;  // the same way at another time is the same way
      }
      ways.insert(std::move(way));
      most = std::max(most, ways.size());
    }
    if (last) ways.clear();
    first = next;
  }
  return most;
}

std::int32_t route_classes(const Schedule& schedule) {
  std::int32_t count = 0;
  for (const Route& route : schedule.routes) count = std::max(count, route.route_class);
  return count;
}

/// How many classes the routes would take on a fabric whose forwarding looks at destinations only.
/// Nothing where there is no time to find out.
std::optional<std::int32_t> route_classes_by_destination(const Plan& plan) {
  constexpr double seconds_per_pair = 3e-9;  // of routes to one destination
  const auto routes_there = static_cast<double>(plan.schedule.routes.size());
  const double expected = seconds_per_pair * routes_there * routes_there / plan.schedule.topology.host_count();
  if (plan.deadline.limited() && expected > plan.deadline.remaining()) return std::nullopt;
  std::vector<Route> routes = plan.schedule.routes;
  return assign_route_classes(plan.schedule.topology, routes, Forwarding::by_destination);
}

/// F_upper_bound / F − 1: how much better the best could be.
double gap(const Plan& plan) { return plan.flow > 0 ? plan.flow_upper_bound / plan.flow - 1 : 0; }

/// 1 − F'/F, where F' = 1 / (largest link load) is the rate the whole chunks reach; as the planner has it where loads
/// of full blocks do not tell.
double loss_chunking(const Plan& plan) {
  for (const auto& [name, value] : plan.figures.more) {
    if (name == "loss_chunking") return std::get<double>(value);
  }
  const double slowdown = plan.schedule.proof.max_link_load.to_double() * plan.flow;
  return slowdown > 1 ? 1 - 1 / slowdown : 0;
}

/// What no schedule on any topology of this degree can beat. It says nothing about all-to-all, nor about links of
/// several bandwidths: there it is the bound of this very topology.
Rational universal_bound(const Schedule& schedule) {
  const auto links = schedule.topology.links();
  const bool equal = std::all_of(links.begin(), links.end(), [&](const Link& link) {
    return link.bandwidth_bytes_per_second == schedule.topology.unit_bandwidth_bytes_per_second();
  });
  if (schedule.collective == Collective::alltoall || !equal) return schedule.proof.bandwidth_bound;
  return universal_bandwidth_bound(schedule.collective, schedule.topology.host_count());
}

bool optimal(const Schedule& schedule) { return schedule.proof.bandwidth_time == universal_bound(schedule); }

/// "1 step", "3 steps"
std::string count(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string percent(double fraction) {
  constexpr double noise = 1e-9;  // of the LP solver
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", std::abs(fraction) < noise ? 0 : 100 * fraction);
  return text;
}

/// T_B beside what no schedule on this topology can beat.
std::string bandwidth_text(const Schedule& schedule) {
  const Rational& time = schedule.proof.bandwidth_time;
  const Rational bound = std::max(schedule.proof.bandwidth_bound, universal_bound(schedule));
  std::string text = short_text(time) + " M/B";
  if (bound == Rational(0)) return text;
  text += ", bound " + short_text(bound);
  return time == bound ? text + ": optimal" : text + ": " + percent((time / bound).to_double() - 1) + " above";
}

std::string candidates_text(const std::vector<PlanCandidate>& candidates) {
  std::vector<std::string> parts;
  for (const PlanCandidate& candidate : candidates) {
    const std::string steps = candidate.steps > 0 ? "T_L " + std::to_string(candidate.steps) + ", " : "";
    parts.push_back(candidate.algorithm + ": " + steps + "T_B " + short_text(candidate.bandwidth_time));
  }
  return join(parts, "; ");
}

/// The default plan of small vectors.
std::string least_steps_text(const Schedule& schedule, const std::optional<std::int64_t>& up_to) {
  return schedule.algorithm + ": " + count(static_cast<std::size_t>(schedule.steps), "step") + ", T_B " +
         short_text(schedule.proof.bandwidth_time) + " M/B" +
         (up_to ? ", up to " + std::to_string(*up_to) + " bytes" : "");
}

/// What a file may claim: of an all-to-all what its transfers reach.
void settle_claims(Schedule& schedule, const PlanOptions& options) {
  Proof& proof = schedule.proof;
  if (schedule.collective == Collective::alltoall) {
    claim_what_is_reached(schedule);
    // Files do not tell the demand.
    if (!options.demand.empty()) proof.flow = proof.flow_upper_bound = 0;
  }
}

/// The bound of the bottleneck cut, where that is quick.
void raise_bound(Schedule& schedule) {
  if (schedule.collective == Collective::alltoall || !schedule.wirings.empty()) return;
  Rational& bound = schedule.proof.bandwidth_bound;
  bound = std::max(bound, quick_cut_bound(schedule.topology, schedule.collective, schedule.root));
}

/// Before which steps the fabric is rewired, and to what.
Json rewirings_json(const Schedule& schedule) {
  Json events = Json::array();
  for (const Wiring& wiring : schedule.wirings) {
    if (wiring.step == 1 && wiring.seconds == 0) continue;
    Json links = Json::array();
    for (const LiveLink& live : wiring.links) {
      const Link& link = schedule.topology.link(live.link);
      links.push_back({link.from, link.to, live.bandwidth_bytes_per_second});
    }
    events.push_back({{"before_step", wiring.step}, {"to", wiring.name}, {"links", links}});
  }
  return events;
}

std::string rewirings_text(const Schedule& schedule) {
  std::string text;
  for (const Wiring& wiring : schedule.wirings) {
    if (wiring.step == 1 && wiring.seconds == 0) continue;
    text += (text.empty() ? "before step " : ", ") + std::to_string(wiring.step) + " (" + wiring.name + ")";
  }
  return text.empty() ? "none" : text;
}

/// Most memory this process ever held.
std::int64_t peak_bytes() {
  rusage usage{};
  constexpr std::int64_t bytes_per_unit = 1024;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * bytes_per_unit : 0;
}

std::string figure_text(const std::variant<std::string, double, std::int64_t>& figure) {
  if (const auto* text = std::get_if<std::string>(&figure)) return *text;
  if (const auto* value = std::get_if<double>(&figure)) return rounded(*value, 9);
  return std::to_string(std::get<std::int64_t>(figure));
}

std::string verified_text(const Plan& plan) {
  if (!plan.checked) return "no: no schedule was asked for";
  if (plan.faults.empty()) return count(plan.schedule.transfers.size(), "transfer") + ", every one checked";
  return "FAULTY: " + join(plan.faults, "\n           ");
}

std::string routes_text(const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  const std::string paths = "at most " + count(paths_per_pair_max(schedule), "path") + " per pair";
  if (schedule.routes.empty()) return "none, hosts forward; " + paths;
  const auto lanes = at(layer_count(schedule.routes));
  const std::int32_t classes = route_classes(schedule);
  const std::optional<std::int32_t> by_destination = route_classes_by_destination(plan);
  return std::to_string(schedule.routes.size()) + " in " + count(lanes, "layer") + "; " + paths + ", " +
         std::to_string(classes) + (classes == 1 ? " class" : " classes") + " (" +
         (by_destination ? std::to_string(*by_destination) : "not counted for want of time") +
         " if forwarded by destination alone), digest " + route_set_digest(schedule.topology, schedule.routes);
}

using MakeSchedule = std::function<Result<Schedule>(const PlanOptions& options)>;

/// Timed, not yet checked.
Result<Plan> run_planner(const std::string& what, const PlanOptions& options, const MakeSchedule& make) {
  const Progress progress("planning " + what);
  Plan plan;
  PlanOptions asked = options;
  asked.figures = &plan.figures;
  const auto start = std::chrono::steady_clock::now();
  Result<Schedule> schedule = make(asked);
  if (!schedule) return schedule.error();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  plan.seconds = spent.count();
  plan.schedule = std::move(schedule).value();
  plan.checked = options.schedule;
  plan.flow = plan.schedule.proof.flow;
  plan.flow_upper_bound = plan.schedule.proof.flow_upper_bound;
  settle_claims(plan.schedule, options);
  return plan;
}

using MakePlans = std::function<Result<DefaultPlans>(const PlanOptions& options)>;

/// The best of several planners, checked.
Result<Plan> make_best_plan(const std::string& what, const PlanOptions& options, const MakePlans& make) {
  std::optional<Schedule> least_steps;
  std::vector<PlanCandidate> candidates;
  Result<Plan> plan = run_planner(what, options, [&](const PlanOptions& wanted) -> Result<Schedule> {
    Result<DefaultPlans> plans = make(wanted);
    if (!plans) return plans.error();
    least_steps = std::move(plans->least_steps);
    candidates = std::move(plans->candidates);
    return std::move(plans->least_bandwidth_time);
  });
  if (!plan) return plan;
  plan->least_steps = std::move(least_steps);
  plan->candidates = std::move(candidates);
  if (!plan->checked) return plan;
  plan->faults = verify(plan->schedule, faults_shown, options.threads);
  if (plan->least_steps) {
    plan->small_up_to = small_up_to(*plan->least_steps, plan->schedule);
    if (plan->faults.empty()) plan->faults = verify(*plan->least_steps, faults_shown, options.threads);
  }
  return plan;
}

Result<Plan> make_default_plan(const Topology& topology, Collective collective, const PlanOptions& options) {
  return make_best_plan(
      std::string(to_string(collective)) + " on " + topology.name(), options,
      [&](const PlanOptions& wanted) { return plan_default(planners(), topology, collective, wanted); });
}

std::string coarse_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.2g s" : "%.1f s", seconds);
  return text;
}

}  // namespace

std::string short_text(const std::string& exact, double value) {
  constexpr std::size_t most = 24;
  return exact.size() <= most ? exact : "about " + rounded(value, 9);
}

std::string short_text(const Rational& value) { return short_text(value.to_string(), value.to_double()); }

std::span<const Planner> planners() {
  static const std::vector<Planner> all = [] {
    const auto broadcast = broadcast_planners();
    const auto flow = flow_planners();
    std::vector<Planner> table(broadcast.begin(), broadcast.end());
    table.insert(table.end(), flow.begin(), flow.end());
    const auto reconfigure = reconfigure_planners();
    table.insert(table.end(), reconfigure.begin(), reconfigure.end());
    return table;
  }();
  return all;
}

Result<Plan> make_plan(const Topology& topology, Collective collective, const std::string& algorithm,
                       const PlanOptions& options) {
  if (algorithm.empty() || algorithm == automatic_plan) return make_default_plan(topology, collective, options);
  const Result<Planner> planner = find_planner(planners(), collective, algorithm);
  if (!planner) return planner.error();
  const std::string what =
      std::string(to_string(collective)) + " by " + std::string(planner->name) + " on " + topology.name();
  Result<Plan> plan = run_planner(what, options, [&](const PlanOptions& o) { return planner->plan(topology, o); });
  if (plan.ok()) raise_bound(plan->schedule);
  if (plan.ok() && plan->checked) {
    const auto check = planner->needs.has(Need::lockstep) ? &verify_lockstep : &verify;
    plan->faults = check(plan->schedule, faults_shown, options.threads);
  }
  return plan;
}

Result<Plan> make_first_plan(const Topology& topology, const PlanOptions& options) {
  PlanOptions quick = options;
  quick.time_limit_seconds *= share_of_first_plan;
  Result<Plan> plan = run_planner("alltoall on " + topology.name(), quick,
                                  [&](const PlanOptions& wanted) { return plan_sssp_rerouted(topology, wanted); });
  if (plan.ok() && plan->checked) plan->faults = verify(plan->schedule, faults_shown, options.threads);
  return plan;
}

Result<Plan> make_part_plan(const Topology& part, Collective collective, const std::string& algorithm,
                            const PlanOptions& options) {
  const std::string_view name = algorithm == automatic_plan ? std::string_view() : std::string_view(algorithm);
  Result<Plan> plan =
      make_best_plan(std::string(to_string(collective)) + " on " + part.name(), options,
                     [&](const PlanOptions& wanted) { return plan_part(planners(), part, collective, name, wanted); });
  if (plan.ok()) raise_bound(plan->schedule);
  return plan;
}

Json plan_json(const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  const Proof& proof = schedule.proof;
  Json json{{"collective", to_string(schedule.collective)},
            {"algorithm", schedule.algorithm},
            {"topology", schedule.topology.name()},
            {"nodes", schedule.topology.host_count()},
            {"steps", schedule.steps},
            {"bandwidth_time", proof.bandwidth_time.to_string()},
            {"bandwidth_time_float", proof.bandwidth_time.to_double()},
            {"bandwidth_bound", universal_bound(schedule).to_string()},
            {"topology_bound", proof.bandwidth_bound.to_string()},
            {"bandwidth_optimal", optimal(schedule)},
            {"chunks_per_shard", schedule.chunks_per_shard},
            {"transfers", schedule.transfers.size()},
            {"plan_seconds", plan.seconds},
            {"peak_bytes", peak_bytes()},
            {"verified", plan.checked && plan.faults.empty()},
            {"errors", plan.faults},
            {"symmetry_order", plan.figures.symmetry_order}};
  if (!plan.figures.method.empty()) json["method"] = plan.figures.method;
  for (const auto& [name, value] : plan.figures.more) {
    std::visit([&json, &key = name](const auto& figure) { json[key] = figure; }, value);
  }
  if (plan.candidates.size() > 1) {
    Json candidates = Json::array();
    for (const PlanCandidate& candidate : plan.candidates) {
      candidates.push_back({{"algorithm", candidate.algorithm},
                            {"steps", candidate.steps},
                            {"bandwidth_time", candidate.bandwidth_time.to_string()}});
    }
    json["candidates"] = candidates;
  }
  if (plan.least_steps) {
    json["least_steps"] = {{"algorithm", plan.least_steps->algorithm},
                           {"steps", plan.least_steps->steps},
                           {"bandwidth_time", plan.least_steps->proof.bandwidth_time.to_string()}};
    if (plan.small_up_to) json["least_steps"]["up_to_bytes"] = *plan.small_up_to;
  }
  if (is_rooted(schedule.collective)) json["root"] = schedule.root;
  if (schedule.algorithm == "harvest") json["rewirings"] = rewirings_json(schedule);
  if (schedule.collective != Collective::alltoall) return json;
  if (plan.figures.method.empty()) json["method"] = schedule.algorithm;  // there is no choice
  json["loss_routes"] = plan.figures.loss_routes;
  json["F"] = plan.flow;
  json["F_upper_bound"] = plan.flow_upper_bound;
  json["gap"] = gap(plan);
  json["max_link_load"] = proof.max_link_load.to_double();
  json["max_link_load_exact"] = proof.max_link_load.to_string();
  json["routes"] = schedule.routes.size();
  json["paths_per_pair_max"] = paths_per_pair_max(schedule);
  json["loss_chunking"] = loss_chunking(plan);
  json["layers"] = layer_count(schedule.routes);
  json["route_classes"] = route_classes(schedule);
  const std::optional<std::int32_t> by_destination = route_classes_by_destination(plan);
  json["route_classes_by_destination"] = by_destination ? Json(*by_destination) : Json(nullptr);
  json["routes_digest"] = route_set_digest(schedule.topology, schedule.routes);
  return json;
}

std::string plan_text(const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  const Proof& proof = schedule.proof;
  std::vector<std::vector<std::string>> rows = {
      {"T_L", count(static_cast<std::size_t>(schedule.steps), "step")},
      {"T_B", bandwidth_text(schedule)},
  };
  if (plan.candidates.size() > 1) rows.push_back({"chosen from", candidates_text(plan.candidates)});
  if (plan.least_steps) rows.push_back({"small vectors", least_steps_text(*plan.least_steps, plan.small_up_to)});
  const bool rooted = is_rooted(schedule.collective);
  std::string chunks = std::to_string(schedule.chunks_per_shard) + (rooted ? "" : " per shard");
  if (schedule.collective == Collective::alltoall) {
    rows.push_back({"F", rounded(plan.flow, 9) + ", upper bound " + rounded(plan.flow_upper_bound, 9) + ": gap " +
                             percent(gap(plan))});
    chunks += ", rounding to them loses " + percent(loss_chunking(plan)) + " of F";
    rows.push_back({"routes", routes_text(plan)});
    rows.push_back({"load", short_text(proof.max_link_load) + " shards on the busiest link"});
  }
  rows.push_back({"chunks", chunks});
  for (const auto& [name, value] : plan.figures.more) {
    if (name != "loss_chunking") rows.push_back({name, figure_text(value)});
  }
  if (schedule.algorithm == "harvest") rows.push_back({"rewirings", rewirings_text(schedule)});
  rows.push_back({"verified", verified_text(plan)});
  rows.push_back({"planned", "in " + coarse_seconds(plan.seconds) +
                                 (plan.figures.method.empty() ? "" : " by " + plan.figures.method)});
  const std::string ends =
      rooted ? (schedule.collective == Collective::broadcast ? " from " : " to ") + std::to_string(schedule.root) : "";
  return std::string(to_string(schedule.collective)) + ends + " by " + schedule.algorithm + " on " +
         schedule.topology.name() + ": N = " + std::to_string(schedule.topology.host_count()) + ", degree " +
         std::to_string(node_degree(schedule)) + "\n" + columns(rows);
}

}  // namespace libcoll::command
