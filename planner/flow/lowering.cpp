#include "planner/flow/lowering.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "planner/flow/demand.h"
#include "planner/flow/master_lp.h"
#include "planner/flow/path_lp.h"
#include "planner/route/layers.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll {
namespace {

constexpr double proven = 1e-6;                 // a gap that is the solver's noise
constexpr double tolerance = 1e-9;              // of sums of loads
constexpr std::int32_t default_max_chunks = 8;  // as round_to_chunks
// What a linear program may have for a bound or a re-optimisation on the side: a second or two.
constexpr std::int64_t most_columns = 20'000;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

FlowCertificate certify(const Topology& topology, std::span<const double> prices, std::span<const double> demand) {
  return demand.empty() ? certify_flow(topology, prices) : certify_demand_flow(topology, prices, demand);
}

/// The certificate of the optimum; nothing when the solver gives up.
std::optional<FlowCertificate> optimal_certificate(const Topology& topology, const LinkClasses& classes,
                                                   std::span<const double> demand) {
  if (demand.empty()) {
    Result<ConcurrentFlow> optimum = max_concurrent_flow(topology);
    if (!optimum) return std::nullopt;
    return std::move(optimum->certificate);
  }
  const LpMethod method = method_for(master_lp_columns(topology, classes), 0);
  const Result<MasterFlow> master = solve_master_lp(topology, classes, method, demand);
  if (!master) return std::nullopt;
  return certify(topology, master->prices, demand);
}

/// The pairs of every source, by chunks on paths of the fabric.
struct RoutedPair {
  NodeId source = 0;
  NodeId destination = 0;
  std::vector<std::pair<std::vector<LinkId>, std::int32_t>> paths;
};

std::vector<RoutedPair> routed_pairs(const FluidPlan& plan, const ChunkSolution& solution) {
  std::vector<RoutedPair> result;
  for (const Automorphism& image : plan.flow.classes.images) {
    for (std::size_t i = 0; i < plan.flow.pairs.size(); ++i) {
      const PairPaths& pair = plan.flow.pairs[i];
      RoutedPair& routed = result.emplace_back();
      routed.source = image[at(pair.source)];
      routed.destination = image[at(pair.destination)];
      for (std::size_t k = 0; k < pair.paths.size(); ++k) {
        if (solution.counts[i][k] == 0) continue;
        const std::vector<LinkId> links = image_of(plan.network.topology, image, pair.paths[k].links);
        routed.paths.emplace_back(fabric_path(plan.network, links), solution.counts[i][k]);
      }
      std::sort(routed.paths.begin(), routed.paths.end());
    }
  }
  return result;
}

void append(Schedule& schedule, const RoutedPair& pair) {
  const ShardId shard = pair.source * schedule.topology.host_count() + pair.destination;
  std::int32_t begin = 0;
  for (const auto& [links, chunks] : pair.paths) {
    const auto route = static_cast<std::int32_t>(schedule.routes.size());
    schedule.routes.push_back({pair.source, pair.destination, links, 0, 0});
    schedule.transfers.push_back({shard, begin, chunks, pair.source, pair.destination, 1, route, TransferKind::copy});
    begin += chunks;
  }
}

Schedule empty_schedule(const Topology& fabric, const char* algorithm) {
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = algorithm;
  schedule.topology = fabric;
  schedule.steps = 1;
  return schedule;
}

}  // namespace

double Deadline::remaining() const {
  if (!limited()) return 0;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  constexpr double least = 1e-3;
  return std::max(least, seconds_ - spent.count());
}

bool Deadline::passed() const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  return limited() && spent.count() >= seconds_;
}

