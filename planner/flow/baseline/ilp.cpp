#include "planner/flow/baseline/ilp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/path_sets.h"
#include "planner/lp/glpk_solver.h"

namespace libcoll::flow::baseline {

using namespace flow_lp;
using namespace lowering;
using namespace lp;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr double default_seconds = 30;
constexpr double relaxation_tolerance = 1e-6;  // of the LP relaxation
constexpr std::int64_t most_columns_for_interior_point = 20'000;
constexpr double seconds_for_interior_point = 10;  // more than it takes for so many columns
constexpr double link_mcf_gap = 1e-3;

/// Whole paths make whole loads: no choice loads its hottest link less than the relaxation, rounded up on some link.
double round_bound_up(const ChunkProblem& problem, double relaxed) {
  const bool whole = std::all_of(problem.size.begin(), problem.size.end(), [](double size) { return size == 1; });
  if (!whole) return relaxed * (1 - relaxation_tolerance);
  double least = 0;
  for (const double capacity : problem.capacity) {
    const double load = std::ceil(relaxed * capacity - relaxation_tolerance) / capacity;
    if (least <= 0 || load < least) least = load;
  }
  return least;
}

/// Minimise the largest load over binary choices, below `most` and not below `least`.
struct ChoiceProgram {
  LinearProgram program;
  std::vector<std::vector<std::int32_t>> column;  ///< [commodity][choice]
};

ChoiceProgram formulate(const ChunkProblem& problem, double least, double most) {
  ChoiceProgram result;
  const std::int32_t load = result.program.add_column({least, most, 1});
  std::vector<LpRow> rows(problem.capacity.size());
  for (std::size_t i = 0; i < problem.commodities.size(); ++i) {
    std::vector<std::int32_t>& columns = result.column.emplace_back();
    LpRow one{1, 1, {}};
    for (const Choice& choice : problem.commodities[i]) {
      columns.push_back(result.program.add_column({0, 1, 0, true}));
      one.entries.push_back({columns.back(), 1});
      for (const ClassLoad& use : choice.uses) {
        if (problem.size[i] > 0)
          rows[at(use.link_class)].entries.push_back({columns.back(), problem.size[i] * use.times});
      }
    }
    result.program.add_row(std::move(one));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].upper = 0;
    rows[i].entries.push_back({load, -problem.capacity[i]});
    result.program.add_row(std::move(rows[i]));
  }
  return result;
}

/// The best choice found and a bound on all.
struct Choices {
  ChunkSolution solution;
  double bound = 0;
  std::string method;
};

Choices choose(const ChunkProblem& problem, double relaxed, double gap, const Deadline& deadline) {
  Choices result;
  result.bound = round_bound_up(problem, relaxed);
  const double enough = result.bound * (1 + std::max(gap, relaxation_tolerance));
  result.solution = negotiate(problem, round_weights(problem, 1), enough);
  result.method = "local search, proven by the relaxation";
  if (result.solution.cost <= enough) return result;
  result.method = "branch and cut";
  // Only what is better counts: with whole loads that is a step of one on the fastest link at least.
  const double fastest = *std::max_element(problem.capacity.begin(), problem.capacity.end());
  const bool whole = std::all_of(problem.size.begin(), problem.size.end(), [](double size) { return size == 1; });
  const double most = result.solution.cost - (whole ? 0.5 / fastest : relaxation_tolerance);
  const ChoiceProgram choices = formulate(problem, result.bound, most);
  const Result<IntegerSolution> solved =
      solve_integer_with_glpk(choices.program, std::max(gap, relaxation_tolerance), deadline.remaining());
  if (!solved) return result;  // the solver gave up: what the search found stands
  if (solved->status == LpStatus::infeasible) {
    result.bound = most;
    if (whole) result.bound = result.solution.cost;
    return result;
  }
  result.bound = std::clamp(solved->bound, result.bound, result.solution.cost);
  if (solved->primal.empty()) return result;
  ChunkSolution better;
  for (const std::vector<std::int32_t>& columns : choices.column) {
    std::vector<std::int32_t>& counts = better.counts.emplace_back();
    for (const std::int32_t column : columns) {
      counts.push_back(static_cast<std::int32_t>(std::lround(solved->primal[at(column)])));
    }
  }
  // Costs the choice without changing it.
  better = negotiate(problem, better, no_bound);
  if (better.cost < result.solution.cost) result.solution = std::move(better);
  return result;
}

