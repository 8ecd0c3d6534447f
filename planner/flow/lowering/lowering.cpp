#include "planner/flow/lowering/lowering.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/lowering/layered_flow.h"
#include "planner/flow/lowering/step_partition.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/problem/demand.h"
#include "planner/route/fewer_classes.h"
#include "planner/route/layer_rerouting.h"
#include "planner/route/layers.h"
#include "planner/route/order_search.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::flow::lowering {

using namespace flow_lp;
using namespace lp;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

// What a linear program may have for a bound or a re-optimisation on the side: a second or two.
constexpr std::int64_t most_master_columns = 20'000;
// Paper 003 §5.5: LASH never needed more layers. Where it does, what a way around may cost of F.
constexpr double accepted_layer_loss = 0.02;
// What it may cost, and take, where there is no time for more layers.
constexpr double accepted_in_haste = 0.1;
constexpr double seconds_in_haste = 0.5;
constexpr double share_of_chunks = 0.5;                 // of the time left, the rest is for layers
constexpr double share_of_orders = 0.5;                 // likewise, the rest is for the plan in them
constexpr std::int64_t effort_of_orders = 500'000'000;  // links that a search looks at: seconds
// With more routes than this, a budget of layers is first tried on the routes as they are.
constexpr std::size_t many_routes = 50'000;
// Into how many chunks fewer classes may cut a pair's block where nobody says.
constexpr std::int32_t usual_chunks = 8;

FlowCertificate certify(const Topology& topology, std::span<const double> prices, std::span<const double> demand) {
  return demand.empty() ? certify_flow(topology, prices) : certify_demand_flow(topology, prices, demand);
}

/// The certificate of the optimum; nothing when the solver gives up.
std::optional<FlowCertificate> optimal_certificate(const Topology& topology, const LinkClasses& classes,
                                                   std::span<const double> demand, const Deadline& deadline) {
  if (demand.empty()) {
    FlowOptions wanted;
    wanted.time_limit_seconds = deadline.remaining();
    Result<ConcurrentFlow> optimum = max_concurrent_flow(topology, wanted);
    if (!optimum) return std::nullopt;
    return std::move(optimum->certificate);
  }
  const LpMethod method = method_for(master_lp_columns(topology, classes), deadline.remaining());
  const Result<MasterFlow> master = solve_master_lp(topology, classes, method, demand, deadline.remaining());
  if (!master) return std::nullopt;
  return certify(topology, master->prices, demand);
}

ShardId shard_of(const Schedule& schedule, const ChunkedPair& pair) {
  return pair.source * schedule.topology.host_count() + pair.destination;
}

/// Takes the links of the pair's paths.
void append_routed(Schedule& schedule, ChunkedPair& pair) {
  std::int32_t begin = 0;
  for (ChunkedPath& path : pair.paths) {
    const auto route = static_cast<std::int32_t>(schedule.routes.size());
    schedule.routes.push_back({pair.source, pair.destination, std::move(path.links), 0, 0});
    schedule.transfers.push_back(
        {shard_of(schedule, pair), begin, path.chunks, pair.source, pair.destination, 1, route, TransferKind::copy});
    begin += path.chunks;
  }
}

/// Steps count down to 0 at the destination for now: what has the longest way to go leaves first, so that no link waits
/// for late hops at the end. Paths of a pair are in lexicographic order, so those that share a link at the same hop are
/// mostly neighbours, and their chunks cross it in one transfer.
void append_hops(Schedule& schedule, ChunkedPair& pair) {
  const std::size_t first = schedule.transfers.size();
  std::int32_t begin = 0;
  for (const ChunkedPath& path : pair.paths) {
    const auto length = static_cast<std::int32_t>(path.links.size());
    schedule.steps = std::max(schedule.steps, length);
    for (std::int32_t hop = 0; hop < length; ++hop) {
      const Link& link = schedule.topology.link(path.links[at(hop)]);
      const std::int32_t step = hop + 1 - length;
      const auto continues = [&](const Transfer& transfer) {
        return transfer.step == step && transfer.from == link.from && transfer.to == link.to &&
               transfer.chunk_begin + transfer.chunk_count == begin;
      };
      const auto neighbour = std::find_if(schedule.transfers.begin() + static_cast<std::ptrdiff_t>(first),
                                          schedule.transfers.end(), continues);
      if (neighbour != schedule.transfers.end()) {
        neighbour->chunk_count += path.chunks;
      } else {
        schedule.transfers.push_back(
            {shard_of(schedule, pair), begin, path.chunks, link.from, link.to, step, direct, TransferKind::copy});
      }
    }
    begin += path.chunks;
  }
}

