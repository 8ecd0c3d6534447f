#include "planner/reconfigure/integer_interval.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/base/infinity.h"
#include "planner/lp/glpk_solver.h"
#include "planner/lp/linear_program.h"
#include "planner/reconfigure/step_flow.h"

namespace libcoll::reconfigure {

using namespace lp;
using namespace topology;

namespace {

constexpr double tangent_ratio = 1.3;  // between the first tangents' θ
constexpr int max_programs = 2000;

/// Steps of one matrix: they take the same hops and the same θ.
struct Group {
  std::vector<Demand> demands;
  double bytes = 0;  ///< of a unit, all steps together
  int steps = 0;
};

/// An ordered pair of nodes; the wires between them are the sum of `binaries`, which are filled from the front.
struct Pair {
  NodeId from = 0;
  NodeId to = 0;
  std::vector<std::int32_t> binaries;
};

/// Columns of a group.
struct GroupColumns {
  std::int32_t theta = 0;
  std::int32_t inverse = 0;  ///< T_i, in seconds per (byte of a unit)
  std::int32_t hops = 0;
};

class IntervalProgram {
 public:
  IntervalProgram(std::span<const StagedStep> steps, std::int32_t nodes, std::int32_t degree, const HarvestModel& model,
                  const IntegerLimits& limits)
      : nodes_(nodes), degree_(degree), model_(model), limits_(limits) {
    for (const StagedStep& step : steps) {
      auto group = std::find_if(groups_.begin(), groups_.end(),
                                [&](const Group& known) { return known.demands == step.demands; });
      if (group == groups_.end()) group = groups_.insert(group, Group{step.demands, 0, 0});
      group->bytes += model.bytes * step.unit.to_double();
      ++group->steps;
      fixed_ += model.alpha_seconds;
    }
  }

  Result<IntegerOptimum> solve(double incumbent) {
    const auto start = std::chrono::steady_clock::now();
    IntegerOptimum optimum{{"found by integer program", nodes_, {}}, incumbent, 0, 0};
    if (optimum.seconds == infinity) {
      if (const Status status = consider(one_way_ring(), optimum); !status) return status.error();
    }
    scale_ = optimum.seconds;
    build();
    optimum.bound = least_bound();
    while (!optimum.proven(limits_.gap) && optimum.programs < max_programs) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      const double left = limits_.seconds > 0 ? limits_.seconds - spent.count() : 0;
      if (left < 0 || (limits_.seconds > 0 && left == 0)) break;
      program_.rows[at(cutoff_)].upper = (optimum.seconds * (1 - limits_.gap) - fixed_) / scale_;
      const Result<IntegerSolution> solution =
          solve_integer_with_glpk(program_, limits_.gap / 2, left > 0 ? left : 1e6);
      ++optimum.programs;
      if (!solution) return solution.error();
      if (solution->status == LpStatus::infeasible) {
        optimum.bound = std::max(optimum.bound, optimum.seconds * (1 - limits_.gap));
        break;
      }
      // What the cut-off topologies take is known: none less than the best one.
      const double bound = std::min(solution->bound * scale_ + fixed_, optimum.seconds);
      if (std::isfinite(bound)) optimum.bound = std::max(optimum.bound, bound);
      if (solution->primal.empty()) break;
      const Configuration configuration = wires_of(solution->primal);
      if (const Status status = consider(configuration, optimum); !status) return status.error();
      cut_off(configuration);
    }
    return optimum;
  }

 private:
  [[nodiscard]] Configuration one_way_ring() const {
    return shifted("found by integer program", nodes_, {{1, degree_}});
  }

  /// Prices it exactly and keeps it where it is faster.
  Status consider(const Configuration& configuration, IntegerOptimum& optimum) {
    double seconds = fixed_;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Result<CongestionFrontier> frontier = congestion_frontier(configuration, groups_[i].demands);
      if (!frontier) return frontier.error();
      if (frontier->empty()) return {};  // the program has none such
      if (!program_.columns.empty() && frontier->back().congestion > 0) add_tangent(i, 1 / frontier->back().congestion);
      double least = infinity;
      for (const FlowPoint& point : *frontier) {
        least = std::min(least, groups_[i].steps * model_.delta_seconds * point.hops +
                                    groups_[i].bytes * point.congestion / model_.bytes_per_second);
      }
      seconds += least;
    }
    if (!(seconds < optimum.seconds * (1 - limits_.gap))) return {};
    optimum.configuration = configuration;
    optimum.seconds = seconds;
    return {};
  }

