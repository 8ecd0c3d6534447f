#include "planner/reconfigure/step_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "planner/base/index.h"
#include "planner/lp/glpk_solver.h"
#include "planner/lp/linear_program.h"
#include "planner/reconfigure/symmetry.h"

namespace libcoll::reconfigure {

using namespace lp;
using namespace topology;

namespace {

constexpr double accuracy = 1e-7;           // relative, of congestions
constexpr double resolution = 1e-2;         // relative change of congestion that another number of hops is worth
constexpr double least_share = 1e-9;        // noise of the LP solver
constexpr int max_rounds = 2000;            // of column generation
constexpr std::size_t plain_limit = 60000;  // demands times wires that are solved without symmetry
constexpr std::size_t no_wire = std::numeric_limits<std::size_t>::max();
constexpr double unreached = std::numeric_limits<double>::infinity();

/// Cheapest walks of at most a number of wires from one node; of equally cheap ones the shortest, hence paths.
class BoundedPaths {
 public:
  BoundedPaths(const Configuration& configuration, const std::vector<std::size_t>& begin)
      : configuration_(configuration), begin_(begin) {}

  void find(NodeId source, std::span<const double> wire_cost, std::int32_t hops) {
    source_ = source;
    cost_.assign(1, std::vector<double>(at(configuration_.nodes), unreached));
    came_by_.assign(1, std::vector<std::size_t>(at(configuration_.nodes), no_wire));
    cost_[0][at(source)] = 0;
    std::vector<NodeId> changed{source};
    for (std::int32_t hop = 1; hop <= hops && !changed.empty(); ++hop) {
      cost_.push_back(cost_.back());
      came_by_.emplace_back(at(configuration_.nodes), no_wire);
      const std::vector<double>& before = cost_[cost_.size() - 2];
      std::vector<NodeId> next;
      for (const NodeId node : changed) {
        for (std::size_t wire = begin_[at(node)]; wire < begin_[at(node) + 1]; ++wire) {
          const std::size_t to = at(configuration_.wires[wire].to);
          const double cost = before[at(node)] + wire_cost[wire];
          if (!(cost < cost_.back()[to])) continue;
          if (came_by_.back()[to] == no_wire) next.push_back(static_cast<NodeId>(to));
          cost_.back()[to] = cost;
          came_by_.back()[to] = wire;
        }
      }
      changed = std::move(next);
    }
  }

  [[nodiscard]] double cost(NodeId node) const { return cost_.back()[at(node)]; }

  /// Its wires, in order. Precondition: the node was reached.
  [[nodiscard]] std::vector<std::size_t> path(NodeId node) const {
    std::vector<std::size_t> wires;
    std::size_t layer = cost_.size() - 1;
    while (node != source_) {
      while (came_by_[layer][at(node)] == no_wire) --layer;
      wires.push_back(came_by_[layer--][at(node)]);
      node = configuration_.wires[wires.back()].from;
    }
    std::reverse(wires.begin(), wires.end());
    return wires;
  }

 private:
  const Configuration& configuration_;
  const std::vector<std::size_t>& begin_;
  NodeId source_ = 0;
  std::vector<std::vector<double>> cost_;  ///< [wires at most][node]
  std::vector<std::vector<std::size_t>> came_by_;
};

/// A path of the first demand of an orbit, for all of them.
struct Column {
  std::size_t orbit = 0;
  std::vector<std::size_t> wires;
  double share = 0;  ///< in the latest solution
};

/// min λ: every orbit of demands is shared out over its paths, every orbit of wires carries at most λ times its ports.
class StepProgram {
 public:
  StepProgram(const Configuration& configuration, std::span<const Demand> demands, const StepSymmetry& symmetry)
      : configuration_(configuration),
        symmetry_(symmetry),
        begin_(first_wires(configuration)),
        ports_(symmetry.wires_in.size(), 0) {
    for (std::size_t wire = 0; wire < configuration.wires.size(); ++wire) {
      ports_[symmetry.wire_orbit[wire]] += configuration.wires[wire].count;
    }
    for (std::size_t i = 0; i < demands.size(); ++i) {
      if (symmetry.demand_orbit[i] != first_.size()) continue;
      first_.push_back(demands[i]);
      weight_.push_back(static_cast<double>(demands[i].units) *
                        static_cast<double>(symmetry.demands_in[first_.size() - 1]));
    }
  }

