#include "planner/flow/lowering/chunking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/problem/demand.h"
#include "planner/topology/facts.h"

namespace libcoll::flow::lowering {

using namespace paths;
using namespace problem;
using namespace registry;
using namespace topology;

namespace {

constexpr std::int32_t default_max_chunks = 8;
constexpr std::size_t most_shortest_paths = 16;  // candidates added per pair
constexpr std::size_t most_pairs_to_polish = 100'000;
constexpr double load_tolerance = 1e-9;  // of sums of loads

/// What the accepted loss leaves.
double accepted_cost(double fluid_cost, const PlanOptions& options) {
  return fluid_cost / (1 - std::min(options.chunk_loss, 0.5));
}

/// Some hop-shortest paths of a pair, walking back from the destination.
class ShortestPaths {
 public:
  ShortestPaths(const Topology& topology, const DistanceMatrix& distance, NodeId source)
      : topology_(topology), hops_(distance[at(source)]) {}

  void collect(NodeId node, std::set<std::vector<LinkId>>& found) {
    if (found.size() >= most_shortest_paths) return;
    if (hops_[at(node)] == 0) {
      found.insert({reversed_.rbegin(), reversed_.rend()});
      return;
    }
    for (const LinkId link : topology_.in_links(node)) {
      if (hops_[at(topology_.link(link).from)] + 1 != hops_[at(node)]) continue;
      reversed_.push_back(link);
      collect(topology_.link(link).from, found);
      reversed_.pop_back();
    }
  }

 private:
  const Topology& topology_;
  const std::vector<std::int32_t>& hops_;
  std::vector<LinkId> reversed_;
};

/// The pairs with shortest paths of weight 0 beside their own.
std::vector<PairPaths> with_shortest_paths(const Topology& topology, const std::vector<PairPaths>& pairs) {
  const DistanceMatrix distance = hop_distances(topology);
  std::vector<PairPaths> result;
  result.reserve(pairs.size());
  for (const PairPaths& pair : pairs) {
    std::set<std::vector<LinkId>> shortest;
    ShortestPaths(topology, distance, pair.source).collect(pair.destination, shortest);
    for (const WeightedPath& path : pair.paths) shortest.erase(path.links);
    PairPaths& more = result.emplace_back(PairPaths{pair.source, pair.destination, {}});
    more.paths.reserve(pair.paths.size() + shortest.size());
    more.paths = pair.paths;
    for (const std::vector<LinkId>& links : shortest) more.paths.push_back({links, 0});
  }
  return result;
}

std::vector<ChunkedPair> chunked_pairs(const std::vector<PairPaths>& pairs, const ChunkSolution& solution) {
  std::vector<ChunkedPair> result;
  result.reserve(pairs.size());
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    std::map<std::vector<LinkId>, std::int32_t> paths;
    for (std::size_t i = 0; i < pairs[pair].paths.size(); ++i) {
      const std::int32_t chunks = solution.counts[pair][i];
      if (chunks > 0) paths[pairs[pair].paths[i].links] += chunks;
    }
    ChunkedPair& chunked = result.emplace_back(ChunkedPair{pairs[pair].source, pairs[pair].destination, {}});
    for (const auto& [links, chunks] : paths) chunked.paths.push_back({links, chunks});
  }
  return result;
}

/// One chunk for every pair, on its heaviest path: what rounding by largest remainder makes of its weights.
Chunking on_heaviest_paths(const ConcurrentFlow& plan, std::int32_t hosts, std::span<const double> demand) {
  Chunking result;
  result.pairs.reserve(plan.pairs.size());
  std::vector<double> amounts(plan.classes.loads.size(), 0);
  for (const PairPaths& pair : plan.pairs) {
    const auto heaviest = std::max_element(pair.paths.begin(), pair.paths.end(),
                                           [](const auto& a, const auto& b) { return a.weight < b.weight; });
    const double size = share(demand, hosts, pair.source, pair.destination);
    for (const LinkId link : heaviest->links) amounts[at(link)] += size;
    result.pairs.push_back({pair.source, pair.destination, {}});
    result.pairs.back().paths.push_back({heaviest->links, 1});
  }
  result.cost = largest_load(plan.classes, amounts);
  return result;
}

/// The heaviest paths of each pair, so many at most.
std::vector<PairPaths> heaviest(std::vector<PairPaths> pairs, std::int32_t most) {
  for (PairPaths& pair : pairs) {
    if (pair.paths.size() <= at(most)) continue;
    std::stable_sort(pair.paths.begin(), pair.paths.end(),
                     [](const WeightedPath& a, const WeightedPath& b) { return a.weight > b.weight; });
    pair.paths.resize(at(most));
    double total = 0;
    for (const WeightedPath& path : pair.paths) total += path.weight;
    for (WeightedPath& path : pair.paths) path.weight /= total;
  }
  return pairs;
}

}  // namespace

