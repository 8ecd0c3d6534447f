#include "planner/reconfigure/harvest.h"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "planner/base/infinity.h"
#include "planner/reconfigure/integer_interval.h"

namespace libcoll::reconfigure {
namespace {}  // namespace

HarvestStep step_seconds(const CongestionFrontier& frontier, double bytes, const HarvestModel& model) {
  HarvestStep best{0, {}, infinity};
  for (const FlowPoint& point : frontier) {
    const double seconds =
        model.alpha_seconds + model.delta_seconds * point.hops + bytes * point.congestion / model.bytes_per_second;
    if (seconds < best.seconds) best = {0, point, seconds};
  }
  return best;
}

Result<Harvest> Harvest::prepare(StagedCollective collective, std::int32_t degree, std::optional<Configuration> initial,
                                 const Deadline& deadline) {
  Harvest harvest;
  for (const StagedStep& step : collective.steps) {
    const auto known = std::find(harvest.matrices_.begin(), harvest.matrices_.end(), step.demands);
    harvest.matrix_of_.push_back(static_cast<std::size_t>(known - harvest.matrices_.begin()));
    if (known == harvest.matrices_.end()) harvest.matrices_.push_back(step.demands);
  }
  Result<Candidates> candidates = candidate_configurations(collective, degree);
  if (!candidates) return candidates.error();
  harvest.collective_ = std::move(collective);
  harvest.degree_ = degree;
  harvest.candidates_ = std::move(candidates).value();
  std::vector<Configuration> configurations = std::exchange(harvest.candidates_.configurations, {});
  if (initial) {
    if (initial->nodes != harvest.collective_.nodes || ports_used(*initial) > degree) {
      return Error{initial->name + ": found " + std::to_string(initial->nodes) + " nodes of degree " +
                   std::to_string(ports_used(*initial)) + ", expected " + std::to_string(harvest.collective_.nodes) +
                   " nodes of degree at most " + std::to_string(degree)};
    }
    const auto known = std::find_if(configurations.begin(), configurations.end(),
                                    [&](const Configuration& c) { return same_wires(c, *initial); });
    harvest.initial_ = static_cast<std::size_t>(known - configurations.begin());
    if (known == configurations.end()) {
      configurations.push_back(*std::move(initial));
    } else {
      known->name = initial->name;
    }
    std::vector<std::size_t>& fixed = harvest.candidates_.fixed;
    if (std::find(fixed.begin(), fixed.end(), *harvest.initial_) == fixed.end()) fixed.push_back(*harvest.initial_);
  }
  for (std::size_t position = 0; position < configurations.size(); ++position) {
    const auto wanted = [&](std::size_t matrix) {
      if (!deadline.passed()) return true;
      for (std::size_t step = 0; step < harvest.matrix_of_.size(); ++step) {
        if (harvest.matrix_of_[step] == matrix && harvest.candidates_.of_step[step] == position) return true;
      }
      return false;
    };
    if (const Status status = harvest.add(std::move(configurations[position]), wanted, deadline); !status)
      return status.error();
  }
  return harvest;
}

Status Harvest::add(Configuration configuration, const std::function<bool(std::size_t)>& wanted,
                    const Deadline& deadline) {
  std::vector<CongestionFrontier> frontiers(matrices_.size());
  bool complete = true;
  for (std::size_t matrix = 0; matrix < matrices_.size(); ++matrix) {
    if (wanted && !wanted(matrix)) {
      complete = false;
      continue;
    }
    Result<CongestionFrontier> frontier = congestion_frontier(configuration, matrices_[matrix], deadline);
    if (!frontier) return frontier.error();
    frontiers[matrix] = std::move(frontier).value();
  }
  if (!complete) ++left_out_.candidates;
  frontiers_.push_back(std::move(frontiers));
  candidates_.configurations.push_back(std::move(configuration));
  return {};
}

HarvestStep Harvest::step_on(std::size_t configuration, std::size_t step, const HarvestModel& model) const {
  const double bytes = model.bytes * collective_.steps[step].unit.to_double();
  HarvestStep result = step_seconds(frontier(configuration, step), bytes, model);
  result.configuration = configuration;
  return result;
}

double Harvest::seconds_on(const Interval& interval, const HarvestModel& model) const {
  double sum = 0;
  for (std::size_t step = interval.first; step <= interval.last; ++step) {
    sum += step_on(interval.configuration, step, model).seconds;
  }
  return sum;
}

double Harvest::sequence_seconds(const std::vector<std::size_t>& by_step, const HarvestModel& model) const {
  double sum = 0;
  std::optional<std::size_t> before = initial_;
  for (std::size_t step = 0; step < by_step.size(); ++step) {
    if (before && *before != by_step[step]) sum += model.reconfiguration_seconds;
    sum += step_on(by_step[step], step, model).seconds;
    before = by_step[step];
  }
  return sum;
}

double Harvest::ring_seconds(const HarvestModel& model) const {
  const std::size_t ring = candidates_.fixed.front();
  double sum = initial_ && *initial_ != ring ? model.reconfiguration_seconds : 0;
  for (std::size_t step = 0; step < collective_.steps.size(); ++step) {
    const CongestionFrontier& all = frontier(ring, step);
    const CongestionFrontier shortest(all.begin(), all.begin() + (all.empty() ? 0 : 1));
    sum += step_seconds(shortest, model.bytes * collective_.steps[step].unit.to_double(), model).seconds;
  }
  return sum;
}

HarvestPlan Harvest::plan(const HarvestModel& model) const {
  const std::size_t steps = collective_.steps.size();
  // An initial wiring is the only one for a step before all others that takes no time.
  const std::size_t before = initial_ ? 1 : 0;
  std::vector<std::vector<double>> seconds;
  for (std::size_t configuration = 0; configuration < configurations().size(); ++configuration) {
    std::vector<double>& row = seconds.emplace_back();
    if (initial_) row.push_back(configuration == *initial_ ? 0 : infinity);
    for (std::size_t step = 0; step < steps; ++step) row.push_back(step_on(configuration, step, model).seconds);
  }
  RewiringPlan rewirings = plan_rewirings(best_configurations(seconds), model.reconfiguration_seconds);
  HarvestPlan plan;
  plan.seconds = rewirings.seconds;
  for (Interval interval : rewirings.intervals) {
    interval.first = interval.first < before ? 0 : interval.first - before;
    if (interval.last < before) {
      plan.rewired_at_start = true;
      continue;
    }
    interval.last -= before;
    plan.intervals.push_back(interval);
    for (std::size_t step = interval.first; step <= interval.last; ++step) {
      plan.steps.push_back(step_on(interval.configuration, step, model));
    }
  }
  plan.static_seconds = infinity;
  for (const std::size_t fixed : candidates_.fixed) {
    const double fixed_seconds = sequence_seconds(std::vector(steps, fixed), model);
    if (!(fixed_seconds < plan.static_seconds)) continue;
    plan.static_seconds = fixed_seconds;
    plan.static_configuration = fixed;
  }
  plan.ring_seconds = ring_seconds(model);
  plan.every_step_seconds = sequence_seconds(candidates_.of_step, model);
  return plan;
}

Result<std::size_t> Harvest::search(const HarvestModel& model, std::size_t moves, std::uint64_t seed,
                                    const Deadline& deadline) {
  std::mt19937_64 random(seed);
  std::size_t kept = 0;
  for (std::size_t move = 0; move < moves; ++move) {
    if (deadline.passed()) {
      left_out_.moves += static_cast<std::int64_t>(moves - move);
      break;
    }
    const HarvestPlan current = plan(model);
    const Interval interval = current.intervals[random() % current.intervals.size()];
    const Configuration& from = configurations()[interval.configuration];
    if (from.wires.size() < 2) continue;
    // u→v, x→y become u→y, x→v.
    Configuration changed = from;
    Wire& first = changed.wires[random() % changed.wires.size()];
    Wire& second = changed.wires[random() % changed.wires.size()];
    if (first.to == second.to || first.from == second.from) continue;
    --first.count;
    --second.count;
    const Wire crossed{first.from, second.to, 1};
    const Wire other{second.from, first.to, 1};
    changed.wires.push_back(crossed);
    changed.wires.push_back(other);
    changed = make_configuration("found " + std::to_string(kept + 1), changed.nodes, std::move(changed.wires));
    double seconds = 0;
    const double limit = seconds_on(interval, model);
    for (std::size_t step = interval.first; step <= interval.last && seconds < limit; ++step) {
      const Result<CongestionFrontier> frontier =
          congestion_frontier(changed, collective_.steps[step].demands, deadline);
      if (!frontier) return frontier.error();
      seconds += step_seconds(*frontier, model.bytes * collective_.steps[step].unit.to_double(), model).seconds;
    }
    if (!(seconds < limit * (1 - 1e-9))) continue;
    if (const Status status = add(std::move(changed), {}, deadline); !status) return status.error();
    ++kept;
  }
  return kept;
}

Result<double> Harvest::solve(const HarvestModel& model, double seconds, const Deadline& deadline) {
  const std::span<const StagedStep> steps = collective_.steps;
  std::size_t left = steps.size() * (steps.size() + 1) / 2;  // intervals
  std::vector<std::vector<IntervalChoice>> bounds(steps.size());
  for (std::size_t a = 0; a < steps.size(); ++a) {
    for (std::size_t b = a; b < steps.size(); ++b) {
      double known = infinity;
      for (std::size_t configuration = 0; configuration < configurations().size(); ++configuration) {
        known = std::min(known, seconds_on({a, b, configuration}, model));
      }
      IntegerLimits limits;
      const Deadline share = deadline.part(1 / static_cast<double>(left--));
      const bool shortened = share.limited() && (seconds == 0 || share.remaining() < seconds);
      limits.seconds = shortened ? share.remaining() : seconds;
      Result<IntegerOptimum> optimum =
          integer_interval(steps.subspan(a, b - a + 1), collective_.nodes, degree_, model, known, limits);
      if (!optimum) return optimum.error();
      bounds[a].push_back({optimum->bound, 0});
      if (shortened && !optimum->proven(limits.gap)) ++left_out_.intervals;
      if (optimum->configuration.wires.empty()) continue;
      optimum->configuration.name = "optimum of steps " + std::to_string(a + 1) + " to " + std::to_string(b + 1);
      if (const Status status = add(std::move(optimum->configuration)); !status) return status.error();
    }
  }
  if (initial_) {
    // As in plan(): a step before all others that takes no time on the initial wiring.
    std::vector<IntervalChoice> from_start{{0, 0}};
    for (std::size_t b = 0; b < steps.size(); ++b) from_start.push_back({seconds_on({0, b, *initial_}, model), 0});
    bounds.insert(bounds.begin(), std::move(from_start));
  }
  return plan_rewirings(bounds, model.reconfiguration_seconds).seconds;
}

}  // namespace libcoll::reconfigure