Result<InjectionNetwork> checked_network(const Topology& fabric, const PlanOptions& options, ForwardedBy forwarded_by,
                                         const char* algorithm) {
  const std::string which = std::string(algorithm) + " on " + fabric.name() + ": ";
  if (const Status status = check_connected(fabric); !status) return Error{which + status.error().message};
  if (const Status status = check_demand(fabric, options.demand); !status) return Error{which + status.error().message};
  if (forwarded_by == ForwardedBy::hosts && fabric.node_count() != fabric.host_count()) {
    return Error{which + "found " + std::to_string(fabric.node_count() - fabric.host_count()) +
                 " switches, expected none, as hosts forward: use p-mcf or mcf-path"};
  }
  return with_injection(fabric, forwarded_by);
}

LinkClasses flow_classes(const InjectionNetwork& network, const PlanOptions& options) {
  if (network.bottleneck || !options.demand.empty()) return link_classes(network.topology, {});
  return link_classes(network.topology, translations(network.topology));
}

FlowCertificate tightest_bound(const Topology& topology, const LinkClasses& classes, std::span<const double> prices,
                               std::span<const double> demand, double load) {
  const std::vector<double> equal(topology.links().size(), 1);
  FlowCertificate best = certify(topology, prices.empty() ? std::span<const double>(equal) : prices, demand);
  if (best.flow_upper_bound * load <= 1 + proven) return best;
  if (master_lp_columns(topology, classes) > most_columns) return best;
  if (auto optimal = optimal_certificate(topology, classes, demand)) {
    if (optimal->flow_upper_bound < best.flow_upper_bound) return std::move(*optimal);
  }
  return best;
}

ConcurrentFlow certified_flow(const Topology& topology, LinkClasses classes, std::vector<PairPaths> pairs,
                              std::span<const double> prices, std::span<const double> demand) {
  ConcurrentFlow result;
  const double load = largest_load(classes, pairs, topology.host_count(), demand);
  result.certificate = tightest_bound(topology, classes, prices, demand, load);
  result.flow = std::min(1 / load, result.certificate.flow_upper_bound);
  result.classes = std::move(classes);
  result.pairs = std::move(pairs);
  return result;
}

double limit_routes(const Topology& topology, ConcurrentFlow& flow, std::int32_t most, const PlanOptions& options,
                    const Deadline& deadline) {
  if (most <= 0) return 0;
  bool limited = false;
  std::int64_t columns = 0;
  for (PairPaths& pair : flow.pairs) {
    if (pair.paths.size() > at(most)) {
      limited = true;
      std::stable_sort(pair.paths.begin(), pair.paths.end(),
                       [](const WeightedPath& a, const WeightedPath& b) { return a.weight > b.weight; });
      pair.paths.resize(at(most));
      double total = 0;
      for (const WeightedPath& path : pair.paths) total += path.weight;
      for (WeightedPath& path : pair.paths) path.weight /= total;
    }
    columns += static_cast<std::int64_t>(pair.paths.size());
  }
  if (!limited) return 0;
  const std::int32_t hosts = topology.host_count();
  double load = largest_load(flow.classes, flow.pairs, hosts, options.demand);
  if (columns <= most_columns) {
    Result<PathFlow> again = solve_path_lp(topology, flow.classes, flow.pairs, options.demand, deadline.remaining());
    if (again.ok() && again->load < load) {
      load = again->load;
      flow.pairs = std::move(again->pairs);
    }
  }
  const double before = flow.flow;
  flow.flow = std::min(1 / load, flow.certificate.flow_upper_bound);
  return std::max(0.0, 1 - flow.flow / before);
}

ChunkProblem chunk_problem(const LinkClasses& classes, std::span<const PairPaths> pairs, std::int32_t hosts,
                           std::span<const double> demand) {
  ChunkProblem problem;
  for (const Rational capacity : classes.capacity) problem.capacity.push_back(capacity.to_double());
  problem.group.assign(problem.capacity.size(), 0);
  for (const PairPaths& pair : pairs) {
    problem.size.push_back(share(demand, hosts, pair.source, pair.destination));
    std::vector<Choice>& choices = problem.commodities.emplace_back();
    for (const WeightedPath& path : pair.paths) {
      std::map<std::int32_t, std::int32_t> loads;
      for (const LinkId link : path.links) {
        for (const ClassLoad& load : classes.loads[at(link)]) loads[load.link_class] += load.times;
      }
      Choice& choice = choices.emplace_back();
      choice.weight = path.weight;
      for (const auto& [link_class, times] : loads) choice.uses.push_back({link_class, times});
    }
  }
  return problem;
}

