#include "planner/broadcast/forestcoll.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "planner/index.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll {
namespace {

constexpr std::int64_t small_trees = 10;         // what paper 004 §4.5 scans
constexpr std::int64_t most_trees_scanned = 64;  // every k costs a max-flow per host

/// Links between hosts as they are, with their capacities.
std::vector<LogicalLink> physical_links(const Topology& topology, std::span<const std::int64_t> capacity) {
  std::vector<LogicalLink> links;
  links.reserve(capacity.size());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    const Link& link = topology.link(id);
    links.push_back({link.from, link.to, capacity[at(id)], {{{id}, capacity[at(id)]}}});
  }
  return links;
}

std::vector<CapacityArc> arcs_of(const std::vector<LogicalLink>& links) {
  std::vector<CapacityArc> arcs;
  arcs.reserve(links.size());
  for (const LogicalLink& link : links) arcs.push_back({link.from, link.to, link.capacity});
  return arcs;
}

/// Routes and layers are made after the trees and take their time, too.
Effort effort_for_trees(const PlanOptions& options) {
  constexpr double share = 0.8;
  Effort effort = effort_of(options);
  if (effort.deadline.limited()) effort.deadline = Deadline(share * options.time_limit_seconds);
  return effort;
}

Error too_late(const Topology& topology, const std::string& what) {
  return Error{"forestcoll on " + topology.name() + ": the time was over before " + what +
               ": allow more, or take another planner"};
}

Result<Forest> pack(const Topology& topology, const TreeCount& count, std::span<const std::int64_t> capacity,
                    std::span<const std::int64_t> demand, const Effort& effort) {
  Forest forest;
  forest.count = count;
  if (topology.node_count() == topology.host_count()) {
    forest.links = physical_links(topology, capacity);
  } else {
    Result<std::vector<LogicalLink>> links = split_off_switches(topology, capacity, demand, effort);
    if (!links) return links.error();
    forest.links = std::move(links).value();
  }
  Result<Packing> packing = pack_out_trees_until(effort, arcs_of(forest.links), demand);
  if (!packing && effort.deadline.passed()) {
    // Switches split off without proof have cut the fabric in pieces.
    forest.links = ways_between_hosts(topology, capacity);
    packing = pack_out_trees_until(effort, arcs_of(forest.links), demand);
  }
  if (!packing) return packing.error();
  forest.trees = std::move(packing->trees);
  forest.unproven = packing->unproven;
  return forest;
}

/// Routes a forest's transfers: which path of a logical link has room for how many trees.
class Lowering {
 public:
  Lowering(Schedule& schedule, const Forest& forest) : schedule_(schedule), forest_(forest) {
    for (const LogicalLink& link : forest.links) {
      std::vector<Way>& ways = ways_.emplace_back();
      for (const LogicalPath& path : link.paths) ways.push_back({path.capacity, unknown});
    }
  }

  void run() {
    std::vector<std::int64_t> begin(at(schedule_.topology.host_count()), 0);
    for (const OutTree& tree : forest_.trees) {
      for (const TreeEdge& edge : tree.edges) {
        append(tree, edge, begin[at(tree.root)]);
        schedule_.steps = std::max(schedule_.steps, edge.depth);
      }
      begin[at(tree.root)] += tree.count;
    }
    sort_transfers(schedule_);
    merge();
  }

 private:
  static constexpr std::int32_t unknown = -2;
  struct Way {
    std::int64_t room = 0;
    std::int32_t route = unknown;
  };

  std::int32_t route_of(const TreeEdge& edge, std::size_t path) {
    Way& way = ways_[at(edge.arc)][path];
    if (way.route != unknown) return way.route;
    const LogicalLink& link = forest_.links[at(edge.arc)];
    way.route = direct;
    if (link.paths[path].links.size() > 1) {
      way.route = static_cast<std::int32_t>(schedule_.routes.size());
      schedule_.routes.push_back({link.from, link.to, link.paths[path].links});
    }
    return way.route;
  }

