#include "planner/flow/lowering/concurrent_flow.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/first_order/bushes.h"
#include "planner/flow/first_order/pdhg.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/lp/tree_columns.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/facts.h"

namespace libcoll::flow::lowering {

using namespace first_order;
using namespace flow_lp;
using namespace lp;
using namespace paths;
using namespace problem;
using namespace topology;

namespace {

constexpr double accepted_gap = 1e-6;  // of what is called exact
constexpr double default_gap = 1e-3;   // where exact methods are too slow
constexpr double gap_for_bushes = 1e-2;
constexpr double handover_gap = 1.5e-2;         // from bushes to PDHG, where the gap asked for is beyond bushes
constexpr double worth_following = 0.5;         // part of the gap that PDHG was given
constexpr double least_first_order_gap = 2e-4;  // below, single precision makes it slow
// Measured with GLPK on generalized Kautz graphs: simplex is exact and as fast below, interior point wins above.
constexpr std::int64_t most_columns_for_simplex = 4000;
// The interior-point method then takes a second.
constexpr std::int64_t most_columns_for_lp = 20'000;
// Simplex then takes some hundredths of a second.
constexpr std::int64_t most_columns_for_moment = 1000;
constexpr std::size_t most_classes_for_moment = 16;  // for columns of trees
constexpr double search_seconds = 0.5;               // for automorphisms
constexpr std::int64_t most_stabiliser_work = 300'000'000;
// Starting threads costs more than a step on less.
constexpr std::int64_t least_columns_for_threads = 100'000;

/// What is known of the graph's symmetry, and what follows.
struct Symmetry {
  std::vector<Automorphism> generators;
  std::int64_t order = 1;
  SourceOrbits orbits;
};

bool transitive(const SourceOrbits& orbits) { return orbits.sources.size() == 1; }

Symmetry symmetry_of(const Topology& topology, const FlowOptions& options) {
  Symmetry result;
  if (options.symmetry) {
    result.generators = family_automorphisms(topology);
    result.orbits = source_orbits(topology, result.generators);
    result.order = topology.host_count();
    // The translations of a family commute, and a transitive group that commutes is as large as the graph.
    if (transitive(result.orbits) && topology.host_count() == topology.node_count()) return result;
    const double limit = options.time_limit_seconds > 0 ? 0.1 * options.time_limit_seconds : search_seconds;
    AutomorphismGroup group = find_automorphisms(topology, std::min(limit, search_seconds));
    result.generators = std::move(group.generators);
    result.order = group.order;
  }
  result.orbits = source_orbits(topology, result.generators);
  return result;
}

/// A flow of every solved source by the topology's link ids, prices by class, and how they were found.
struct Solved {
  std::vector<std::vector<double>> flow;
  const FlowProblem* problem = nullptr;  ///< by whose links the flow is instead, where it may become whole units
  double most_load = 0;                  ///< of a class then, per unit capacity
  std::vector<double> prices;
  double load = 0;
  std::string method;
};

/// U·weights of a class: its largest share, in extended precision, so that what follows is right to the last bit of a
/// double.
long double largest_load_of(const SourceOrbits& orbits, const std::vector<std::vector<double>>& flow) {
  std::vector<long double> loads(orbits.capacity.size(), 0);
  for (std::size_t source = 0; source < flow.size(); ++source) {
    const auto size = static_cast<long double>(orbits.sizes[source]);
    for (std::size_t link = 0; link < flow[source].size(); ++link) {
      loads[at(orbits.link_class[link])] += size * static_cast<long double>(flow[source][link]);
    }
  }
  long double largest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Rational capacity = orbits.capacity[i];
    largest = std::max(largest, loads[i] / static_cast<long double>(orbits.links[i]) *
                                    static_cast<long double>(capacity.denominator()) /
                                    static_cast<long double>(capacity.numerator()));
  }
  return largest;
}

/// 1/load as a double that is not above it.
double rate(long double load) { return std::nextafter(static_cast<double>(1 / load), 0.0); }

// --- exact methods --------------------------------------------------------------------------------------------------

Solved from_solution(const FlowProblem& problem, FlowSolution solution, const char* method, double most_load = 0) {
  Solved result;
  result.flow = std::move(solution.flow);
  result.most_load = most_load;
  if (most_load > 0) {
    result.problem = &problem;
  } else {
    renumber_by_link_id(problem, result.flow);
  }
  result.prices = std::move(solution.prices);
  result.load = solution.load;
  result.method = method;
  return result;
}

/// The master LP knows sources of equal weight only, and as many links to a class as hosts to a source.
bool fits_master_lp(const SourceOrbits& orbits) {
  const auto equal = [&](std::int64_t size) { return size == orbits.sizes.front(); };
  return std::all_of(orbits.sizes.begin(), orbits.sizes.end(), equal) &&
         std::all_of(orbits.links.begin(), orbits.links.end(), equal);
}

Result<Solved> by_master_lp(const Topology& topology, const SourceOrbits& orbits, LpMethod method, double seconds) {
  const LinkClasses classes = link_classes(orbits, {});
  Result<MasterFlow> master = solve_master_lp(topology, classes, method, {}, seconds);
  if (!master) return master.error();
  Solved result;
  result.flow = std::move(master->flow);
  result.prices.resize(orbits.capacity.size());
  for (std::size_t link = 0; link < master->prices.size(); ++link) {
    result.prices[at(orbits.link_class[link])] = master->prices[link];
  }
  result.load = master->load;
  result.method = method == LpMethod::simplex ? "simplex" : "interior-point";
  return result;
}

// --- the plan -------------------------------------------------------------------------------------------------------

/// The mean of a source's flow over the automorphisms that leave it in place.
std::vector<double> averaged(const Topology& topology, const std::vector<Automorphism>& stabilisers,
                             const std::vector<double>& flow) {
  const SourceOrbits orbits = source_orbits(topology, stabilisers);
  std::vector<double> sums(orbits.capacity.size(), 0);
  for (std::size_t link = 0; link < flow.size(); ++link) sums[at(orbits.link_class[link])] += flow[link];
  std::vector<double> result(flow.size());
  for (std::size_t link = 0; link < flow.size(); ++link) {
    const auto link_class = at(orbits.link_class[link]);
    result[link] = sums[link_class] / static_cast<double>(orbits.links[link_class]);
  }
  return result;
}

/// Every host's flow: images of the solved flows, averaged so that their sum is as even as the orbits promise.
std::vector<std::vector<double>> written_out(const Topology& topology, const Symmetry& symmetry,
                                             const std::vector<std::vector<double>>& flow) {
  std::vector<std::vector<double>> result(at(topology.host_count()));
  for (std::size_t i = 0; i < flow.size(); ++i) {
    const NodeId root = symmetry.orbits.sources[i];
    const std::vector<Automorphism> to = transversal(topology, symmetry.generators, root);
    const std::vector<double> mean = averaged(topology, stabiliser(symmetry.generators, to, root), flow[i]);
    std::vector<LinkId> links(mean.size());
    std::iota(links.begin(), links.end(), 0);
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      if (to[at(host)].empty()) continue;
      const std::vector<LinkId> image = image_of(topology, to[at(host)], links);
      result[at(host)].resize(mean.size());
      for (std::size_t link = 0; link < mean.size(); ++link) result[at(host)][at(image[link])] = mean[link];
    }
  }
  return result;
}

