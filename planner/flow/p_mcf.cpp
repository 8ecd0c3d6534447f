#include "planner/flow/p_mcf.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/lowering.h"
#include "planner/flow/path_lp.h"
#include "planner/flow/path_sets.h"

namespace libcoll {
namespace {

/// What a flow on some path sets comes to.
struct Candidate {
  std::vector<PairPaths> pairs;
  std::vector<double> prices;
  double load = 0;
  std::int64_t paths = 0;
  bool solved = false;  ///< false: out of time, the weights are equal
};

/// (21)–(24) on the sets of least total `lengths`.
Result<Candidate> solve(const Topology& fabric, const InjectionNetwork& network, const LinkClasses& classes,
                        const PathSet& set, std::span<const std::int64_t> lengths, const PlanOptions& options,
                        const Deadline& deadline) {
  Result<std::vector<PairPaths>> paths = candidate_paths(fabric, set, classes.sources, lengths);
  if (!paths) return paths.error();
  Candidate result;
  for (PairPaths& pair : *paths) {
    result.paths += static_cast<std::int64_t>(pair.paths.size());
    for (WeightedPath& path : pair.paths) path.links = network_path(network, fabric, path.links);
  }
  Result<PathFlow> solved = solve_path_lp(network.topology, classes, *paths, options.demand, deadline.remaining());
  if (!solved && !deadline.passed()) return solved.error();
  result.solved = solved.ok();
  if (solved.ok()) {
    result.pairs = std::move(solved->pairs);
    result.prices = std::move(solved->prices);
    result.load = solved->load;
  } else {
    result.load = largest_load(classes, *paths, fabric.host_count(), options.demand);
    result.pairs = std::move(*paths);
  }
  return result;
}

constexpr std::int32_t most_rounds = 8;  // of other disjoint sets, while they gain
constexpr std::int32_t most_failures = 3;
constexpr std::int64_t most_paths = 4'000;  // beyond, one LP is all there is time for
constexpr double longest = 1 << 20;         // of whole lengths

/// Whole lengths of the fabric's links, in proportion to prices.
std::vector<std::int64_t> lengths_of(std::vector<double> prices, std::size_t links) {
  prices.resize(links);  // those of the hosts' own links come after
  const double most = *std::max_element(prices.begin(), prices.end());
  std::vector<std::int64_t> lengths;
  lengths.reserve(links);
  for (const double price : prices) lengths.push_back(most > 0 ? std::llround(longest * price / most) : 1);
  return lengths;
}

/// Which of the many disjoint sets a pair gets decides how near the optimum they come together: those of least total
/// price, where prices are those of the sets before, as in column generation, averaged so that they settle.
void choose_better_sets(const Topology& fabric, const InjectionNetwork& network, const LinkClasses& classes,
                        const PathSet& set, const PlanOptions& options, const Deadline& deadline, Candidate& best) {
  std::vector<double> prices = best.prices;
  std::int32_t failures = 0;
  for (std::int32_t round = 0; round < most_rounds && failures < most_failures && !deadline.passed(); ++round) {
    const std::vector<std::int64_t> lengths = lengths_of(prices, fabric.links().size());
    Result<Candidate> other = solve(fabric, network, classes, set, lengths, options, deadline);
    if (!other || !other->solved) return;
    for (std::size_t i = 0; i < prices.size(); ++i) prices[i] = (prices[i] + other->prices[i]) / 2;
    const bool better = other->load < best.load * (1 - 1e-6);
    failures = better ? 0 : failures + 1;
    if (better) best = std::move(*other);
  }
}

}  // namespace

Result<Schedule> plan_p_mcf(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, "p-mcf");
  if (!network) return network.error();
  const Result<PathSet> set = parse_path_set(options.paths);
  if (!set) return set.error();
  LinkClasses classes = flow_classes(*network, options);
  Result<Candidate> best = solve(topology, *network, classes, *set, {}, options, deadline);
  if (!best) return best.error();
  if (set->kind == PathSet::Kind::disjoint && best->solved && best->paths <= most_paths) {
    choose_better_sets(topology, *network, classes, *set, options, deadline, *best);
  }
  FluidPlan plan;
  plan.method = best->solved ? to_string(method_for(best->paths + 1, options.time_limit_seconds))
                             : "equal weights, as the time limit was hit";
  plan.flow =
      certified_flow(network->topology, std::move(classes), std::move(best->pairs), best->prices, options.demand);
  plan.network = std::move(*network);
  if (options.figures != nullptr) {
    options.figures->more.emplace_back("paths", options.paths.empty() ? std::string("disjoint") : options.paths);
    options.figures->more.emplace_back("candidate_paths", best->paths);
  }
  return lower_to_routes(topology, std::move(plan), options, "p-mcf", deadline);
}

}  // namespace libcoll