  /// All chunks over one path where one has the room, else cut up.
  void append(const OutTree& tree, const TreeEdge& edge, std::int64_t begin) {
    const LogicalLink& link = forest_.links[at(edge.arc)];
    std::vector<Way>& ways = ways_[at(edge.arc)];
    std::int64_t left = tree.count;
    const auto roomy = std::find_if(ways.begin(), ways.end(), [&](const Way& way) { return way.room >= left; });
    auto path = roomy == ways.end() ? std::size_t{0} : static_cast<std::size_t>(roomy - ways.begin());
    for (; left > 0; ++path) {
      // Trees that were made in a hurry may take more than there is; the last path bears it.
      const bool last = path + 1 == ways.size();
      const std::int64_t part = last ? left : std::min(left, ways[path].room);
      if (part <= 0) continue;
      schedule_.transfers.push_back({tree.root, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(part),
                                     link.from, link.to, edge.depth, route_of(edge, path), TransferKind::copy});
      ways[path].room -= part;
      begin += part;
      left -= part;
    }
  }

  /// Neighbouring chunks that go the same way at the same time go together.
  void merge() {
    std::vector<Transfer> merged;
    for (const Transfer& next : schedule_.transfers) {
      if (!merged.empty()) {
        Transfer& last = merged.back();
        if (last.step == next.step && last.from == next.from && last.to == next.to && last.route == next.route &&
            last.shard == next.shard && last.chunk_begin + last.chunk_count == next.chunk_begin) {
          last.chunk_count += next.chunk_count;
          continue;
        }
      }
      merged.push_back(next);
    }
    schedule_.transfers = std::move(merged);
  }

  Schedule& schedule_;
  const Forest& forest_;
  std::vector<std::vector<Way>> ways_;  ///< by logical link and path
};

/// What is known of the best forest before any tree is packed.
struct Target {
  BottleneckCut cut;
  LinkWidths widths;
  TreeCount count;
  std::int64_t symmetry = 1;
};

/// `roots`: of the trees; empty: all hosts.
Result<TreeCount> choose_trees(const Topology& topology, const PlanOptions& options, const Target& target,
                               std::span<const NodeId> roots, const Effort& effort) {
  const Rational inverse_x = target.cut.inverse_x();
  if (options.trees > 0) return fixed_trees(topology, options.trees, roots, effort);
  if (options.trees < 0) return best_small_trees(topology, inverse_x, small_trees, roots, effort);
  const TreeCount optimal = optimal_trees(inverse_x, target.widths);
  const std::int64_t limit = options.max_chunks > 0 ? options.max_chunks : std::numeric_limits<std::int32_t>::max();
  if (optimal.trees <= limit) return optimal;
  return best_small_trees(topology, inverse_x, std::min(limit, most_trees_scanned), roots, effort);
}

Result<Target> make_target(const Topology& topology, const PlanOptions& options, const Effort& effort,
                           std::span<const NodeId> roots = {}) {
  Target target;
  const std::vector<Automorphism> images = roots.empty() ? translations(topology) : std::vector<Automorphism>{};
  // All hosts are alike under translations: one of them sees the bottleneck.
  const std::vector<NodeId> sinks = images.empty() ? std::vector<NodeId>{} : std::vector<NodeId>{0};
  const Result<BottleneckCut> cut = forest_optimum(topology, sinks, nullptr, roots, effort);
  if (!cut) return cut.error();
  target.cut = *cut;
  target.widths = link_widths(topology);
  target.symmetry = std::max<std::int64_t>(static_cast<std::int64_t>(images.size()), 1);
  const Result<TreeCount> count = choose_trees(topology, options, target, roots, effort);
  if (!count) return count.error();
  // Trees can be made without proof; figures alone would say what is not known.
  if (!options.schedule && !(cut->proven && count->proven)) {
    return too_late(topology, "1/x* was proved to be no more than " + cut->inverse_x().to_string());
  }
  target.count = *count;
  return target;
}