ChunkSolution choose_chunks(const ChunkProblem& problem, double fluid_cost, const PlanOptions& options, bool search,
                            const Deadline& deadline) {
  const std::int32_t limit = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  ChunkSolution best;
  for (std::int32_t chunks = 1; chunks <= limit; ++chunks) {
    ChunkSolution solution = round_weights(problem, chunks);
    if (search) solution = negotiate(problem, std::move(solution), fluid_cost * (1 + tolerance));
    if (chunks == 1 || solution.cost < best.cost * (1 - tolerance)) best = std::move(solution);
    if (1 - fluid_cost / best.cost <= options.chunk_loss || deadline.passed()) break;
  }
  return best;
}

Rational rounded_up(double value) {
  constexpr std::int64_t denominator = 1'000'000'000;
  return {static_cast<std::int64_t>(std::ceil(value * denominator)), denominator};
}

Schedule lower_to_routes(const Topology& fabric, FluidPlan plan, const PlanOptions& options, const char* algorithm,
                         const Deadline& deadline) {
  const std::int32_t hosts = fabric.host_count();
  plan.loss_routes = limit_routes(plan.network.topology, plan.flow, options.max_routes, options, deadline);
  Schedule schedule = empty_schedule(fabric, algorithm);
  const double unit = plan.network.unit.to_double();
  const FlowCertificate& certificate = plan.flow.certificate;
  double flow = plan.flow.flow * unit;
  const double upper = upper_rate_on_fabric(plan.network, certificate.flow_upper_bound);
  std::vector<std::pair<std::string, std::variant<std::string, double, std::int64_t>>> more;
  if (options.schedule) {
    const ChunkProblem problem = chunk_problem(plan.flow.classes, plan.flow.pairs, hosts, options.demand);
    const ChunkSolution solution = choose_chunks(problem, 1 / plan.flow.flow, options, plan.search, deadline);
    schedule.chunks_per_shard = solution.chunks;
    for (const RoutedPair& pair : routed_pairs(plan, solution)) append(schedule, pair);
    more.emplace_back("layer_method",
                      std::string(to_string(assign_layers_by(LayerMethod::automatic, fabric, schedule.routes).method)));
    assign_route_classes(fabric, schedule.routes);
    sort_transfers(schedule);
    schedule.proof.max_link_load = std::max(max_link_load(schedule), injection_load(schedule));
    // Negotiation can leave a fluid plan behind that was no optimum.
    flow = std::max(flow, unit / solution.cost);
    if (!options.demand.empty()) {
      more.emplace_back("demand_load", solution.cost / unit);
      more.emplace_back("loss_chunking", std::max(0.0, 1 - unit / (solution.cost * flow)));
    }
  } else {
    schedule.proof.max_link_load = rounded_up(1 / flow);
  }
  schedule.proof.flow = std::min(flow, upper);
  schedule.proof.flow_upper_bound = upper;
  const Rational time_of_load(degree(fabric), hosts);
  schedule.proof.bandwidth_time = time_of_load * schedule.proof.max_link_load;
  if (options.demand.empty()) {
    schedule.proof.bandwidth_bound =
        std::min(schedule.proof.bandwidth_time, time_of_load * certificate.load_lower_bound / plan.network.unit);
  }
  if (options.figures != nullptr) {
    options.figures->method = std::move(plan.method);
    options.figures->symmetry_order = static_cast<std::int64_t>(plan.flow.classes.images.size());
    options.figures->loss_routes = plan.loss_routes;
    options.figures->more.insert(options.figures->more.end(), more.begin(), more.end());
  }
  return schedule;
}

}  // namespace libcoll
