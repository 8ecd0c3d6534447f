#include "planner/flow/p_mcf.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/flow/lowering.h"
#include "planner/flow/path_lp.h"
#include "planner/flow/path_sets.h"

namespace libcoll {

Result<Schedule> plan_p_mcf(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, "p-mcf");
  if (!network) return network.error();
  const Result<PathSet> set = parse_path_set(options.paths);
  if (!set) return set.error();
  const Topology& graph = network->topology;
  LinkClasses classes = flow_classes(*network, options);
  Result<std::vector<PairPaths>> candidates = candidate_paths(topology, *set, classes.sources);
  if (!candidates) return candidates.error();
  std::int64_t count = 0;
  for (PairPaths& pair : *candidates) {
    count += static_cast<std::int64_t>(pair.paths.size());
    for (WeightedPath& path : pair.paths) path.links = network_path(*network, topology, path.links);
  }
  FluidPlan plan;
  plan.method = to_string(method_for(count + 1, options.time_limit_seconds));
  Result<PathFlow> solved = solve_path_lp(graph, classes, *candidates, options.demand, deadline.remaining());
  if (!solved && !deadline.passed()) return solved.error();
  if (solved.ok()) {
    plan.flow = certified_flow(graph, std::move(classes), std::move(solved->pairs), solved->prices, options.demand);
  } else {
    plan.method = "equal weights, as the time limit was hit";
    plan.flow = certified_flow(graph, std::move(classes), std::move(*candidates), {}, options.demand);
  }
  plan.network = std::move(*network);
  if (options.figures != nullptr) {
    options.figures->more.emplace_back("paths", options.paths.empty() ? std::string("disjoint") : options.paths);
    options.figures->more.emplace_back("candidate_paths", count);
  }
  return lower_to_routes(topology, std::move(plan), options, "p-mcf", deadline);
}

}  // namespace libcoll
