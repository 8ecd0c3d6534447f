#include "planner/flow/ts_mcf.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/problem/demand.h"
#include "planner/flow/timed_paths.h"
#include "planner/route/sssp.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::flow {

using namespace flow_lp;
using namespace lowering;
using namespace lp;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr double near_fluid = 0.01;          // of the fluid bound: enough steps
constexpr double least_stepped_flow = 1e-9;  // relative to a pair's data: what is below is noise of the solver
constexpr double least_stepped_weight = 1e-7;
constexpr std::size_t most_choices = 32;          // ways in time that chunks of a pair may choose from
constexpr std::int64_t most_lp_columns = 20'000;  // beyond, paths are put in time first
constexpr double flow_gap = 0.002;                // of the link MCF whose paths are put in time

/// Flow of one source through the time-expanded graph.
struct SourceFlow {
  std::vector<std::vector<double>> moves;  ///< [step − 1][link]
  std::vector<std::vector<double>> waits;  ///< [step − 1][node]: kept from this step to the next
};

/// The program and where its parts are, with the columns of SourceFlow's shape.
struct SteppedLp {
  LinearProgram program;
  std::vector<std::vector<std::vector<std::int32_t>>> move;  ///< [source][step − 1][link]
  std::vector<std::vector<std::vector<std::int32_t>>> wait;  ///< [source][step − 1][node]
};

/// (20). Nothing can leave a node before it got there, and nothing has to flow back into its source.
void add_columns(const Topology& topology, const LinkClasses& rows, const DistanceMatrix& distance, std::int32_t steps,
                 SteppedLp& lp) {
  for (const NodeId source : rows.sources) {
    auto& moves = lp.move.emplace_back(at(steps), std::vector<std::int32_t>(topology.links().size(), no_column));
    auto& waits = lp.wait.emplace_back(at(steps), std::vector<std::int32_t>(at(topology.node_count()), no_column));
    for (std::int32_t step = 1; step <= steps; ++step) {
      for (LinkId link = 0; link < topology.link_count(); ++link) {
        const Link& ends = topology.link(link);
        if (ends.to == source || distance[at(source)][at(ends.from)] > step - 1) continue;
        moves[at(step - 1)][at(link)] = lp.program.add_column({});
      }
      for (NodeId node = 0; node < topology.node_count() && step < steps; ++node) {
        if (node == source || distance[at(source)][at(node)] > step) continue;
        waits[at(step - 1)][at(node)] = lp.program.add_column({});
      }
    }
  }
}

/// (15) and (16), by step and row.
void add_capacity_rows(const LinkClasses& rows, std::int32_t steps, SteppedLp& lp) {
  for (std::int32_t step = 1; step <= steps; ++step) {
    const std::int32_t peak = lp.program.add_column({0, no_bound, 1});
    std::vector<LpRow> step_rows(rows.capacity.size());
    for (const auto& moves : lp.move) {
      for (std::size_t link = 0; link < rows.loads.size(); ++link) {
        const std::int32_t column = moves[at(step - 1)][link];
        if (column == no_column) continue;
        for (const ClassLoad& load : rows.loads[link]) {
          step_rows[at(load.link_class)].entries.push_back({column, static_cast<double>(load.times)});
        }
      }
    }
    for (std::size_t i = 0; i < step_rows.size(); ++i) {
      step_rows[i].upper = 0;
      step_rows[i].entries.push_back({peak, -rows.capacity[i].to_double()});
      lp.program.add_row(std::move(step_rows[i]));
    }
  }
}