/// Appends the pairs of every source: those solved for, under every image, on paths of the fabric.
void append_pairs(Schedule& schedule, const FluidPlan& plan, const std::vector<ChunkedPair>& solved,
                  void (*append)(Schedule&, ChunkedPair&)) {
  std::vector<LinkId> all(plan.network.topology.links().size());
  std::iota(all.begin(), all.end(), 0);
  ChunkedPair copy;
  std::vector<LinkId> links;
  for (const Automorphism& image : plan.flow.classes.images) {
    const std::vector<LinkId> moved = image_of(plan.network.topology, image, all);
    for (const ChunkedPair& pair : solved) {
      copy.source = image[at(pair.source)];
      copy.destination = image[at(pair.destination)];
      copy.paths.clear();
      for (const ChunkedPath& path : pair.paths) {
        links.clear();
        for (const LinkId link : path.links) links.push_back(moved[at(link)]);
        copy.paths.push_back({fabric_path(plan.network, links), path.chunks});
      }
      std::sort(copy.paths.begin(), copy.paths.end(),
                [](const ChunkedPath& a, const ChunkedPath& b) { return a.links < b.links; });
      append(schedule, copy);
    }
  }
  for (Transfer& transfer : schedule.transfers) {
    if (transfer.route == direct) transfer.step += schedule.steps;
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

/// The largest load as the proof has it when there are no transfers to add up: that of the fluid plan, or the bound
/// when the two are one but for rounding.
Rational fluid_load(double flow, const Rational& bound) {
  constexpr double rounding = 1e-12;
  return bound.to_double() * flow >= 1 - rounding ? bound : rounded_up(1 / flow);
}

using Figures = std::vector<std::pair<std::string, std::variant<std::string, double, std::int64_t>>>;

/// A plan on its way to a schedule.
struct Lowered {
  Schedule schedule;
  Figures more;
  double loss_routes = 0;
};

/// By route: the chunks that take it, each as large as its pair asks.
std::vector<double> amounts_on_routes(const Schedule& schedule, std::span<const double> demand) {
  std::vector<double> amounts(schedule.routes.size(), 0);
  const std::int32_t hosts = schedule.topology.host_count();
  for (const Transfer& transfer : schedule.transfers) {
    amounts[at(transfer.route)] += transfer.chunk_count * share(demand, hosts, transfer.from, transfer.to);
  }
  return amounts;
}

/// The largest load of a link by what the pairs ask for, in shards per unit capacity.
double demanded_load(const Schedule& schedule, std::span<const double> demand) {
  std::vector<double> load(schedule.topology.links().size(), 0);
  const std::vector<double> amounts = amounts_on_routes(schedule, demand);
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    for (const LinkId link : schedule.routes[i].links) load[at(link)] += amounts[i];
  }
  double largest = 0;
  for (LinkId link = 0; link < schedule.topology.link_count(); ++link) {
    largest = std::max(largest, load[at(link)] / schedule.topology.capacity(link).to_double());
  }
  return largest / schedule.chunks_per_shard;
}

/// Whether routes may take other ways to spare layers. A budget for few routes is met by a flow made for it instead.
bool may_reroute(const FluidPlan& plan, LayerMethod method, const PlanOptions& options, const Schedule& schedule) {
  return method == LayerMethod::automatic && plan.chunk_paths != ChunkPaths::weighted &&
         (options.max_layers == 0 || schedule.routes.size() >= many_routes);
}

/// How much the largest load may grow so that F stays within the gap that was asked for, and loses little in any case.
double accepted_growth(const FluidPlan& plan, const PlanOptions& options, const Deadline& deadline) {
  if (options.gap <= 0 || options.max_layers > 0 || plan.flow.flow <= 0) {
    return deadline.passed() ? accepted_in_haste : accepted_layer_loss;
  }
  const double gap = plan.flow.certificate.flow_upper_bound / plan.flow.flow - 1;
  return std::clamp((1 + options.gap) / (1 + gap) - 1, 0.0, accepted_layer_loss);
}

/// Other ways for some routes where that costs little; the part of F it costs, or nothing where it does not work out.
std::optional<double> spare_layers(std::int32_t wanted, double accepted, const PlanOptions& options,
                                   const Deadline& deadline, Lowered& lowered) {
  Schedule& schedule = lowered.schedule;
  const std::vector<double> amounts = amounts_on_routes(schedule, options.demand);
  const std::optional<Rerouting> rerouting =
      reroute_into_layers(schedule.topology, schedule.routes, amounts, wanted, accepted, deadline);
  if (!rerouting) return std::nullopt;
  const double loss = std::max(0.0, 1 - rerouting->load_before / rerouting->load);
  lowered.more.emplace_back("loss_layers", loss);
  lowered.more.emplace_back("rerouted", rerouting->rerouted);
  return loss;
}

/// Numbers of layers to try, one after the other: more than usual where the gap leaves less to lose than usual.
std::vector<std::int32_t> budgets(std::int32_t wanted, double accepted, const PlanOptions& options) {
  if (options.max_layers > 0 || accepted >= accepted_layer_loss) return {wanted};
  return {wanted, 6, 8};  // switches have 8 virtual lanes as a rule
}

/// Why there are more layers than usual.
std::string layers_note(double accepted, bool late) {
  if (late) return "the time limit left none for fewer";
  if (accepted < accepted_layer_loss) return "fewer would cost more than the gap allows: see --max-layers";
  return "fewer would cost more than 2 % of F: see --max-layers";
}

/// Returns the part of F that fewer layers cost.
double assign_layers_of(const FluidPlan& plan, LayerMethod method, const PlanOptions& options, const Deadline& deadline,
                        Lowered& lowered) {
  Schedule& schedule = lowered.schedule;
  if (!plan.orders.empty()) {
    for (Route& route : schedule.routes) route.layer = layer_of(plan.orders, route.links);
    lowered.more.emplace_back("layer_method", std::string("orders"));
    return 0;
  }
  const bool may = may_reroute(plan, method, options, schedule);
  const std::int32_t wanted = options.max_layers > 0 ? options.max_layers : usual_layers;
  // LASH to its end takes longer than other ways for some routes where there are many.
  const bool many = schedule.routes.size() >= many_routes;
  const bool in_time = may && (many || !deadline.passed());
  Layers layers = assign_layers_by(method, schedule.topology, schedule.routes, in_time ? wanted : any_layers, deadline);
  if (may && layers.count > wanted) {
    const double accepted = accepted_growth(plan, options, deadline);
    const Deadline for_ways(many && deadline.passed() ? seconds_in_haste : deadline.remaining());
    for (const std::int32_t budget : budgets(wanted, accepted, options)) {
      if (for_ways.passed()) break;
      const std::optional<double> loss = spare_layers(budget, accepted, options, for_ways, lowered);
      if (!loss) continue;
      if (budget > wanted) lowered.more.emplace_back("layers_note", layers_note(accepted, false));
      lowered.more.emplace_back("layer_method", std::string("rerouted"));
      return *loss;
    }
    const bool late = deadline.passed();
    // The count is that of all layers, or only of those up to the first too many.
    if (in_time) layers = assign_layers_by(method, schedule.topology, schedule.routes, any_layers, deadline);
    if (options.max_layers == 0) lowered.more.emplace_back("layers_note", layers_note(accepted, late));
  }
  if (plan.chunk_paths == ChunkPaths::weighted && options.max_layers == 0) note_many_layers(layers.count, options);
  lowered.more.emplace_back("layer_method", std::string(to_string(layers.method)));
  return 0;
}

/// What the schedule's routes carry, pair by pair.
std::vector<PairDemand> pairs_of(const Schedule& schedule, std::span<const double> demand) {
  const std::int32_t hosts = schedule.topology.host_count();
  std::vector<PairDemand> pairs;
  for (NodeId source = 0; source < hosts; ++source) {
    for (NodeId destination = 0; destination < hosts; ++destination) {
      if (source == destination) continue;
      const double size = share(demand, hosts, source, destination) / schedule.chunks_per_shard;
      pairs.push_back({source, destination, schedule.chunks_per_shard, size});
    }
  }
  return pairs;
}

/// The schedule's transfers on other routes.
void put_on_routes(Schedule& schedule, FewerClasses& fewer) {
  schedule.chunks_per_shard *= fewer.finer;
  schedule.routes = std::move(fewer.found->routes);
  schedule.transfers.clear();
  NodeId source = -1;
  NodeId destination = -1;
  std::int32_t begin = 0;
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    const Route& route = schedule.routes[i];
    if (route.source != source || route.destination != destination) begin = 0;
    source = route.source;
    destination = route.destination;
    const std::int32_t chunks = fewer.found->chunks[i];
    schedule.transfers.push_back({source * schedule.topology.host_count() + destination, begin, chunks, source,
                                  destination, 1, static_cast<std::int32_t>(i), TransferKind::copy});
    begin += chunks;
  }
}