/// The paths where the group leaves some host in place but by another element than the identity: those of all hosts.
std::vector<PairPaths> paths_written_out(const Topology& topology, const Symmetry& symmetry, Solved solved,
                                         const FlowOptions& options) {
  if (solved.problem != nullptr) renumber_by_link_id(*solved.problem, solved.flow);
  std::vector<std::vector<double>> flow = written_out(topology, symmetry, solved.flow);
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  if (solved.problem == nullptr) return decompose(topology, problem.sources, flow, options.threads);
  renumber_by_problem_links(problem, flow);
  return decompose_into_whole_units(problem, solved.most_load, flow);
}

/// The largest load of the paths per unit capacity, in extended precision.
long double path_load(const LinkClasses& classes, const std::vector<PairPaths>& pairs) {
  std::vector<long double> amounts(classes.loads.size(), 0);
  for (const PairPaths& pair : pairs) {
    for (const WeightedPath& path : pair.paths) {
      for (const LinkId link : path.links) amounts[at(link)] += static_cast<long double>(path.weight);
    }
  }
  std::vector<long double> load(classes.capacity.size(), 0);
  for (std::size_t link = 0; link < amounts.size(); ++link) {
    for (const ClassLoad& entry : classes.loads[link]) {
      load[at(entry.link_class)] += static_cast<long double>(entry.times) * amounts[link];
    }
  }
  long double largest = 0;
  for (std::size_t i = 0; i < load.size(); ++i) {
    const Rational capacity = classes.capacity[i];
    largest = std::max(largest, load[i] * static_cast<long double>(capacity.denominator()) /
                                    static_cast<long double>(capacity.numerator()));
  }
  return largest;
}