/// (17)–(19): what a node had before a step and what it gets in the step is kept or passed on in the next step.
void add_conservation_rows(const Topology& topology, const LinkClasses& rows, std::int32_t steps,
                           std::span<const double> demand, SteppedLp& lp) {
  for (std::size_t i = 0; i < rows.sources.size(); ++i) {
    const NodeId source = rows.sources[i];
    for (std::int32_t step = 1; step <= steps; ++step) {
      for (NodeId node = 0; node < topology.node_count(); ++node) {
        if (node == source) continue;
        const double stays = step == steps ? share(demand, topology.host_count(), source, node) : 0;
        LpRow row{stays, stays, {}};
        const auto add = [&](std::int32_t column, double sign) {
          if (column != no_column) row.entries.push_back({column, sign});
        };
        for (const LinkId link : topology.in_links(node)) add(lp.move[i][at(step - 1)][at(link)], 1);
        if (step > 1) add(lp.wait[i][at(step - 2)][at(node)], 1);
        add(lp.wait[i][at(step - 1)][at(node)], -1);
        for (const LinkId link : topology.out_links(node)) {
          if (step < steps) add(lp.move[i][at(step)][at(link)], -1);
        }
        if (!row.entries.empty() || stays > 0) lp.program.add_row(std::move(row));
      }
    }
  }
}

std::vector<std::vector<double>> values(const std::vector<std::vector<std::int32_t>>& columns,
                                        const std::vector<double>& primal) {
  std::vector<std::vector<double>> result;
  for (const std::vector<std::int32_t>& of_step : columns) {
    std::vector<double>& amounts = result.emplace_back();
    for (const std::int32_t column : of_step) {
      const double amount = column == no_column ? 0 : primal[at(column)];
      amounts.push_back(amount > least_stepped_flow ? amount : 0);
    }
  }
  return result;
}

/// Takes timed paths off a source's flow. Time only runs forward, so there are no cycles in it.
class Peeler {
 public:
  Peeler(const Topology& topology, NodeId source, SourceFlow& flow, std::int32_t steps)
      : topology_(topology), source_(source), flow_(flow), steps_(steps) {}

  std::vector<TimedPath> peel(NodeId destination, double amount) {
    std::map<std::pair<std::vector<LinkId>, std::vector<std::int32_t>>, double> found;
    double missing = amount;
    while (missing > least_stepped_weight * amount) {
      if (!walk_back(destination)) break;
      double taken = missing;
      for (const double* part : parts_) taken = std::min(taken, *part);
      for (double* part : parts_) *part = *part - taken > least_stepped_flow ? *part - taken : 0;
      missing -= taken;
      found[without_detours()] += taken;
    }
    std::vector<TimedPath> paths;
    paths.reserve(found.size());
    for (const auto& [way, weight] : found) paths.push_back({way.first, way.second, weight});
    return paths;
  }

 private:
  /// A way from the source to the destination at the last step, into links_, times_ (both backwards) and parts_. A dead
  /// end, left by noise, is emptied and the walk begins anew.
  bool walk_back(NodeId destination) {
    for (;;) {
      links_.clear();
      times_.clear();
      parts_.clear();
      NodeId node = destination;
      std::int32_t step = steps_;
      while (node != source_) {
        double* largest = step > 1 ? &flow_.waits[at(step - 2)][at(node)] : nullptr;
        LinkId by = -1;
        for (const LinkId link : topology_.in_links(node)) {
          if (step < 1) break;
          double& amount = flow_.moves[at(step - 1)][at(link)];
          if (largest != nullptr && amount <= *largest) continue;
          largest = &amount;
          by = link;
        }
        if (largest == nullptr || *largest <= 0) break;
        parts_.push_back(largest);
        if (by >= 0) {
          links_.push_back(by);
          times_.push_back(step);
          node = topology_.link(by).from;
        }
        --step;
      }
      if (node == source_) return true;
      if (parts_.empty()) return false;
      *parts_.back() = 0;
    }
  }

  /// Forwards, and instead of going round to a node again the data waits there.
  [[nodiscard]] std::pair<std::vector<LinkId>, std::vector<std::int32_t>> without_detours() const {
    std::pair<std::vector<LinkId>, std::vector<std::int32_t>> way;
    std::vector<NodeId> met{source_};
    for (std::size_t i = links_.size(); i-- > 0;) {
      const NodeId to = topology_.link(links_[i]).to;
      const auto known = std::find(met.begin(), met.end(), to);
      if (known != met.end()) {
        met.erase(known + 1, met.end());
        way.first.resize(met.size() - 1);
        way.second.resize(met.size() - 1);
        continue;
      }
      met.push_back(to);
      way.first.push_back(links_[i]);
      way.second.push_back(times_[i]);
    }
    return way;
  }

