#include "planner/flow/p_mcf.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/first_order/path_equilibrium.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/path_sets.h"

namespace libcoll::flow {

using namespace first_order;
using namespace flow_lp;
using namespace lowering;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t most_path_columns = 20'000;  // the LP takes half a minute then
constexpr double equilibrium_gap = 1e-3;            // beyond

/// What a flow on some path sets comes to.
struct Candidate {
  std::vector<PairPaths> pairs;
  std::vector<double> prices;
  double load = 0;
  double bound = 0;  ///< no weights on these paths load less
  std::int64_t paths = 0;
  std::string method;
  bool solved = false;   ///< to the end, or within equilibrium_gap
  bool optimal = false;  ///< no other paths load less
};

void take(Candidate& candidate, PathFlow flow, const char* method) {
  candidate.pairs = std::move(flow.pairs);
  candidate.prices = std::move(flow.prices);
  candidate.load = flow.load;
  candidate.method = method;
}

/// (21)–(24) on paths of the fabric: by linear programming, and where those are too many or time runs out, near enough.
Result<Candidate> solve_on(const Topology& fabric, const InjectionNetwork& network, const LinkClasses& classes,
                           Result<std::vector<PairPaths>> paths, const PlanOptions& options, const Deadline& deadline,
                           std::int64_t most_lp_paths) {
  if (!paths) return paths.error();
  Candidate result;
  for (PairPaths& pair : *paths) {
    result.paths += static_cast<std::int64_t>(pair.paths.size());
    for (WeightedPath& path : pair.paths) path.links = network_path(network, fabric, path.links);
  }
  // A linear program that is stopped leaves nothing.
  if (deadline.limited()) most_lp_paths = std::min(most_lp_paths, most_columns_for_simplex);
  if (result.paths <= most_lp_paths) {
    Result<PathFlow> solved = solve_path_lp(network.topology, classes, *paths, options.demand, deadline.remaining());
    if (!solved && !deadline.passed()) return solved.error();
    if (solved.ok()) {
      take(result, std::move(*solved), to_string(method_for(result.paths + 1, options.time_limit_seconds)));
      result.bound = result.load;
      result.solved = true;
      return result;
    }
  }
  PathEquilibrium near =
      equilibrate_paths(classes, std::move(*paths), fabric.host_count(), options.demand, equilibrium_gap, deadline);
  take(result, std::move(near.flow), "path equilibration");
  result.bound = near.bound;
  result.solved = result.load <= (1 + equilibrium_gap) * result.bound;
  return result;
}

/// The lengths of a certificate as prices that sum to 1 with the capacities, like those of the LP.
std::vector<double> prices_of(const Topology& topology, const FlowCertificate& certificate) {
  std::vector<double> prices(certificate.lengths.begin(), certificate.lengths.end());
  double sum = 0;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    sum += prices[static_cast<std::size_t>(link)] * topology.capacity(link).to_double();
  }
  for (double& price : prices) price /= sum;
  return prices;
}

/// On disjoint sets around the paths of a max concurrent flow: only pairs whose paths share a link lose anything.
/// Nothing where that flow is another problem's, or there is no time for it.
std::optional<Candidate> around_link_mcf(const Topology& fabric, const InjectionNetwork& network,
                                         const LinkClasses& classes, const PlanOptions& options,
                                         const Deadline& deadline) {
  if (network.bottleneck || !options.demand.empty() || deadline.passed()) return std::nullopt;
  FlowOptions wanted;
  wanted.time_limit_seconds = deadline.remaining();
  wanted.threads = options.threads;
  wanted.symmetry = options.symmetry;
  wanted.few_paths = true;
  const Result<ConcurrentFlow> flow = max_concurrent_flow(fabric, wanted);
  if (!flow) return std::nullopt;
  std::vector<PairPaths> sets = disjoint_sets_around(fabric, pairs_from(fabric, classes.sources, *flow));
  Candidate result;
  result.method = "the weights of link MCF";
  result.solved = true;
  result.load = largest_load(classes, sets, fabric.host_count(), options.demand);
  for (const PairPaths& pair : sets) result.paths += static_cast<std::int64_t>(pair.paths.size());
  const double bound = flow->certificate.flow_upper_bound;
  result.bound = 1 / bound;
  if (result.load * bound > 1 + solver_gap) {
    Result<Candidate> shared = solve_on(fabric, network, classes, sets, options, deadline, most_path_columns);
    if (shared && shared->load < result.load) result = std::move(*shared);
  }
  if (result.pairs.empty()) {
    for (PairPaths& pair : sets) std::erase_if(pair.paths, [](const WeightedPath& path) { return path.weight <= 0; });
    result.pairs = std::move(sets);
  }
  result.optimal = result.load * bound <= 1 + solver_gap;
  result.prices = prices_of(fabric, flow->certificate);
  return result;
}

constexpr std::int32_t most_set_rounds = 8;  // of other disjoint sets, while they gain
constexpr std::int32_t most_failures = 3;
constexpr std::int64_t most_paths = 4'000;        // beyond, there is no time for an LP in every round
constexpr std::int64_t most_near_paths = 50'000;  // nor for anything else
constexpr double longest = 1 << 20;               // of whole lengths

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
  for (std::int32_t round = 0; round < most_set_rounds && failures < most_failures && !deadline.passed(); ++round) {
    const std::vector<std::int64_t> lengths = lengths_of(prices, fabric.links().size());
    Result<Candidate> other = solve_on(fabric, network, classes, candidate_paths(fabric, set, classes.sources, lengths),
                                       options, deadline, most_paths);
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
  const bool disjoint = set->kind == PathSet::Kind::disjoint;
  std::optional<Candidate> best;
  if (disjoint) best = around_link_mcf(topology, *network, classes, options, deadline);
  if (!best || (!best->optimal && best->paths <= most_near_paths)) {
    Result<Candidate> plain = solve_on(topology, *network, classes, candidate_paths(topology, *set, classes.sources),
                                       options, deadline, disjoint && best ? most_paths : most_path_columns);
    if (!plain) return plain.error();
    if (!best || plain->load < best->load) best = std::move(*plain);
  }
  if (disjoint && best->solved && !best->optimal && best->paths <= most_near_paths) {
    choose_better_sets(topology, *network, classes, *set, options, deadline, *best);
  }
  if (options.figures != nullptr) {
    // What these paths allow: below F_upper_bound by what the choice of paths costs, above F by what the solver left.
    options.figures->more.emplace_back("F_upper_bound_paths", upper_rate_on_fabric(*network, 1 / best->bound));
  }
  FluidPlan plan;
  plan.method = std::move(best->method);
  plan.flow = certified_flow(network->topology, std::move(classes), std::move(best->pairs), best->prices,
                             options.demand, deadline);
  plan.network = std::move(*network);
  if (options.figures != nullptr) {
    options.figures->more.emplace_back("paths", options.paths.empty() ? std::string("disjoint") : options.paths);
    options.figures->more.emplace_back("candidate_paths", best->paths);
  }
  return lower_to_routes(topology, std::move(plan), options, "p-mcf", deadline);
}

}  // namespace libcoll::flow
