#include "planner/flow/concurrent_flow.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "planner/flow/master_lp.h"
#include "planner/topology/facts.h"

namespace libcoll {
namespace {

constexpr double accepted_gap = 1e-6;
// Measured with GLPK on generalized Kautz graphs: simplex is exact and as fast below, interior point wins above.
constexpr std::int64_t most_columns_for_simplex = 4000;
// Beyond this a second solution by simplex would take minutes.
constexpr std::int64_t most_columns_for_retry = 40'000;

double rate(const LinkClasses& classes, const std::vector<PairPaths>& pairs) {
  std::vector<double> amounts(classes.loads.size(), 0);
  for (const PairPaths& pair : pairs) {
    for (const WeightedPath& path : pair.paths) {
      for (const LinkId link : path.links) amounts[static_cast<std::size_t>(link)] += path.weight;
    }
  }
  return 1 / largest_load(classes, amounts);
}

Result<ConcurrentFlow> solve(const Topology& topology, LinkClasses classes, LpMethod method) {
  Result<MasterFlow> master = solve_master_lp(topology, classes, method);
  if (!master) return master.error();
  ConcurrentFlow result;
  for (std::size_t i = 0; i < classes.sources.size(); ++i) {
    for (PairPaths& pair : decompose(topology, classes.sources[i], std::move(master->flow[i]))) {
      result.pairs.push_back(std::move(pair));
    }
  }
  result.certificate = certify_flow(topology, master->prices);
  // The paths reach their rate in exact arithmetic, so only rounding can lift it above the bound.
  result.flow = std::min(rate(classes, result.pairs), result.certificate.flow_upper_bound);
  result.classes = std::move(classes);
  return result;
}

double gap(const ConcurrentFlow& plan) { return plan.certificate.flow_upper_bound / plan.flow - 1; }

struct Attempt {
  bool symmetric = false;
  LpMethod method = LpMethod::simplex;
};

std::vector<Attempt> attempts(const Topology& topology, bool symmetric) {
  const std::int64_t columns = std::int64_t{topology.host_count()} * topology.link_count();
  std::vector<Attempt> result;
  if (symmetric) result.push_back({true, LpMethod::simplex});
  if (columns > most_columns_for_simplex) result.push_back({false, LpMethod::interior_point});
  if (columns <= most_columns_for_retry) result.push_back({false, LpMethod::simplex});
  return result;
}

}  // namespace

Result<ConcurrentFlow> max_concurrent_flow(const Topology& topology) {
  if (topology.host_count() < 2) return Error{"all-to-all needs at least two hosts"};
  if (!graph_facts(topology).connected) return Error{"in " + topology.name() + " some host cannot reach another"};
  const std::vector<Automorphism> images = translations(topology);
  std::optional<ConcurrentFlow> best;
  Error last{"no method to solve the master LP"};
  for (const Attempt& attempt : attempts(topology, !images.empty())) {
    Result<ConcurrentFlow> plan = solve(
        topology, link_classes(topology, attempt.symmetric ? images : std::vector<Automorphism>{}), attempt.method);
    if (!plan) {
      last = plan.error();
      continue;
    }
    if (!best || gap(*plan) < gap(*best)) best = std::move(plan).value();
    if (gap(*best) <= accepted_gap) break;
  }
  if (!best) return last;
  return std::move(*best);
}

}  // namespace libcoll
