#include "planner/flow/p_mcf.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/concurrent_flow.h"
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

/// Lengths of the fabric's links by which the optimum over all paths takes shortest ones only; none where finding them
/// would take longer than the plan.
std::vector<std::int64_t> optimal_lengths(const Topology& fabric, const InjectionNetwork& network,
                                          const PlanOptions& options) {
  FlowOptions quick;
  quick.paths = false;
  quick.symmetry = options.symmetry;
  quick.time_limit_seconds = options.time_limit_seconds / 4;
  const Result<ConcurrentFlow> flow = max_concurrent_flow(network.topology, quick);
  if (!flow) return {};
  std::vector<std::int64_t> lengths = flow->certificate.lengths;
  lengths.resize(fabric.links().size());  // those of the hosts' own links come after
  return lengths;
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
  // Which of the many disjoint sets a pair gets decides how near the optimum they come together.
  if (set->kind == PathSet::Kind::disjoint && options.demand.empty() && !deadline.passed()) {
    const std::vector<std::int64_t> lengths = optimal_lengths(topology, *network, options);
    Result<Candidate> other = solve(topology, *network, classes, *set, lengths, options, deadline);
    if (other.ok() && other->load < best->load) best = std::move(other);
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