  const Topology& topology_;
  NodeId source_;
  SourceFlow& flow_;
  std::int32_t steps_;
  std::vector<LinkId> links_;
  std::vector<std::int32_t> times_;
  std::vector<double*> parts_;
};

/// The pair's transfers under an image; chunks next to each other that cross a link in the same step go together.
void append(Schedule& schedule, const TimedPair& pair, const std::vector<std::int32_t>& counts,
            const Automorphism& image) {
  const NodeId source = image[at(pair.source)];
  const ShardId shard = source * schedule.topology.host_count() + image[at(pair.destination)];
  std::map<std::tuple<std::int32_t, NodeId, NodeId>, std::size_t> open;  // the hop's last transfer
  std::int32_t begin = 0;
  for (std::size_t k = 0; k < pair.paths.size(); ++k) {
    if (counts[k] == 0) continue;
    const TimedPath& path = pair.paths[k];
    for (std::size_t i = 0; i < path.links.size(); ++i) {
      const Link& link = schedule.topology.link(path.links[i]);
      const NodeId from = image[at(link.from)];
      const NodeId to = image[at(link.to)];
      const auto [known, is_new] = open.try_emplace({path.steps[i], from, to}, schedule.transfers.size());
      if (!is_new) {
        Transfer& last = schedule.transfers[known->second];
        if (last.chunk_begin + last.chunk_count == begin) {
          last.chunk_count += counts[k];
          continue;
        }
        known->second = schedule.transfers.size();
      }
      schedule.transfers.push_back({shard, begin, counts[k], from, to, path.steps[i], direct, TransferKind::copy});
    }
    begin += counts[k];
  }
}

/// A solution and the steps it was made for.
struct Stepped {
  TimeSteppedFlow flow;
  std::int32_t steps = 0;
  std::string method;
};

/// The paths of a link MCF spread over steps: near the optimum in a moment, whatever the size. Nothing where there is
/// no such flow.
std::optional<Stepped> link_mcf_in_time(const Topology& topology, const LinkClasses& rows, double fluid_load,
                                        std::int32_t first, std::int32_t last, const PlanOptions& options,
                                        const Deadline& deadline) {
  constexpr double share_of_flow = 0.2;  // of the time left, as next
  constexpr double share_of_steps = 0.3;
  FlowOptions wanted;
  wanted.gap = flow_gap;
  wanted.time_limit_seconds = share_of_flow * deadline.remaining();
  wanted.threads = options.threads;
  wanted.symmetry = options.symmetry;
  const Result<ConcurrentFlow> flow = max_concurrent_flow(topology, wanted);
  if (!flow) return std::nullopt;
  const std::vector<PairPaths> pairs = pairs_from(topology, rows.sources, *flow);
  const Deadline in_time(share_of_steps * deadline.remaining());  // none where there is none
  std::optional<Stepped> best;
  for (std::int32_t steps = first; steps <= last && (!best || !in_time.passed()); ++steps) {
    const bool fits = std::all_of(pairs.begin(), pairs.end(), [&](const PairPaths& pair) {
      return std::all_of(pair.paths.begin(), pair.paths.end(),
                         [&](const WeightedPath& path) { return path.links.size() <= at(steps); });
    });
    if (!fits) continue;
    TimeSteppedFlow timed = paths_in_time(rows, pairs, steps, topology.host_count(), options.demand, in_time);
    const bool better = !best || timed.load < best->flow.load;
    if (better) best = Stepped{std::move(timed), steps, "paths of link MCF in time"};
    if (!better || best->flow.load <= (1 + near_fluid) * fluid_load) break;
  }
  return best;
}

