#include "planner/plan/default_plan.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "planner/base/deadline.h"
#include "planner/broadcast/bound/cut_bound.h"
#include "planner/schedule/lockstep_time.h"

namespace libcoll::default_plan {

using namespace broadcast::bound;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

/// Hosts times links up to which ForestColl takes seconds at most.
constexpr std::int64_t most_forest_work = 1 << 18;
constexpr double share_of_fewest_steps = 0.4;  // of the time there is

bool has_switches(const Topology& topology) { return topology.node_count() != topology.host_count(); }

bool takes(const Planner& planner, const Topology& topology) {
  if (has_switches(topology)) return !planner.needs.has(Need::hosts_only);
  return topology.nics_forward() || !planner.needs.has(Need::forwarding);
}

/// The planner of that name, or with an empty one the first that takes the topology; the first of all if none does.
Result<Planner> find_taking(std::span<const Planner> table, const Topology& topology, Collective collective,
                            std::string_view name) {
  if (!name.empty()) return find_planner(table, collective, name);
  for (const Planner& planner : table) {
    if (planner.collective == collective && takes(planner, topology)) return planner;
  }
  return find_planner(table, collective, {});
}

/// A plan and what was noted of it.
struct Made {
  Schedule schedule;
  PlanFigures figures;
};

Result<Made> make(const Planner& planner, const Topology& topology, PlanOptions options) {
  Made made;
  options.figures = &made.figures;
  Result<Schedule> schedule = planner.plan(topology, options);
  if (!schedule) return schedule.error();
  made.schedule = std::move(schedule).value();
  return made;
}

void raise_bound(Schedule& schedule, const Rational& bound) {
  schedule.proof.bandwidth_bound = std::max(schedule.proof.bandwidth_bound, bound);
}

DefaultPlans only(Made made, const Rational& bound, const PlanOptions& options) {
  raise_bound(made.schedule, bound);
  if (options.figures != nullptr) *options.figures = std::move(made.figures);
  const PlanCandidate candidate = candidate_of(made.schedule);
  return {std::move(made.schedule), std::nullopt, {candidate}};
}

}  // namespace

PlanCandidate candidate_of(const Schedule& schedule) {
  return {schedule.algorithm, schedule.steps, schedule.proof.bandwidth_time};
}

Result<std::vector<Planner>> default_planners(std::span<const Planner> table, const Topology& topology,
                                              Collective collective) {
  const Result<Planner> fewest_steps = find_planner(table, collective, fewest_steps_planner);
  const Result<Planner> forest = find_planner(table, collective, "forestcoll");
  if (is_gathering(collective) && fewest_steps.ok() && forest.ok() && takes(*fewest_steps, topology)) {
    return std::vector<Planner>{*fewest_steps, *forest};
  }
  const Result<Planner> planner = find_taking(table, topology, collective, {});
  if (!planner) return planner.error();
  return std::vector<Planner>{*planner};
}

std::optional<std::int64_t> small_up_to(const Schedule& small, const Schedule& usual) {
  // A message costs its ends time that no latency of a link tells of.
  if (small.steps > usual.steps) return std::nullopt;
  return bytes_up_to(lockstep_time(small), lockstep_time(usual));
}

Result<DefaultPlans> plan_default(std::span<const Planner> table, const Topology& topology, Collective collective,
                                  const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  const Result<std::vector<Planner>> asked = default_planners(table, topology, collective);
  if (!asked) return asked.error();
  const Rational bound = quick_cut_bound(topology, collective, options.root);
  const Planner& fewest_steps = asked->front();
  const Planner& forest = asked->back();
  if (asked->size() == 1) {
    Result<Made> made = make(fewest_steps, topology, options);
    if (!made) return made.error();
    return only(std::move(made).value(), bound, options);
  }
  PlanOptions first = options;
  if (deadline.limited()) first.time_limit_seconds = share_of_fewest_steps * options.time_limit_seconds;
  Result<Made> steps = make(fewest_steps, topology, first);
  const bool small = std::int64_t{topology.host_count()} * topology.link_count() <= most_forest_work;
  const bool affordable = deadline.limited() || small;
  if (steps.ok()) {
    const bool optimal = steps->schedule.proof.bandwidth_time <= bound;
    if (optimal || !affordable) return only(std::move(steps).value(), bound, options);
  } else if (!affordable) {
    return steps.error();
  }
  PlanOptions second = options;
  if (deadline.limited()) second.time_limit_seconds = deadline.remaining();
  Result<Made> trees = make(forest, topology, second);
  if (!trees) {
    if (!steps) return trees.error();
    return only(std::move(steps).value(), bound, options);
  }
  if (!steps) return only(std::move(trees).value(), bound, options);
  raise_bound(steps->schedule, bound);
  raise_bound(trees->schedule, bound);
  DefaultPlans plans;
  plans.candidates = {candidate_of(steps->schedule), candidate_of(trees->schedule)};
  const bool forest_is_better = trees->schedule.proof.bandwidth_time < steps->schedule.proof.bandwidth_time;
  Made& better = forest_is_better ? *trees : *steps;
  if (options.figures != nullptr) *options.figures = std::move(better.figures);
  // Without schedules ForestColl does not know its steps.
  const bool serves_some = !options.schedule || small_up_to(steps->schedule, trees->schedule).has_value();
  if (forest_is_better && serves_some) plans.least_steps = std::move(steps->schedule);
  plans.least_bandwidth_time = std::move(better.schedule);
  return plans;
}

}  // namespace libcoll::default_plan