ConcurrentFlow make_plan(const Topology& topology, const Symmetry& symmetry, Solved solved,
                         const FlowOptions& options) {
  ConcurrentFlow plan;
  plan.certificate = certify_flow(topology, symmetry.orbits, solved.prices);
  plan.method = std::move(solved.method);
  plan.symmetry_order = symmetry.order;
  if (!options.paths) {
    plan.classes = link_classes(symmetry.orbits, {});
    plan.flow = rate(largest_load_of(symmetry.orbits, solved.flow));
  } else {
    std::optional<std::vector<Automorphism>> images = semiregular_group(topology, symmetry.generators);
    if (images) {
      plan.classes = link_classes(symmetry.orbits, std::move(*images));
      plan.pairs = solved.problem != nullptr
                       ? decompose_into_whole_units(*solved.problem, solved.most_load, solved.flow)
                       : decompose(topology, plan.classes.sources, solved.flow, options.threads);
    } else {
      plan.classes = link_classes(topology, {});
      plan.pairs = paths_written_out(topology, symmetry, std::move(solved), options);
    }
    plan.flow = rate(path_load(plan.classes, plan.pairs));
  }
  // In exact arithmetic the flow is below the bound, so only rounding can lift it above.
  plan.flow = std::min(plan.flow, plan.certificate.flow_upper_bound);
  return plan;
}

double gap(const ConcurrentFlow& plan) { return plan.certificate.flow_upper_bound / plan.flow - 1; }

/// Chooses the methods and keeps the best plan.
class Planning {
 public:
  Planning(const Topology& topology, const FlowOptions& options)
      : start_(std::chrono::steady_clock::now()),
        topology_(topology),
        options_(options),
        symmetry_(symmetry_of(topology, options)) {
    limits_.gap = options.gap;
    limits_.threads = std::max(1, options.threads);
    if (columns() < least_columns_for_threads) limits_.threads = 1;
    if (options.time_limit_seconds > 0) {
      limits_.deadline = start_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                      std::chrono::duration<double>(options.time_limit_seconds));
    }
    if (options_.paths) drop_unwieldy_symmetry();
  }

  Result<ConcurrentFlow> run() {
    const bool exact = options_.gap <= 0;
    const double enough = exact ? accepted_gap : options_.gap;
    const bool by_lp = lp_is_worth_it();
    if (by_lp && options_.few_paths && columns() <= most_columns_for_simplex) try_vertices(enough);
    const bool few = few_prices();
    if (!reached(enough) && few && (by_lp || symmetry_.orbits.capacity.size() <= most_classes_for_moment)) by_trees();
    if (!by_lp && !reached(exact ? default_gap : enough)) by_first_order(exact ? default_gap : enough);
    if (!by_lp && exact) return finished();
    if (!by_lp && !reached(enough) && few) by_trees();
    if (!reached(enough) && (enough < least_first_order_gap || columns() <= most_columns_for_simplex)) {
      try_master_lp(enough);
    }
    if (by_lp && !reached(exact ? default_gap : enough)) by_first_order(exact ? default_gap : enough);
    return finished();
  }

 private:
  Result<ConcurrentFlow> finished() {
    if (!best_) return last_;
    return std::move(*best_);
  }

  /// Whether a linear program comes first: it is exact, but where a gap will do, others are there long before, and
  /// symmetry alone is no reason to ask for more than without it.
  [[nodiscard]] bool lp_is_worth_it() const {
    if (columns() <= most_columns_for_moment) return true;
    if (options_.gap > 0) return options_.gap < least_first_order_gap;
    return std::int64_t{topology_.host_count()} * topology_.link_count() <= most_columns_for_lp;
  }

  [[nodiscard]] std::int64_t columns() const {
    return static_cast<std::int64_t>(symmetry_.orbits.sources.size()) * topology_.link_count();
  }

  [[nodiscard]] bool few_prices() const {
    return !symmetry_.generators.empty() && symmetry_.orbits.sources.size() <= most_tree_sources &&
           symmetry_.orbits.capacity.size() <= most_tree_classes;
  }

  [[nodiscard]] bool reached(double enough) const { return best_ && (gap(*best_) <= enough || limits_.late()); }

  void keep(ConcurrentFlow plan) {
    if (!best_ || gap(plan) < gap(*best_)) best_ = std::move(plan);
  }

  /// Writing out the flows of all hosts takes every stabiliser's generators and their action on the links.
  void drop_unwieldy_symmetry() {
    const std::int64_t work = std::int64_t{topology_.host_count()} *
                              static_cast<std::int64_t>(symmetry_.generators.size()) * topology_.link_count();
    if (work <= most_stabiliser_work || semiregular_group(topology_, symmetry_.generators)) return;
    symmetry_ = {{}, 1, source_orbits(topology_, {})};
  }

  /// A vertex of the polytope splits few pairs; averages over stabilisers and over trees split many.
  void try_vertices(double enough) {
    const Symmetry none{{}, 1, source_orbits(topology_, {})};
    const bool free = symmetry_.generators.empty() || semiregular_group(topology_, symmetry_.generators);
    if (free && fits_master_lp(symmetry_.orbits)) try_lp(symmetry_, LpMethod::simplex);
    const std::int64_t without = std::int64_t{topology_.host_count()} * topology_.link_count();
    if (!reached(enough) && without <= most_columns_for_simplex) try_lp(none, LpMethod::simplex);
  }

  void by_trees() {
    const FlowProblem problem = flow_problem(topology_, symmetry_.orbits);
    FlowLimits limits = limits_;
    limits.gap = std::max(1e-12, limits.gap);
    FlowSolution solution = solve_by_tree_columns(problem, limits);
    keep(make_plan(topology_, symmetry_, from_solution(problem, std::move(solution), "trees"), options_));
  }

  void try_master_lp(double enough) {
    if (fits_master_lp(symmetry_.orbits) && columns() <= most_columns_for_lp) {
      try_lp(symmetry_, columns() <= most_columns_for_simplex ? LpMethod::simplex : LpMethod::interior_point);
      if (!reached(enough)) try_lp(symmetry_, LpMethod::simplex);
    }
    const std::int64_t without = std::int64_t{topology_.host_count()} * topology_.link_count();
    if (reached(enough) || symmetry_.generators.empty() || without > most_columns_for_lp) return;
    try_lp({{}, 1, source_orbits(topology_, {})},
           without <= most_columns_for_simplex ? LpMethod::simplex : LpMethod::interior_point);
  }

  void try_lp(const Symmetry& symmetry, LpMethod method) {
    Result<Solved> solved = by_master_lp(topology_, symmetry.orbits, method, seconds_left());
    if (solved) {
      keep(make_plan(topology_, symmetry, std::move(solved).value(), options_));
    } else {
      last_ = solved.error();
    }
  }

  void by_first_order(double enough) {
    const FlowProblem problem = flow_problem(topology_, symmetry_.orbits);
    FlowLimits limits = limits_;
    // The certificate rounds its lengths and the decomposition drops dust: a little more than asked.
    constexpr double margin = 0.98;
    limits.gap = margin * enough;
    Bushes bushes(problem);
    FlowSolution solution = bushes.solve(limits, enough <= gap_for_bushes ? handover_gap : 0);
    std::string method = "bushes";
    const double handed_over = solution.gap();
    if (solution.gap() > limits.gap && !limits.late()) {
      solution = solve_by_pdhg(problem, std::move(solution), limits);
      method = "bushes, pdhg";
    }
    if (solution.gap() > limits.gap && !limits.late()) {
      // Where PDHG went far before it stalled, bushes do not follow on their own.
      if (solution.gap() <= worth_following * handed_over) bushes.start_from(solution);
      FlowSolution again = bushes.solve(limits);
      if (again.gap() < solution.gap()) {
        solution = std::move(again);
        method = "bushes, pdhg, bushes";
      }
    }
    const double most_load = options_.paths ? std::max(solution.load, (1 + limits.gap) * solution.bound) : 0;
    keep(make_plan(topology_, symmetry_, from_solution(problem, std::move(solution), method.c_str(), most_load),
                   options_));
  }

  /// Seconds that a linear program may take; 0: any number.
  [[nodiscard]] double seconds_left() const {
    if (!limits_.deadline) return 0;
    constexpr double least = 1e-3;
    const std::chrono::duration<double> left = *limits_.deadline - std::chrono::steady_clock::now();
    return std::max(least, left.count());
  }

  const std::chrono::steady_clock::time_point start_;
  const Topology& topology_;
  const FlowOptions& options_;
  Symmetry symmetry_;
  FlowLimits limits_;
  std::optional<ConcurrentFlow> best_;
  Error last_{"no method to solve the master LP"};
};

}  // namespace