/// The number of steps asked for or the smallest that serves.
Result<Stepped> solve_steps(const Topology& topology, const LinkClasses& rows, double fluid_load,
                            const PlanOptions& options, const Deadline& deadline) {
  const std::int32_t diameter = graph_facts(topology).diameter;
  const std::int32_t first = options.steps > 0 ? options.steps : diameter;
  const std::int32_t last = options.steps > 0 ? options.steps : 2 * diameter + 2;
  if (first < diameter) {
    return Error{"ts-mcf on " + topology.name() + ": found " + std::to_string(first) +
                 " steps, expected at least the diameter, " + std::to_string(diameter)};
  }
  std::optional<Stepped> best;
  // An LP that is stopped leaves nothing, and a large one takes hours.
  const std::int64_t columns = static_cast<std::int64_t>(rows.sources.size()) * topology.link_count() * first;
  if (deadline.limited() || columns > most_lp_columns)
    best = link_mcf_in_time(topology, rows, fluid_load, first, last, options, deadline);
  for (std::int32_t steps = first; steps <= last; ++steps) {
    if (best && (best->flow.load <= (1 + near_fluid) * fluid_load || deadline.passed())) break;
    Result<TimeSteppedFlow> flow = solve_time_stepped(topology, rows, steps, options.demand, deadline.remaining());
    if (!flow && deadline.passed()) break;
    if (!flow) return flow.error();
    if (!best || flow->load < best->flow.load * (1 - least_stepped_weight))
      best = Stepped{std::move(*flow), steps, "LP"};
  }
  if (best) return std::move(*best);
  const Result<std::vector<Route>> routes = sssp_routes(topology);
  if (!routes) return routes.error();
  Stepped hasty;
  hasty.steps = first;
  hasty.method = "shortest paths, as the time limit was hit";
  hasty.flow.pairs = shortest_in_time(rows, *routes, first);
  hasty.flow.load = stepped_load(rows, hasty.flow.pairs, first, topology.host_count(), options.demand);
  return hasty;
}

}  // namespace

LinkClasses step_rows(const Topology& topology, LinkClasses classes) {
  if (!with_injection(topology, ForwardedBy::hosts).bottleneck) return classes;
  const Rational capacity(topology.injection_bytes_per_second(), topology.unit_bandwidth_bytes_per_second());
  // What a unit on a link adds to what each host sends (first) and receives, under all images; equal rows are one.
  std::map<std::map<LinkId, std::int32_t>, bool> known;
  for (const bool sends : {true, false}) {
    std::vector<std::map<LinkId, std::int32_t>> of_host(at(topology.host_count()));
    for (const Automorphism& image : classes.images) {
      for (LinkId link = 0; link < topology.link_count(); ++link) {
        const Link& ends = topology.link(link);
        ++of_host[at(image[at(sends ? ends.from : ends.to)])][link];
      }
    }
    for (const std::map<LinkId, std::int32_t>& row : of_host) {
      if (!known.try_emplace(row, true).second) continue;
      const auto id = static_cast<std::int32_t>(classes.capacity.size());
      classes.capacity.push_back(capacity);
      for (const auto& [link, times] : row) classes.loads[at(link)].push_back({id, times});
    }
  }
  return classes;
}

Result<TimeSteppedFlow> solve_time_stepped(const Topology& topology, const LinkClasses& rows, std::int32_t steps,
                                           std::span<const double> demand, double seconds) {
  SteppedLp lp;
  add_columns(topology, rows, hop_distances(topology), steps, lp);
  add_capacity_rows(rows, steps, lp);
  add_conservation_rows(topology, rows, steps, demand, lp);
  const LpMethod method = method_for(static_cast<std::int64_t>(lp.program.columns.size()), seconds);
  const Result<LpSolution> solution = solve_linear_program(lp.program, method, seconds);
  if (!solution) return solution.error();
  if (solution->status != LpStatus::optimal) {
    return Error{"the time-stepped LP of " + topology.name() + " in " + std::to_string(steps) + " steps " +
                 (solution->status == LpStatus::time_limit ? "took too long" : "has no solution")};
  }
  TimeSteppedFlow result;
  const std::int32_t hosts = topology.host_count();
  for (std::size_t i = 0; i < rows.sources.size(); ++i) {
    SourceFlow flow{values(lp.move[i], solution->primal), values(lp.wait[i], solution->primal)};
    Peeler peeler(topology, rows.sources[i], flow, steps);
    for (NodeId to = 0; to < hosts; ++to) {
      if (to == rows.sources[i]) continue;
      const double amount = share(demand, hosts, rows.sources[i], to);
      TimedPair pair{rows.sources[i], to, {}};
      if (amount > 0) pair.paths = peeler.peel(to, amount);
      if (amount > 0 && pair.paths.empty()) {
        return Error{"the time-stepped LP of " + topology.name() + " came out too noisy to be taken apart"};
      }
      double total = 0;
      for (const TimedPath& path : pair.paths) total += path.weight;
      for (TimedPath& path : pair.paths) path.weight /= total;
      result.pairs.push_back(std::move(pair));
    }
  }
  if (!demand.empty()) {
    const Result<std::vector<Route>> routes = sssp_routes(topology);
    if (!routes) return routes.error();
    std::vector<TimedPair> shortest = shortest_in_time(rows, *routes, steps);
    for (std::size_t i = 0; i < shortest.size(); ++i) {
      if (result.pairs[i].paths.empty()) result.pairs[i].paths = std::move(shortest[i].paths);
    }
  }
  result.load = stepped_load(rows, result.pairs, steps, hosts, demand);
  return result;
}