/// The largest load there is, in shards per unit capacity, by what the pairs ask for.
double largest_load_of(const Schedule& schedule, std::span<const double> demand) {
  if (!demand.empty()) return demanded_load(schedule, demand);
  return std::max(max_link_load(schedule), injection_load(schedule)).to_double();
}

bool counts_classes(const PlanOptions& options) { return options.class_loss || options.max_classes > 0; }

/// Classes by destination, and other ways for the routes where they are fewer then. Returns the part of F it costs.
double spare_classes(const FluidPlan& plan, const PlanOptions& options, const Deadline& deadline, Lowered& lowered) {
  Schedule& schedule = lowered.schedule;
  const double before = largest_load_of(schedule, options.demand);
  ClassBudget budget;
  // A loss of all of F is no bound.
  budget.load = before / (1 - std::min(options.class_loss.value_or(0), 0.99));
  budget.most = options.max_classes;
  if (options.max_layers > 0) budget.layers = std::min(budget.layers, options.max_layers);
  budget.chunks = std::max(options.max_chunks > 0 ? options.max_chunks : usual_chunks, schedule.chunks_per_shard);
  budget.routes = options.max_routes;
  budget.orders = plan.orders;
  std::optional<FewerClasses> fewer =
      route_in_fewer_classes(schedule.topology, schedule.routes, pairs_of(schedule, options.demand), budget, deadline);
  double loss = 0;
  if (fewer && fewer->found) {
    put_on_routes(schedule, *fewer);
    loss = std::max(0.0, 1 - before / largest_load_of(schedule, options.demand));
  }
  if (fewer) lowered.more.emplace_back("classes", static_cast<std::int64_t>(fewer->classes));
  lowered.more.emplace_back("loss_classes", loss);
  return loss;
}