/// Shards per unit capacity that a link of a forest with this 1/x carries at most; capacities are in units of the
/// slowest link.
Rational load_of(const Topology& topology, const LinkWidths& widths, Rational inverse_x) {
  return inverse_x * Rational(topology.unit_bandwidth_bytes_per_second() / widths.unit);
}

Schedule empty_schedule(Collective collective, NodeId root, const Topology& topology, const Target& target) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.root = root;
  schedule.algorithm = "forestcoll";
  schedule.topology = topology;
  schedule.pipelined = true;
  schedule.chunks_per_shard = static_cast<std::int32_t>(target.count.trees);
  const Rational unit(degree(topology), shards_in_vector(schedule));
  schedule.proof.max_link_load = load_of(topology, target.widths, target.count.inverse_rate());
  schedule.proof.bandwidth_time = unit * schedule.proof.max_link_load;
  schedule.proof.bandwidth_bound = unit * load_of(topology, target.widths, target.cut.inverse_x());
  return schedule;
}

/// An allgather or a broadcast.
struct Planned {
  Target target;
  Schedule schedule;
  std::int64_t unproven = 0;  ///< trees, see Forest
};

void lower(const Forest& forest, Planned& planned) {
  Schedule& schedule = planned.schedule;
  planned.unproven = forest.unproven;
  Lowering(schedule, forest).run();
  assign_layers(schedule.topology, schedule.routes);
  assign_route_classes(schedule.topology, schedule.routes);
  // With a given number of trees no link need be as full as it may be.
  schedule.proof.max_link_load = max_link_load(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
}

Result<Planned> make_allgather(const Topology& topology, const PlanOptions& options, const Effort& effort) {
  Result<Target> target = make_target(topology, options, effort);
  if (!target) return target.error();
  Planned made{std::move(target).value(), {}, 0};
  made.schedule = empty_schedule(Collective::allgather, 0, topology, made.target);
  if (!options.schedule) return made;
  const Result<Forest> forest = allgather_forest(topology, made.target.count, effort);
  if (!forest) return forest.error();
  lower(*forest, made);
  return made;
}

Result<Planned> make_broadcast(const Topology& topology, const PlanOptions& options, const Effort& effort) {
  if (Status status = check_root(topology, options.root); !status) return status.error();
  Result<Target> target = make_target(topology, options, effort, std::span(&options.root, 1));
  if (!target) return target.error();
  Planned made{std::move(target).value(), {}, 0};
  made.schedule = empty_schedule(Collective::broadcast, options.root, topology, made.target);
  if (!options.schedule) return made;
  const Result<Forest> forest = broadcast_forest(topology, options.root, made.target.count, effort);
  if (!forest) return forest.error();
  lower(*forest, made);
  return made;
}

/// For every link the one back, if all links have one that is as fast.
std::optional<std::vector<LinkId>> opposite_links(const Topology& topology) {
  std::vector<LinkId> opposite;
  opposite.reserve(topology.links().size());
  for (const Link& link : topology.links()) {
    const LinkId back = topology.find_link(link.to, link.from);
    if (back < 0 || topology.link(back).bandwidth_bytes_per_second != link.bandwidth_bytes_per_second) return {};
    opposite.push_back(back);
  }
  return opposite;
}

/// The allgather on the transpose: planned there, or taken over from `here` when the transpose is wired alike.
Result<Planned> make_transposed(const Topology& topology, const PlanOptions& options, const Effort& effort,
                                const Planned* here) {
  Topology transposed = transpose(topology);
  const auto opposite = here == nullptr ? std::nullopt : opposite_links(topology);
  if (!opposite) return make_allgather(transposed, options, effort);
  Planned there = *here;
  there.schedule.topology = std::move(transposed);
  for (Route& route : there.schedule.routes) {
    for (LinkId& link : route.links) link = (*opposite)[at(link)];
  }
  return there;
}

/// The reduce-scatter whose data goes the way of an allgather on the transpose backwards, routes as well; the reduction
/// of a broadcast. Routes keep their layers and classes: dependencies turned around close no cycle where there was
/// none.
Schedule mirrored(Schedule schedule, const Topology& topology) {
  schedule.collective = schedule.collective == Collective::broadcast ? Collective::reduce : Collective::reduce_scatter;
  schedule.topology = topology;
  for (Route& route : schedule.routes) {
    std::swap(route.source, route.destination);
    std::reverse(route.links.begin(), route.links.end());
  }
  for (Transfer& transfer : schedule.transfers) {
    std::swap(transfer.from, transfer.to);
    transfer.step = schedule.steps + 1 - transfer.step;
    transfer.kind = TransferKind::reduce;
  }
  sort_transfers(schedule);
  return schedule;
}

/// The largest decimal unit in which all bandwidths are whole numbers.
std::pair<std::int64_t, std::string> decimal_unit(const LinkWidths& widths) {
  for (const auto& [unit, name] :
       {std::pair(1'000'000'000, "GB/s"), std::pair(1'000'000, "MB/s"), std::pair(1'000, "kB/s")}) {
    if (widths.unit % unit == 0) return {unit, name};
  }
  return {1, "B/s"};
}

/// `inverse_rate`, `unproven`: of all phases together.
void report(const PlanOptions& options, const Target& target, Rational inverse_rate, std::int64_t unproven,
            const Schedule& schedule, std::int32_t depth) {
  if (options.figures == nullptr) return;
  const auto [unit, name] = decimal_unit(target.widths);
  const std::int64_t bandwidth = target.cut.bandwidth * (target.widths.unit / unit);
  const auto unit_bandwidth = static_cast<double>(target.widths.unit);
  PlanFigures& figures = *options.figures;
  figures.symmetry_order = target.symmetry;
  figures.more.emplace_back("inverse_x", std::to_string(target.cut.hosts) + "/" + std::to_string(bandwidth));
  figures.more.emplace_back("inverse_x_float", static_cast<double>(target.cut.hosts) / static_cast<double>(bandwidth));
  figures.more.emplace_back("inverse_x_unit", "1/(" + name + ")");
  figures.more.emplace_back("trees_per_root", target.count.trees);
  figures.more.emplace_back("tree_bandwidth", unit_bandwidth / target.count.scale.to_double());
  const double planned = static_cast<double>(shards_in_vector(schedule)) * unit_bandwidth / inverse_rate.to_double();
  const double achieved = degree(schedule.topology) *
                          static_cast<double>(schedule.topology.unit_bandwidth_bytes_per_second()) /
                          schedule.proof.bandwidth_time.to_double();
  figures.more.emplace_back("algbw_bytes_per_second", unproven > 0 ? achieved : planned);
  if (options.time_limit_seconds > 0) {
    const double bound = schedule.proof.bandwidth_bound.to_double();
    figures.more.emplace_back("trees_unproven", unproven);
    figures.more.emplace_back("gap", bound > 0 ? schedule.proof.bandwidth_time.to_double() / bound - 1 : 0);
  }
  if (is_rooted(schedule.collective)) figures.more.emplace_back("bottleneck_outside", node_ranges(target.cut.outside));
  if (!schedule.transfers.empty()) figures.more.emplace_back("tree_depth_max", std::int64_t{depth});
}

}  // namespace