  /// The fewest hops that reach every demand; nothing when there is no path.
  [[nodiscard]] std::optional<std::int32_t> least_hops() const {
    const std::vector<double> ones(configuration_.wires.size(), 1);
    BoundedPaths paths(configuration_, begin_);
    std::int32_t most = 0;
    for (std::size_t orbit = 0; orbit < first_.size(); ++orbit) {
      if (orbit == 0 || first_[orbit].from != first_[orbit - 1].from) {
        paths.find(first_[orbit].from, ones, configuration_.nodes);
      }
      const double hops = paths.cost(first_[orbit].to);
      if (hops == unreached) return std::nullopt;
      most = std::max(most, static_cast<std::int32_t>(std::lround(hops)));
    }
    return most;
  }

  /// Of the first few paths only: a flow, but not always the best one. The same whenever it is asked first.
  Result<FlowPoint> solve_roughly(std::int32_t hops) {
    seed_columns(hops);
    const Result<LpSolution> solution = solve_master(hops);
    if (!solution) return solution.error();
    FlowPoint result = point(*solution);
    result.proved = false;
    return result;
  }

  /// Precondition: hops ≥ least_hops(). The point's hops are those of the longest path in use. Nothing: out of time.
  Result<std::optional<FlowPoint>> solve(std::int32_t hops, const Deadline& deadline) {
    if (deadline.passed()) return std::optional<FlowPoint>();
    seed_columns(hops);
    double bound = 0;
    for (int round = 0; round < max_rounds; ++round) {
      const Result<LpSolution> solution = solve_master(hops);
      if (!solution) return solution.error();
      const std::vector<double> prices = wire_prices(*solution);
      const Pricing pricing = add_columns(prices, hops);
      bound = std::max(bound, pricing.bound);
      if (solution->objective <= bound * (1 + accuracy) || !pricing.added) return std::optional(point(*solution));
      if (deadline.passed()) return std::optional<FlowPoint>();
    }
    return Error{"the flow of a step on " + configuration_.name + " did not converge"};
  }

  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

 private:
  struct Pricing {
    double bound = 0;
    bool added = false;
  };

  /// Cheapest paths for every orbit of demands; Σ weight·cost bounds λ where prices of ports sum up to 1.
  Pricing add_columns(const std::vector<double>& wire_cost, std::int32_t hops) {
    Pricing result;
    BoundedPaths paths(configuration_, begin_);
    for (std::size_t orbit = 0; orbit < first_.size(); ++orbit) {
      if (orbit == 0 || first_[orbit].from != first_[orbit - 1].from) paths.find(first_[orbit].from, wire_cost, hops);
      result.bound += weight_[orbit] * paths.cost(first_[orbit].to);
      Column column{orbit, paths.path(first_[orbit].to), 0};
      if (!known_.insert({orbit, column.wires}).second) continue;
      columns_.push_back(std::move(column));
      result.added = true;
    }
    return result;
  }

  /// Paths that keep clear of each other, so that the first masters have something to choose from: cheapest paths time
  /// and again, on wires that cost the more the more was sent over them.
  void seed_columns(std::int32_t hops) {
    constexpr int rounds = 6;
    std::vector<double> load(ports_.size(), 0);
    double heaviest = 0;
    for (int round = 0; round < rounds; ++round) {
      std::vector<double> cost;
      for (const std::size_t orbit : symmetry_.wire_orbit) {
        const double share = heaviest > 0 ? load[orbit] / heaviest : 0;
        cost.push_back((1 + round * share) / static_cast<double>(ports_[orbit]));
      }
      const std::size_t before = columns_.size();
      add_columns(cost, hops);
      if (round > 0 && columns_.size() == before) return;
      for (std::size_t i = before; i < columns_.size(); ++i) {
        for (const std::size_t wire : columns_[i].wires) {
          const std::size_t orbit = symmetry_.wire_orbit[wire];
          load[orbit] += weight_[columns_[i].orbit] / static_cast<double>(ports_[orbit]);
          heaviest = std::max(heaviest, load[orbit]);
        }
      }
    }
  }