/// Layers and classes of routes, and their steps where those are asked for. Returns the part of F that fewer layers
/// cost.
double finish_routes(const FluidPlan& plan, LayerMethod method, const PlanOptions& options, const Deadline& deadline,
                     Lowered& lowered) {
  Schedule& schedule = lowered.schedule;
  double loss = assign_layers_of(plan, method, options, deadline, lowered);
  assign_route_classes(schedule.topology, schedule.routes);
  if (counts_classes(options)) loss = 1 - (1 - loss) * (1 - spare_classes(plan, options, deadline, lowered));
  sort_transfers(schedule);
  if (options.steps <= 1) return loss;
  const StepPartition partition = partition_over_steps(schedule, options.steps);
  lowered.more.emplace_back("stepped_load_chunks", partition.load);
  lowered.more.emplace_back("loss_steps", std::max(0.0, 1 - max_link_load(schedule).to_double() / partition.load));
  lowered.more.emplace_back("chunks_in_flight", partition.in_flight);
  return loss;
}

/// The transfers of the plan, its routes within options.max_routes.
Lowered with_transfers(const Topology& fabric, FluidPlan& plan, const PlanOptions& options, const char* algorithm,
                       LayerMethod method, const Deadline& deadline, bool on_links) {
  const Topology& graph = plan.network.topology;
  // Layers are still to come.
  const Deadline in_time = deadline.part(on_links ? 1 : share_of_chunks);
  Lowered result;
  const ConcurrentFlow before = options.max_routes > 0 ? plan.flow : ConcurrentFlow{};
  result.loss_routes = limit_routes(graph, plan.flow, options.max_routes, options, in_time);
  Chunking chunking = round_to_chunks(graph, plan.flow, options, plan.chunk_paths, in_time);
  if (result.loss_routes > 0 && plan.chunk_paths != ChunkPaths::weighted) {
    // So many chunks as routes need no limit on the paths they choose from.
    Chunking free = round_to_chunks(graph, before, options, plan.chunk_paths, in_time);
    if (free.cost < chunking.cost) chunking = std::move(free);
  }
  Schedule& schedule = result.schedule;
  schedule = empty_schedule(fabric, algorithm);
  schedule.chunks_per_shard = chunking.chunks_per_shard;
  append_pairs(schedule, plan, chunking.pairs, on_links ? append_hops : append_routed);
  // The schedule has it all now, and those of a thousand nodes are as large again.
  std::vector<ChunkedPair>().swap(chunking.pairs);
  std::vector<PairPaths>().swap(plan.flow.pairs);
  double loss_layers = 0;
  if (on_links) {
    sort_transfers(schedule);
  } else {
    loss_layers = finish_routes(plan, method, options, deadline, result);
  }
  schedule.proof.max_link_load = std::max(max_link_load(schedule), injection_load(schedule));
  // Negotiation can leave a fluid plan behind that was no optimum, or had fewer paths to choose from.
  plan.flow.flow = std::min(std::max(plan.flow.flow, 1 / chunking.cost), plan.flow.certificate.flow_upper_bound);
  if (result.loss_routes > 0) result.loss_routes = std::max(0.0, 1 - plan.flow.flow / before.flow);
  plan.flow.flow *= 1 - loss_layers;
  if (options.demand.empty()) {
    // Routes that gave way to others may load less than those of the fluid plan.
    const double reached = 1 / (schedule.proof.max_link_load.to_double() * plan.network.unit.to_double());
    plan.flow.flow = std::min(std::max(plan.flow.flow, reached), plan.flow.certificate.flow_upper_bound);
  } else {
    double cost = chunking.cost / (1 - loss_layers);
    if (!on_links && !plan.network.bottleneck) {
      cost = demanded_load(schedule, options.demand) * plan.network.unit.to_double();
      plan.flow.flow = std::min(std::max(plan.flow.flow, 1 / cost), plan.flow.certificate.flow_upper_bound);
    }
    result.more.emplace_back("demand_load", cost / plan.network.unit.to_double());
    result.more.emplace_back("loss_chunking", std::max(0.0, 1 - 1 / (cost * plan.flow.flow)));
  }
  return result;
}