ChunkSolution choose_chunks(const ChunkProblem& problem, double fluid_cost, const PlanOptions& options, bool search,
                            const Deadline& deadline) {
  const std::int32_t limit = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  const double accepted = accepted_cost(fluid_cost, options);
  std::optional<ChunkSolution> best;
  for (std::int32_t chunks = 1; chunks <= limit; ++chunks) {
    const double least = least_cost(problem, fluid_cost, chunks);
    if (best && least >= best->cost * (1 - load_tolerance)) continue;
    ChunkSolution solution = round_weights(problem, chunks);
    // Negotiation about many pairs is slow: then what was asked for is enough.
    const double enough = problem.commodities.size() > most_pairs_to_polish ? std::max(least, accepted) : least;
    if (search) solution = negotiate(problem, solution, enough * (1 + load_tolerance));
    if (!best || solution.cost < best->cost * (1 - load_tolerance)) best = std::move(solution);
    if (best->cost <= accepted * (1 + load_tolerance) || deadline.passed()) break;
  }
  return std::move(*best);
}

Chunking round_to_chunks(const Topology& topology, const ConcurrentFlow& plan, const PlanOptions& options,
                         ChunkPaths paths, const Deadline& deadline) {
  const double fluid_cost = 1 / plan.flow;
  const std::int32_t hosts = topology.host_count();
  const bool search = paths != ChunkPaths::weighted;
  if (plan.pairs.size() > most_pairs_to_polish) {
    // So many pairs are mostly good enough as they are: no need for other paths to choose from then.
    Chunking chunking = on_heaviest_paths(plan, hosts, options.demand);
    chunking.loss = std::max(0.0, 1 - fluid_cost / chunking.cost);
    if (chunking.cost <= accepted_cost(fluid_cost, options) * (1 + load_tolerance)) return chunking;
  }
  const auto round = [&](const std::vector<PairPaths>& pairs, std::int32_t max_chunks) {
    PlanOptions limits = options;
    limits.max_chunks = max_chunks;
    const ChunkSolution solution =
        choose_chunks(chunk_problem(plan.classes, pairs, hosts, options.demand), fluid_cost, limits, search, deadline);
    const double loss = std::max(0.0, 1 - fluid_cost / solution.cost);
    return Chunking{solution.chunks, solution.cost, loss, chunked_pairs(pairs, solution)};
  };
  const std::vector<PairPaths> all =
      paths == ChunkPaths::shortest ? with_shortest_paths(topology, plan.pairs) : plan.pairs;
  const std::int32_t routes = options.max_routes;
  const bool limited = routes > 0 && std::any_of(all.begin(), all.end(),
                                                 [&](const PairPaths& pair) { return pair.paths.size() > at(routes); });
  if (!limited) return round(all, options.max_chunks);
  // So many chunks cannot take more routes, whichever they choose; more chunks have fewer routes to choose from.
  const std::int32_t limit = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  Chunking free = round(all, std::min(limit, routes));
  if (free.loss <= options.chunk_loss || limit <= routes) return free;
  Chunking kept = round(heaviest(plan.pairs, routes), limit);
  return kept.cost < free.cost ? std::move(kept) : std::move(free);
}

}  // namespace libcoll::flow::lowering