  /// The most that the ports of a node allow.
  [[nodiscard]] double most_theta(const Group& group) const {
    std::vector<std::int64_t> out(at(nodes_), 0);
    std::vector<std::int64_t> in(at(nodes_), 0);
    std::int64_t most = 1;
    for (const Demand& demand : group.demands) {
      most = std::max({most, out[at(demand.from)] += demand.units, in[at(demand.to)] += demand.units});
    }
    return static_cast<double>(degree_) / static_cast<double>(most);
  }

  /// All over one wire: what every topology has that connects the group's demands.
  static double least_theta(const Group& group) {
    std::int64_t units = 0;
    for (const Demand& demand : group.demands) units += demand.units;
    return 1 / static_cast<double>(units);
  }

  /// One hop and all ports for every step.
  [[nodiscard]] double least_bound() const {
    double seconds = fixed_;
    for (const Group& group : groups_) {
      seconds += group.steps * model_.delta_seconds + group.bytes / (most_theta(group) * model_.bytes_per_second);
    }
    return seconds;
  }

  void build() {
    add_wires();
    LpRow cutoff{-no_bound, no_bound, {}};
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      const double theta = most_theta(group);
      const double inverse_cost = group.bytes / model_.bytes_per_second / scale_;
      const double hop_cost = group.steps * model_.delta_seconds / scale_;
      GroupColumns columns;
      columns.theta = program_.add_column({least_theta(group), theta, 0, false});
      columns.inverse = program_.add_column({1 / theta, no_bound, inverse_cost, false});
      columns.hops = program_.add_column({1, static_cast<double>(nodes_ - 1), hop_cost, false});
      cutoff.entries.push_back({columns.inverse, inverse_cost});
      if (hop_cost > 0) cutoff.entries.push_back({columns.hops, hop_cost});
      columns_.push_back(columns);
      const int tangents =
          1 + static_cast<int>(std::ceil(std::log(theta / least_theta(group)) / std::log(tangent_ratio)));
      for (int k = 0; k < tangents; ++k) add_tangent(i, theta / std::pow(tangent_ratio, k));
      add_flow(group, columns);
      if (hop_cost > 0) add_paths(group, columns);
    }
    cutoff_ = program_.add_row(std::move(cutoff));
  }

  /// x_{u,v} within the degree (10), (11).
  void add_wires() {
    std::vector<LpRow> out(at(nodes_), LpRow{-no_bound, static_cast<double>(degree_), {}});
    std::vector<LpRow> in = out;
    for (NodeId from = 0; from < nodes_; ++from) {
      for (NodeId to = 0; to < nodes_; ++to) {
        if (from == to) continue;
        Pair pair{from, to, {}};
        for (std::int32_t k = 0; k < degree_; ++k) {
          pair.binaries.push_back(program_.add_column({0, 1, 0, true}));
          out[at(from)].entries.push_back({pair.binaries.back(), 1});
          in[at(to)].entries.push_back({pair.binaries.back(), 1});
          if (k > 0) program_.add_row({0, no_bound, {{pair.binaries[at(k) - 1], 1}, {pair.binaries[at(k)], -1}}});
        }
        pairs_.push_back(std::move(pair));
      }
    }
    for (LpRow& row : out) program_.add_row(std::move(row));
    for (LpRow& row : in) program_.add_row(std::move(row));
  }

  /// The cone (14) from below: 1/θ ≥ 2/θ₀ − θ/θ₀².
  void add_tangent(std::size_t group, double theta) {
    program_.add_row(
        {2 / theta, no_bound, {{columns_[group].inverse, 1}, {columns_[group].theta, 1 / (theta * theta)}}});
  }

  /// Conservation (12), the flows of a source in one, and capacity (13).
  void add_flow(const Group& group, const GroupColumns& columns) {
    std::vector<LpRow> capacity;
    for (const Pair& pair : pairs_) {
      LpRow row{-no_bound, 0, {}};
      for (const std::int32_t binary : pair.binaries) row.entries.push_back({binary, -1});
      capacity.push_back(std::move(row));
    }
    for (NodeId source = 0; source < nodes_; ++source) {
      std::vector<LpRow> balance(at(nodes_), LpRow{0, 0, {}});
      bool sends = false;
      for (const Demand& demand : group.demands) {
        if (demand.from != source || demand.to == source) continue;
        sends = true;
        balance[at(demand.to)].entries.push_back({columns.theta, -static_cast<double>(demand.units)});
      }
      if (!sends) continue;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if (pairs_[i].to == source) continue;
        const std::int32_t flow = program_.add_column({});
        capacity[i].entries.push_back({flow, 1});
        balance[at(pairs_[i].to)].entries.push_back({flow, 1});
        if (pairs_[i].from != source) balance[at(pairs_[i].from)].entries.push_back({flow, -1});
      }
      for (NodeId node = 0; node < nodes_; ++node) {
        if (node != source) program_.add_row(std::move(balance[at(node)]));
      }
    }
    for (LpRow& row : capacity) program_.add_row(std::move(row));
  }

  /// For every demand a path over wires that are there, no longer than ℓ.
  void add_paths(const Group& group, const GroupColumns& columns) {
    for (const Demand& demand : group.demands) {
      if (demand.from == demand.to) continue;
      std::vector<LpRow> balance(at(nodes_), LpRow{0, 0, {}});
      LpRow length{-no_bound, 0, {{columns.hops, -1}}};
      for (const Pair& pair : pairs_) {
        if (pair.to == demand.from || pair.from == demand.to) continue;
        const std::int32_t used = program_.add_column({0, 1, 0, false});
        program_.add_row({-no_bound, 0, {{used, 1}, {pair.binaries.front(), -1}}});
        length.entries.push_back({used, 1});
        balance[at(pair.to)].entries.push_back({used, 1});
        if (pair.from != demand.from) balance[at(pair.from)].entries.push_back({used, -1});
      }
      balance[at(demand.to)].lower = balance[at(demand.to)].upper = 1;
      for (NodeId node = 0; node < nodes_; ++node) {
        if (node != demand.from) program_.add_row(std::move(balance[at(node)]));
      }
      program_.add_row(std::move(length));
    }
  }

  [[nodiscard]] Configuration wires_of(const std::vector<double>& primal) const {
    std::vector<Wire> wires;
    for (const Pair& pair : pairs_) {
      std::int32_t count = 0;
      for (const std::int32_t binary : pair.binaries) count += primal[at(binary)] > 0.5 ? 1 : 0;
      if (count > 0) wires.push_back({pair.from, pair.to, count});
    }
    return make_configuration("found by integer program", nodes_, std::move(wires));
  }

  /// A part of these wires is no better than all of them: from now on there must be another wire.
  void cut_off(const Configuration& configuration) {
    LpRow row{1, no_bound, {}};
    auto wire = configuration.wires.begin();
    for (const Pair& pair : pairs_) {
      const bool known = wire != configuration.wires.end() && wire->from == pair.from && wire->to == pair.to;
      for (std::size_t k = known ? at(wire->count) : 0; k < pair.binaries.size(); ++k) {
        row.entries.push_back({pair.binaries[k], 1});
      }
      if (known) ++wire;
    }
    program_.add_row(std::move(row));
  }

  std::int32_t nodes_;
  std::int32_t degree_;
  const HarvestModel& model_;
  const IntegerLimits& limits_;
  std::vector<Group> groups_;
  double fixed_ = 0;  ///< α of all steps
  double scale_ = 1;  ///< seconds per unit of the objective
  LinearProgram program_;
  std::vector<Pair> pairs_;  ///< by ascending ends
  std::vector<GroupColumns> columns_;
  std::int32_t cutoff_ = 0;  ///< the row that asks for less than the best
};

}  // namespace

Result<IntegerOptimum> integer_interval(std::span<const StagedStep> steps, std::int32_t nodes, std::int32_t degree,
                                        const HarvestModel& model, double incumbent, const IntegerLimits& limits) {
  if (nodes < 2 || nodes > max_integer_nodes || degree < 1) {
    return Error{"found " + std::to_string(nodes) + " nodes of degree " + std::to_string(degree) + ", expected 2 to " +
                 std::to_string(max_integer_nodes) + " nodes with a port at least"};
  }
  const bool idle =
      std::any_of(steps.begin(), steps.end(), [](const StagedStep& step) { return step.demands.empty(); });
  if (steps.empty() || idle) return Error{"found a step without demands, expected one at least in each"};
  return IntervalProgram(steps, nodes, degree, model, limits).solve(incumbent);
}

}  // namespace libcoll::reconfigure