Result<Forest> allgather_forest(const Topology& topology, const TreeCount& count, const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  const std::vector<std::int64_t> capacity = tree_capacities(link_widths(topology), count.scale);
  std::vector<OutTree> trees = pack_by_translation(topology, capacity, count.trees, translations(topology));
  if (!trees.empty()) return Forest{count, physical_links(topology, capacity), std::move(trees), 0};
  return pack(topology, count, capacity, std::vector<std::int64_t>(at(topology.host_count()), count.trees), effort);
}

Result<Forest> broadcast_forest(const Topology& topology, NodeId root, const TreeCount& count, const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  if (Status status = check_root(topology, root); !status) return status.error();
  std::vector<std::int64_t> demand(at(topology.host_count()), 0);
  demand[at(root)] = count.trees;
  return pack(topology, count, tree_capacities(link_widths(topology), count.scale), demand, effort);
}

Result<Forest> broadcast_forest(const Topology& topology, NodeId root) {
  if (Status status = check_root(topology, root); !status) return status.error();
  const Result<BottleneckCut> cut = forest_optimum(topology, {}, nullptr, std::span(&root, 1));
  if (!cut) return cut.error();
  return broadcast_forest(topology, root, optimal_trees(cut->inverse_x(), link_widths(topology)));
}

Result<Forest> reduce_forest(const Topology& topology, NodeId root) {
  return broadcast_forest(transpose(topology), root);
}