/// The orders of a fabric's links as those of its network: what hosts send comes before, what they receive after.
LayerOrders on_network(const InjectionNetwork& network, const LayerOrders& orders) {
  const auto links = static_cast<std::int32_t>(network.topology.links().size());
  if (!network.bottleneck) return orders;
  LayerOrders result;
  for (const std::vector<std::int32_t>& order : orders) {
    std::vector<std::int32_t>& longer = result.emplace_back(order);
    for (std::int32_t link = network.fabric_links; link < links; ++link) {
      const bool sent = network.topology.link(link).from < network.topology.host_count();
      longer.push_back(sent ? link - links : link);
    }
  }
  return result;
}

/// The plan again, on routes that ascend in options.max_layers orders made after those of `lowered`.
Result<FluidPlan> within_layers(const Topology& fabric, const FluidPlan& plan, const Lowered& lowered,
                                const PlanOptions& options, const Deadline& deadline) {
  Result<LayerOrders> orders = layer_orders(fabric, lowered.schedule.routes, options.max_layers);
  if (!orders) return orders.error();
  std::int64_t effort = effort_of_orders;
  *orders = search_orders(fabric, std::move(*orders), pairs_of(lowered.schedule, options.demand),
                          forwarding_nodes(fabric), effort, deadline.part(share_of_orders));
  LayeredFlow flow = layered_flow(plan.network.topology, on_network(plan.network, *orders), options.demand, deadline);
  FluidPlan result;
  result.network = plan.network;
  result.method = plan.method + ", then multiplicative weights on ascending paths";
  result.orders = std::move(*orders);
  result.flow.classes = link_classes(plan.network.topology, {});
  result.flow.pairs = std::move(flow.pairs);
  result.flow.certificate = plan.flow.certificate;
  result.flow.flow = std::min(1 / flow.load, plan.flow.certificate.flow_upper_bound);
  result.flow.symmetry_order = plan.flow.symmetry_order;
  if (options.figures != nullptr) {
    const double best = upper_rate_on_fabric(plan.network, 1 / flow.bound);
    options.figures->more.emplace_back("loss_layers", std::max(0.0, 1 - result.flow.flow / plan.flow.flow));
    options.figures->more.emplace_back("F_upper_bound_layers", best);
  }
  return result;
}