Result<ConcurrentFlow> max_concurrent_flow(const Topology& topology, const FlowOptions& options) {
  if (topology.host_count() < 2) return Error{"all-to-all needs at least two hosts"};
  if (unreachable_pair(topology)) return Error{"in " + topology.name() + " some host cannot reach another"};
  return Planning(topology, options).run();
}

std::vector<PairPaths> pairs_from(const Topology& topology, const std::vector<NodeId>& sources,
                                  const ConcurrentFlow& flow) {
  std::vector<PairPaths> result;
  for (const Automorphism& image : flow.classes.images) {
    for (const PairPaths& pair : flow.pairs) {
      const NodeId source = image[at(pair.source)];
      if (std::find(sources.begin(), sources.end(), source) == sources.end()) continue;
      PairPaths& copy = result.emplace_back();
      copy.source = source;
      copy.destination = image[at(pair.destination)];
      for (const WeightedPath& path : pair.paths) {
        copy.paths.push_back({image_of(topology, image, path.links), path.weight});
      }
    }
  }
  const auto key = [](const PairPaths& pair) { return std::pair(pair.source, pair.destination); };
  std::sort(result.begin(), result.end(), [&](const PairPaths& a, const PairPaths& b) { return key(a) < key(b); });
  return result;
}

}  // namespace libcoll::flow::lowering