Result<Schedule> plan_forestcoll_allgather(const Topology& topology, const PlanOptions& options) {
  Result<Planned> made = make_allgather(topology, options, effort_for_trees(options));
  if (!made) return made.error();
  report(options, made->target, made->target.count.inverse_rate(), made->unproven, made->schedule,
         made->schedule.steps);
  return std::move(made->schedule);
}

Result<Schedule> plan_forestcoll_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  Result<Planned> made = make_transposed(topology, options, effort_for_trees(options), nullptr);
  if (!made) return made.error();
  Schedule schedule = mirrored(std::move(made->schedule), topology);
  report(options, made->target, made->target.count.inverse_rate(), made->unproven, schedule, schedule.steps);
  return schedule;
}

Result<Schedule> plan_forestcoll_allreduce(const Topology& topology, const PlanOptions& options) {
  const Effort effort = effort_for_trees(options);
  const Result<Planned> gathering = make_allgather(topology, options, effort);
  if (!gathering) return gathering.error();
  Result<Planned> reducing = make_transposed(topology, options, effort, &gathering.value());
  if (!reducing) return reducing.error();
  const Schedule reduce_scatter = mirrored(std::move(reducing->schedule), topology);
  Result<Schedule> schedule = concatenate(reduce_scatter, gathering->schedule);
  if (!schedule) return schedule.error();
  schedule->pipelined = true;
  // Both halves chose their layers and classes alone.
  assign_layers(topology, schedule->routes);
  assign_route_classes(topology, schedule->routes);
  if (!options.schedule) {
    schedule->proof.max_link_load = reduce_scatter.proof.max_link_load + gathering->schedule.proof.max_link_load;
  }
  report(options, gathering->target, reducing->target.count.inverse_rate() + gathering->target.count.inverse_rate(),
         reducing->unproven + gathering->unproven, *schedule,
         std::max(reduce_scatter.steps, gathering->schedule.steps));
  return schedule;
}

Result<Schedule> plan_forestcoll_broadcast(const Topology& topology, const PlanOptions& options) {
  Result<Planned> made = make_broadcast(topology, options, effort_for_trees(options));
  if (!made) return made.error();
  report(options, made->target, made->target.count.inverse_rate(), made->unproven, made->schedule,
         made->schedule.steps);
  return std::move(made->schedule);
}

Result<Schedule> plan_forestcoll_reduce(const Topology& topology, const PlanOptions& options) {
  Result<Planned> made = make_broadcast(transpose(topology), options, effort_for_trees(options));
  if (!made) return made.error();
  Schedule schedule = mirrored(std::move(made->schedule), topology);
  report(options, made->target, made->target.count.inverse_rate(), made->unproven, schedule, schedule.steps);
  return schedule;
}

}  // namespace libcoll