  Result<LpSolution> solve_master(std::int32_t hops) {
    LinearProgram program;
    const std::int32_t lambda = program.add_column({0, no_bound, 1, false});
    std::vector<LpRow> wires(ports_.size(), LpRow{-no_bound, 0, {{lambda, -1}}});
    std::vector<LpRow> shares(first_.size(), LpRow{1, 1, {}});
    in_master_.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (static_cast<std::int32_t>(column.wires.size()) > hops) continue;
      const std::int32_t id = program.add_column({});
      in_master_.push_back(i);
      shares[column.orbit].entries.push_back({id, 1});
      std::map<std::size_t, std::int32_t> crossings;
      for (const std::size_t wire : column.wires) ++crossings[symmetry_.wire_orbit[wire]];
      for (const auto& [orbit, count] : crossings) {
        wires[orbit].entries.push_back({id, weight_[column.orbit] * count / static_cast<double>(ports_[orbit])});
      }
    }
    for (LpRow& row : wires) program.add_row(std::move(row));
    for (LpRow& row : shares) program.add_row(std::move(row));
    Result<LpSolution> solution = solve_with_glpk(program, LpMethod::simplex);
    if (solution && solution->status != LpStatus::optimal) {
      return Error{"the flow of a step on " + configuration_.name + " has no optimum"};
    }
    return solution;
  }

  /// Per wire: what a unit over it costs. The duals of the wires' rows sum up to 1, the cost of λ.
  [[nodiscard]] std::vector<double> wire_prices(const LpSolution& solution) const {
    double sum = 0;
    for (std::size_t orbit = 0; orbit < ports_.size(); ++orbit) sum += std::max(0.0, -solution.row_duals[orbit]);
    std::vector<double> prices;
    for (const std::size_t orbit : symmetry_.wire_orbit) {
      prices.push_back(std::max(0.0, -solution.row_duals[orbit]) / (sum * static_cast<double>(ports_[orbit])));
    }
    return prices;
  }

  FlowPoint point(const LpSolution& solution) {
    FlowPoint result{0, solution.objective};
    for (Column& column : columns_) column.share = 0;
    for (std::size_t i = 0; i < in_master_.size(); ++i) {
      Column& column = columns_[in_master_[i]];
      column.share = solution.primal[i + 1];
      if (column.share > least_share)
        result.hops = std::max(result.hops, static_cast<std::int32_t>(column.wires.size()));
    }
    return result;
  }

  const Configuration& configuration_;
  const StepSymmetry& symmetry_;
  std::vector<std::size_t> begin_;
  std::vector<std::int64_t> ports_;  ///< by orbit of wires
  std::vector<Demand> first_;        ///< by orbit of demands
  std::vector<double> weight_;       ///< units of the whole orbit
  std::vector<Column> columns_;
  std::set<std::pair<std::size_t, std::vector<std::size_t>>> known_;
  std::vector<std::size_t> in_master_;  ///< columns of the latest master, after λ
};

/// No flow does better than the ports of a node that the demands use most.
double port_bound(const Configuration& configuration, std::span<const Demand> demands) {
  const std::size_t nodes = at(configuration.nodes);
  std::vector<std::int64_t> out(nodes, 0);
  std::vector<std::int64_t> in(nodes, 0);
  std::vector<std::int64_t> ports_out(nodes, 0);
  std::vector<std::int64_t> ports_in(nodes, 0);
  for (const Wire& wire : configuration.wires) {
    ports_out[at(wire.from)] += wire.count;
    ports_in[at(wire.to)] += wire.count;
  }
  for (const Demand& demand : demands) {
    out[at(demand.from)] += demand.units;
    in[at(demand.to)] += demand.units;
  }
  double bound = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (out[node] > 0) bound = std::max(bound, static_cast<double>(out[node]) / static_cast<double>(ports_out[node]));
    if (in[node] > 0) bound = std::max(bound, static_cast<double>(in[node]) / static_cast<double>(ports_in[node]));
  }
  return bound;
}