/// Where pMCF itself takes too long: the bound and the prices of the link MCF, and of every pair the path that costs
/// least at these. Of demands and injection limits it knows nothing: equal prices, no bound.
PathFlow relax_by_link_mcf(const InjectionNetwork& network, std::vector<PairPaths> pairs, const PlanOptions& options,
                           const Deadline& deadline) {
  PathFlow result;
  result.prices.assign(network.topology.links().size(), 1);
  if (!network.bottleneck && options.demand.empty()) {
    FlowOptions wanted;
    wanted.gap = link_mcf_gap;
    wanted.time_limit_seconds = deadline.remaining() / 2;
    wanted.threads = options.threads;
    wanted.symmetry = options.symmetry;
    wanted.paths = false;
    if (const Result<ConcurrentFlow> flow = max_concurrent_flow(network.topology, wanted); flow.ok()) {
      result.load = 1 / flow->certificate.flow_upper_bound;
      result.prices.assign(flow->certificate.lengths.begin(), flow->certificate.lengths.end());
    }
  }
  const auto price = [&](const WeightedPath& path) {
    return std::accumulate(path.links.begin(), path.links.end(), 0.0,
                           [&](double sum, LinkId link) { return sum + result.prices[at(link)]; });
  };
  for (PairPaths& pair : pairs) {
    const auto cheapest =
        std::min_element(pair.paths.begin(), pair.paths.end(),
                         [&](const WeightedPath& a, const WeightedPath& b) { return price(a) < price(b); });
    std::swap(pair.paths.front(), *cheapest);
    pair.paths.resize(1);
    pair.paths.front().weight = 1;
  }
  result.pairs = std::move(pairs);
  return result;
}

Result<Schedule> plan_single(const Topology& topology, const PlanOptions& options, PathSet::Kind kind,
                             const char* algorithm) {
  const Deadline deadline(options.time_limit_seconds > 0 ? options.time_limit_seconds : default_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, algorithm);
  if (!network) return network.error();
  const Topology& graph = network->topology;
  const std::int32_t hosts = graph.host_count();
  LinkClasses classes = link_classes(graph, {});  // a symmetric choice need not be the best
  Result<std::vector<PairPaths>> pairs = candidate_paths(topology, {kind, 0}, classes.sources);
  if (!pairs) return pairs.error();
  std::int64_t count = 0;
  for (PairPaths& pair : *pairs) {
    count += static_cast<std::int64_t>(pair.paths.size());
    for (WeightedPath& path : pair.paths) path.links = network_path(*network, topology, path.links);
  }
  // The relaxation is pMCF on the same paths, all of which stay to choose from. For some sizes interior point is the
  // faster method, but it knows no limit.
  const double seconds = count > most_columns_for_simplex ? 0 : deadline.remaining();
  const bool hurried = options.time_limit_seconds > 0 && options.time_limit_seconds < seconds_for_interior_point;
  const bool unlimited_method = hurried && count > most_columns_for_simplex;
  const Result<PathFlow> relaxed = unlimited_method || count > most_columns_for_interior_point
                                       ? relax_by_link_mcf(*network, *pairs, options, deadline)
                                       : solve_path_lp(graph, classes, *pairs, options.demand, seconds);
  if (!relaxed && !deadline.passed()) return relaxed.error();
  std::vector<double> prices;
  double load = 0;
  if (relaxed.ok()) {
    prices = relaxed->prices;
    load = relaxed->load;
    for (std::size_t i = 0; i < pairs->size(); ++i) {
      for (WeightedPath& path : (*pairs)[i].paths) {
        const std::vector<WeightedPath>& weighted = relaxed->pairs[i].paths;
        const auto same = std::find_if(weighted.begin(), weighted.end(),
                                       [&](const WeightedPath& other) { return other.links == path.links; });
        path.weight = same == weighted.end() ? 0 : same->weight;
      }
    }
  }
  Choices choices = choose(chunk_problem(classes, *pairs, hosts, options.demand), load, options.gap, deadline);
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    const std::vector<std::int32_t>& counts = choices.solution.counts[i];
    const auto taken = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    std::vector<WeightedPath>& paths = (*pairs)[i].paths;
    std::swap(paths.front(), paths[taken]);
    paths.resize(1);
    paths.front().weight = 1;
  }
  if (options.figures != nullptr) {
    const double unit = network->unit.to_double();
    options.figures->more.emplace_back("ilp_load", choices.solution.cost / unit);
    options.figures->more.emplace_back("ilp_bound", choices.bound / unit);
  }
  FluidPlan plan;
  plan.flow = certified_flow(graph, std::move(classes), std::move(*pairs), prices, options.demand,
                             options.time_limit_seconds > 0 ? deadline : Deadline(0));
  plan.network = std::move(*network);
  plan.method = std::move(choices.method);
  plan.chunk_paths = ChunkPaths::weighted;
  return lower_to_routes(topology, std::move(plan), options, algorithm, deadline);
}

}  // namespace

Result<Schedule> plan_ilp_disjoint(const Topology& topology, const PlanOptions& options) {
  return plan_single(topology, options, PathSet::Kind::disjoint, "ilp-disjoint");
}

Result<Schedule> plan_ilp_shortest(const Topology& topology, const PlanOptions& options) {
  return plan_single(topology, options, PathSet::Kind::shortest, "ilp-shortest");
}

}  // namespace libcoll::flow::baseline