Result<Schedule> plan_ts_mcf(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  const Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::hosts, "ts-mcf");
  if (!network) return network.error();
  // Injection counts by step, in rows of its own: crossing the augmented graph's links would take steps.
  const bool symmetric = options.demand.empty() && options.symmetry;
  const LinkClasses rows =
      step_rows(topology, link_classes(topology, symmetric ? translations(topology) : std::vector<Automorphism>{}));
  const FlowCertificate bound =
      tightest_bound(network->topology, flow_classes(*network, options), {}, options.demand, no_bound, deadline);
  const double upper = upper_rate_on_fabric(*network, bound.flow_upper_bound);
  Result<Stepped> stepped = solve_steps(topology, rows, 1 / upper, options, deadline);
  if (!stepped) return stepped.error();
  const std::int32_t hosts = topology.host_count();
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = "ts-mcf";
  schedule.topology = topology;
  schedule.steps = stepped->steps;
  const double load = stepped->flow.load;
  double chunked_load = load;
  if (options.schedule) {
    for (TimedPair& pair : stepped->flow.pairs) add_retimings(pair, schedule.steps, most_choices);
    const ChunkProblem problem = stepped_problem(rows, stepped->flow.pairs, schedule.steps, hosts, options.demand);
    const ChunkSolution solution = choose_chunks(problem, load, options, true, deadline);
    schedule.chunks_per_shard = solution.chunks;
    chunked_load = solution.cost;
    for (const Automorphism& image : rows.images) {
      for (std::size_t i = 0; i < stepped->flow.pairs.size(); ++i) {
        append(schedule, stepped->flow.pairs[i], solution.counts[i], image);
      }
    }
    sort_transfers(schedule);
    schedule.proof.max_link_load = std::max(max_link_load(schedule), injection_load(schedule));
  } else {
    schedule.proof.max_link_load = rounded_up(load);
  }
  const double reached = options.demand.empty() ? 1 / schedule.proof.max_link_load.to_double() : 1 / chunked_load;
  schedule.proof.flow = std::min(reached, upper);
  schedule.proof.flow_upper_bound = upper;
  if (options.demand.empty()) schedule.proof.lengths = bound.lengths;
  const Rational time_of_load(degree(topology), hosts);
  schedule.proof.bandwidth_time = time_of_load * schedule.proof.max_link_load;
  if (options.demand.empty()) {
    schedule.proof.bandwidth_bound =
        std::min(schedule.proof.bandwidth_time, time_of_load * bound.load_lower_bound / network->unit);
  }
  if (options.figures != nullptr) {
    PlanFigures& figures = *options.figures;
    figures.method = std::move(stepped->method);
    figures.symmetry_order = static_cast<std::int64_t>(rows.images.size());
    figures.more.emplace_back("stepped_load", load);
    figures.more.emplace_back("stepped_load_chunks", chunked_load);
    figures.more.emplace_back("loss_steps", std::max(0.0, 1 - 1 / (upper * load)));
    figures.more.emplace_back("loss_chunking", std::max(0.0, 1 - load / chunked_load));
  }
  return schedule;
}

}  // namespace libcoll::flow