Result<Schedule> lower(const Topology& fabric, FluidPlan plan, const PlanOptions& options, const char* algorithm,
                       const Deadline& deadline, bool on_links) {
  const Result<LayerMethod> method = options.layer_method.empty() ? Result<LayerMethod>(LayerMethod::automatic)
                                                                  : parse_layer_method(options.layer_method);
  if (!method) return method.error();
  const bool budget = options.max_layers > 0 && !on_links;
  Lowered lowered{empty_schedule(fabric, algorithm), {}, 0};
  if (options.schedule || budget) {
    lowered = with_transfers(fabric, plan, options, algorithm, *method, deadline, on_links);
    const std::int32_t layers = layer_count(lowered.schedule.routes);
    if (budget && layers > options.max_layers) {
      if (plan.chunk_paths == ChunkPaths::weighted) {
        return Error{std::string(algorithm) + " on " + fabric.name() + ": the routes need " + std::to_string(layers) +
                     " layers, expected at most " + std::to_string(options.max_layers) + ": use mcf-path or p-mcf"};
      }
      Result<FluidPlan> within = within_layers(fabric, plan, lowered, options, deadline);
      if (!within) return Error{std::string(algorithm) + ": " + within.error().message};
      plan = std::move(*within);
      lowered = with_transfers(fabric, plan, options, algorithm, *method, deadline, on_links);
    }
  } else {
    lowered.loss_routes = limit_routes(plan.network.topology, plan.flow, options.max_routes, options, deadline);
  }
  Schedule& schedule = lowered.schedule;
  const FlowCertificate& certificate = plan.flow.certificate;
  const Rational load_bound = certificate.load_lower_bound / plan.network.unit;
  schedule.proof.flow_upper_bound = upper_rate_on_fabric(plan.network, certificate.flow_upper_bound);
  if (options.demand.empty()) schedule.proof.lengths = certificate.lengths;
  schedule.proof.flow = std::min(plan.flow.flow * plan.network.unit.to_double(), schedule.proof.flow_upper_bound);
  if (!options.schedule) {
    schedule.proof.max_link_load = fluid_load(schedule.proof.flow, load_bound);
    schedule.transfers.clear();
    schedule.routes.clear();
  }
  const Rational time_of_load(degree(fabric), fabric.host_count());
  schedule.proof.bandwidth_time = time_of_load * schedule.proof.max_link_load;
  if (options.demand.empty()) {
    schedule.proof.bandwidth_bound = std::min(schedule.proof.bandwidth_time, time_of_load * load_bound);
  }
  if (options.figures != nullptr) {
    PlanFigures& figures = *options.figures;
    figures.method = std::move(plan.method);
    figures.symmetry_order = plan.flow.symmetry_order;
    figures.loss_routes = lowered.loss_routes;
    figures.more.insert(figures.more.end(), lowered.more.begin(), lowered.more.end());
  }
  return std::move(schedule);
}

}  // namespace