/// Every node has one successor: there is one path to each node, and one flow.
std::optional<CongestionFrontier> only_flow(const Configuration& configuration, std::span<const Demand> demands) {
  std::vector<std::size_t> next(at(configuration.nodes), no_wire);
  for (std::size_t wire = 0; wire < configuration.wires.size(); ++wire) {
    std::size_t& known = next[at(configuration.wires[wire].from)];
    if (known != no_wire) return std::nullopt;
    known = wire;
  }
  std::vector<std::int64_t> units(configuration.wires.size(), 0);
  FlowPoint point;
  for (const Demand& demand : demands) {
    std::int32_t hops = 0;
    for (NodeId node = demand.from; node != demand.to; ++hops) {
      const std::size_t wire = next[at(node)];
      if (wire == no_wire || hops >= configuration.nodes) return CongestionFrontier{};
      units[wire] += demand.units;
      node = configuration.wires[wire].to;
    }
    point.hops = std::max(point.hops, hops);
  }
  for (std::size_t wire = 0; wire < units.size(); ++wire) {
    point.congestion = std::max(point.congestion, static_cast<double>(units[wire]) / configuration.wires[wire].count);
  }
  return CongestionFrontier{point};
}

bool better(double congestion, double than, double by) { return congestion < than * (1 - by); }

/// Adds the points between two neighbours that differ.
Status refine(StepProgram& program, FlowPoint few, FlowPoint many, const Deadline& deadline,
              CongestionFrontier& found) {
  while (many.hops - few.hops > 1 && better(many.congestion, few.congestion, resolution)) {
    const std::int32_t hops = (few.hops + many.hops) / 2;
    const Result<std::optional<FlowPoint>> answer = program.solve(hops, deadline);
    if (!answer) return answer.error();
    const std::optional<FlowPoint>& solved = *answer;
    if (!solved) return {};
    if (!better(many.congestion, solved->congestion, accuracy)) {
      many = {std::max(solved->hops, few.hops + 1), solved->congestion};
      found.push_back(many);
    } else if (!better(solved->congestion, few.congestion, accuracy)) {
      few.hops = hops;
    } else {
      found.push_back(*solved);
      if (Status status = refine(program, few, *solved, deadline, found); !status) return status;
      few = {hops, solved->congestion};
    }
  }
  return {};
}

/// Ascending hops; what costs more hops for no less congestion goes.
CongestionFrontier pareto(CongestionFrontier points) {
  std::sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return a.hops != b.hops ? a.hops < b.hops : a.congestion < b.congestion;
  });
  CongestionFrontier result;
  for (const FlowPoint& point : points) {
    if (result.empty() || better(point.congestion, result.back().congestion, accuracy)) result.push_back(point);
  }
  return result;
}

/// What takes the first demand of each orbit to each of its demands.
std::vector<std::vector<NodeId>> transporters(const Configuration& configuration, std::span<const Demand> demands,
                                              const StepSymmetry& symmetry) {
  std::vector<NodeId> identity(at(configuration.nodes));
  for (NodeId node = 0; node < configuration.nodes; ++node) identity[at(node)] = node;
  std::vector<std::vector<NodeId>> taken_by(demands.size());
  for (std::size_t first = 0; first < demands.size(); ++first) {
    if (!taken_by[first].empty()) continue;
    taken_by[first] = identity;
    std::vector<std::size_t> order{first};
    for (std::size_t next = 0; next < order.size(); ++next) {
      for (const std::vector<NodeId>& generator : symmetry.generators) {
        const Demand& demand = demands[order[next]];
        const Demand image{generator[at(demand.from)], generator[at(demand.to)], demand.units};
        const auto place =
            static_cast<std::size_t>(std::lower_bound(demands.begin(), demands.end(), image) - demands.begin());
        if (!taken_by[place].empty()) continue;
        std::vector<NodeId> composed;
        for (const NodeId node : taken_by[order[next]]) composed.push_back(generator[at(node)]);
        taken_by[place] = std::move(composed);
        order.push_back(place);
      }
    }
  }
  return taken_by;
}

std::vector<std::vector<SharedPath>> images(const Configuration& configuration, std::span<const Demand> demands,
                                            const StepSymmetry& symmetry, const std::vector<Column>& columns) {
  std::vector<std::vector<const Column*>> of_orbit(symmetry.demands_in.size());
  for (const Column& column : columns) {
    if (column.share > least_share) of_orbit[column.orbit].push_back(&column);
  }
  const std::vector<std::vector<NodeId>> taken_by = transporters(configuration, demands, symmetry);
  std::vector<std::vector<SharedPath>> result(demands.size());
  for (std::size_t i = 0; i < demands.size(); ++i) {
    double sum = 0;
    for (const Column* column : of_orbit[symmetry.demand_orbit[i]]) {
      SharedPath path{{demands[i].from}, column->share};
      for (const std::size_t wire : column->wires) path.nodes.push_back(taken_by[i][at(configuration.wires[wire].to)]);
      sum += column->share;
      result[i].push_back(std::move(path));
    }
    for (SharedPath& path : result[i]) path.share /= sum;
  }
  return result;
}

double congestion_of(const Configuration& configuration, std::span<const Demand> demands,
                     const std::vector<std::vector<SharedPath>>& paths) {
  std::map<std::pair<NodeId, NodeId>, double> load;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (const SharedPath& path : paths[i]) {
      for (std::size_t hop = 1; hop < path.nodes.size(); ++hop) {
        load[{path.nodes[hop - 1], path.nodes[hop]}] += path.share * static_cast<double>(demands[i].units);
      }
    }
  }
  double most = 0;
  for (const Wire& wire : configuration.wires) {
    const auto found = load.find({wire.from, wire.to});
    if (found != load.end()) most = std::max(most, found->second / wire.count);
  }
  return most;
}

}  // namespace

Result<CongestionFrontier> congestion_frontier(const Configuration& configuration, std::span<const Demand> demands,
                                               const Deadline& deadline) {
  if (demands.empty()) return CongestionFrontier{FlowPoint{}};
  if (std::optional<CongestionFrontier> only = only_flow(configuration, demands)) return *std::move(only);
  const StepSymmetry symmetry = step_symmetry(configuration, demands);
  StepProgram program(configuration, demands, symmetry);
  const std::optional<std::int32_t> least = program.least_hops();
  if (!least) return CongestionFrontier{};
  const Result<std::optional<FlowPoint>> few = program.solve(*least, deadline);
  if (!few) return few.error();
  if (!*few) {
    const Result<FlowPoint> rough = StepProgram(configuration, demands, symmetry).solve_roughly(*least);
    if (!rough) return rough.error();
    return CongestionFrontier{*rough};
  }
  CongestionFrontier points{**few};
  if (better(port_bound(configuration, demands), points.front().congestion, accuracy)) {
    const Result<std::optional<FlowPoint>> many = program.solve(configuration.nodes - 1, deadline);
    if (!many) return many.error();
    if (*many) {
      points.push_back(**many);
      if (const Status status = refine(program, **few, **many, deadline, points); !status) return status.error();
    }
  }
  return pareto(std::move(points));
}

Result<std::vector<std::vector<SharedPath>>> step_paths(const Configuration& configuration,
                                                        std::span<const Demand> demands, const FlowPoint& point,
                                                        const Deadline& deadline) {
  std::vector<std::vector<SharedPath>> result;
  for (const bool by_symmetry : {true, false}) {
    const StepSymmetry symmetry = step_symmetry(configuration, demands, by_symmetry);
    StepProgram program(configuration, demands, symmetry);
    const std::optional<std::int32_t> least = program.least_hops();
    if (!least || *least > point.hops) {
      return Error{"a demand has no path of " + std::to_string(point.hops) + " hops on " + configuration.name};
    }
    Status solved;
    if (point.proved) {
      // What the frontier had time for is to be had again.
      const Result<std::optional<FlowPoint>> again = program.solve(point.hops, Deadline(0));
      if (!again) solved = again.error();
    } else if (const Result<FlowPoint> again = program.solve_roughly(point.hops); !again) {
      solved = again.error();
    }
    if (!solved) return solved.error();
    result = images(configuration, demands, symmetry, program.columns());
    // One image of a path for each demand may load the wires of an orbit unequally where several images would not.
    const bool even = !better(point.congestion, congestion_of(configuration, demands, result), 10 * accuracy);
    if (even || !point.proved || deadline.passed() || demands.size() * configuration.wires.size() > plain_limit) break;
  }
  return result;
}

}  // namespace libcoll::reconfigure