Result<InjectionNetwork> checked_network(const Topology& fabric, const PlanOptions& options, ForwardedBy forwarded_by,
                                         const char* algorithm) {
  const std::string which = std::string(algorithm) + " on " + fabric.name() + ": ";
  if (const Status status = check_connected(fabric); !status) return Error{which + status.error().message};
  if (const Status status = check_demand(fabric, options.demand); !status) return Error{which + status.error().message};
  if (forwarded_by == ForwardedBy::hosts && fabric.node_count() != fabric.host_count()) {
    return Error{which + "found " + std::to_string(fabric.node_count() - fabric.host_count()) +
                 " switches, expected none, as hosts forward: use p-mcf or mcf-path"};
  }
  if (forwarded_by == ForwardedBy::nics) {
    if (const Status status = check_forwarding(fabric); !status) return Error{which + status.error().message};
  }
  return with_injection(fabric, forwarded_by);
}

Status check_forwarding(const Topology& fabric) {
  if (fabric.nics_forward() || fabric.node_count() != fabric.host_count()) return {};
  return Error{"found NICs that do not forward, expected ones that do, or switches: use mcf-link or ts-mcf"};
}

LinkClasses flow_classes(const InjectionNetwork& network, const PlanOptions& options) {
  if (network.bottleneck || !options.demand.empty() || !options.symmetry) return link_classes(network.topology, {});
  return link_classes(network.topology, translations(network.topology));
}

FlowCertificate tightest_bound(const Topology& topology, const LinkClasses& classes, std::span<const double> prices,
                               std::span<const double> demand, double load, const Deadline& deadline) {
  // Prices of a program that was not solved to the end can be worth less than none.
  const std::vector<double> equal(topology.links().size(), 1);
  FlowCertificate best = certify(topology, equal, demand);
  if (!prices.empty()) {
    FlowCertificate priced = certify(topology, prices, demand);
    if (priced.flow_upper_bound < best.flow_upper_bound) best = std::move(priced);
  }
  if (best.flow_upper_bound * load <= 1 + solver_gap) return best;
  if (master_lp_columns(topology, classes) > most_master_columns || deadline.passed()) return best;
  if (auto optimal = optimal_certificate(topology, classes, demand, deadline)) {
    if (optimal->flow_upper_bound < best.flow_upper_bound) return std::move(*optimal);
  }
  return best;
}

ConcurrentFlow certified_flow(const Topology& topology, LinkClasses classes, std::vector<PairPaths> pairs,
                              std::span<const double> prices, std::span<const double> demand,
                              const Deadline& deadline) {
  ConcurrentFlow result;
  const double load = largest_load(classes, pairs, topology.host_count(), demand);
  result.certificate = tightest_bound(topology, classes, prices, demand, load, deadline);
  result.flow = std::min(1 / load, result.certificate.flow_upper_bound);
  result.symmetry_order = static_cast<std::int64_t>(classes.images.size());
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
  if (columns <= most_master_columns) {
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

void note_many_layers(std::int32_t layers, const PlanOptions& options) {
  if (layers <= usual_layers || options.figures == nullptr) return;
  options.figures->more.emplace_back(
      "layers_note", std::string("a baseline keeps its routes; mcf-path and p-mcf take others to need no more than 4"));
}

Rational rounded_up(double value) {
  // Doubles above 2^30 need no fraction: their rounding is smaller than what rounding up to 10⁻⁹ adds to others.
  constexpr double large = 1 << 30;
  const std::int64_t denominator = value < large ? 1'000'000'000 : 1;
  return {static_cast<std::int64_t>(std::ceil(value * static_cast<double>(denominator))), denominator};
}

Result<Schedule> lower_to_routes(const Topology& fabric, FluidPlan plan, const PlanOptions& options,
                                 const char* algorithm, const Deadline& deadline) {
  return lower(fabric, std::move(plan), options, algorithm, deadline, false);
}

Result<Schedule> lower_to_links(const Topology& fabric, FluidPlan plan, const PlanOptions& options,
                                const char* algorithm, const Deadline& deadline) {
  return lower(fabric, std::move(plan), options, algorithm, deadline, true);
}

}  // namespace libcoll::flow::lowering
