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

Result<Forest> pack(const Topology& topology, const TreeCount& count, std::span<const std::int64_t> capacity,
                    std::span<const std::int64_t> demand) {
  Forest forest;
  forest.count = count;
  if (topology.node_count() == topology.host_count()) {
    forest.links = physical_links(topology, capacity);
  } else {
    Result<std::vector<LogicalLink>> links = split_off_switches(topology, capacity, demand);
    if (!links) return links.error();
    forest.links = std::move(links).value();
  }
  Result<std::vector<OutTree>> trees = pack_out_trees(arcs_of(forest.links), demand);
  if (!trees) return trees.error();
  forest.trees = std::move(trees).value();
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
      const std::int64_t part = std::min(left, ways[path].room);
      if (part == 0) continue;
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

Result<TreeCount> choose_trees(const Topology& topology, const PlanOptions& options, const Target& target) {
  const Rational inverse_x = target.cut.inverse_x();
  if (options.trees > 0) return fixed_trees(topology, options.trees);
  if (options.trees < 0) return best_small_trees(topology, inverse_x, small_trees);
  const TreeCount optimal = optimal_trees(inverse_x, target.widths);
  const std::int64_t limit = options.max_chunks > 0 ? options.max_chunks : std::numeric_limits<std::int32_t>::max();
  if (optimal.trees <= limit) return optimal;
  return best_small_trees(topology, inverse_x, std::min(limit, most_trees_scanned));
}

Result<Target> make_target(const Topology& topology, const PlanOptions& options) {
  Target target;
  const std::vector<Automorphism> images = translations(topology);
  // All hosts are alike under translations: one of them sees the bottleneck.
  const std::vector<NodeId> sinks = images.empty() ? std::vector<NodeId>{} : std::vector<NodeId>{0};
  const Result<BottleneckCut> cut = forest_optimum(topology, sinks);
  if (!cut) return cut.error();
  target.cut = *cut;
  target.widths = link_widths(topology);
  target.symmetry = std::max<std::int64_t>(static_cast<std::int64_t>(images.size()), 1);
  const Result<TreeCount> count = choose_trees(topology, options, target);
  if (!count) return count.error();
  target.count = *count;
  return target;
}

/// Shards per unit capacity that a link of a forest with this 1/x carries at most; capacities are in units of the
/// slowest link.
Rational load_of(const Topology& topology, const LinkWidths& widths, Rational inverse_x) {
  return inverse_x * Rational(topology.unit_bandwidth_bytes_per_second() / widths.unit);
}

Schedule empty_schedule(const Topology& topology, const Target& target) {
  Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.algorithm = "forestcoll";
  schedule.topology = topology;
  schedule.pipelined = true;
  schedule.chunks_per_shard = static_cast<std::int32_t>(target.count.trees);
  const Rational unit(degree(topology), topology.host_count());
  schedule.proof.max_link_load = load_of(topology, target.widths, target.count.inverse_rate());
  schedule.proof.bandwidth_time = unit * schedule.proof.max_link_load;
  schedule.proof.bandwidth_bound = unit * load_of(topology, target.widths, target.cut.inverse_x());
  return schedule;
}

struct Allgather {
  Target target;
  Schedule schedule;
};

Result<Allgather> make_allgather(const Topology& topology, const PlanOptions& options) {
  Result<Target> target = make_target(topology, options);
  if (!target) return target.error();
  Allgather made{std::move(target).value(), {}};
  made.schedule = empty_schedule(topology, made.target);
  if (!options.schedule) return made;
  const Result<Forest> forest = allgather_forest(topology, made.target.count);
  if (!forest) return forest.error();
  Lowering(made.schedule, *forest).run();
  assign_layers(topology, made.schedule.routes);
  assign_route_classes(topology, made.schedule.routes);
  // With a given number of trees no link need be as full as it may be.
  made.schedule.proof.max_link_load = max_link_load(made.schedule);
  made.schedule.proof.bandwidth_time = bandwidth_time(made.schedule);
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
Result<Allgather> make_transposed(const Topology& topology, const PlanOptions& options, const Allgather* here) {
  Topology transposed = transpose(topology);
  const auto opposite = here == nullptr ? std::nullopt : opposite_links(topology);
  if (!opposite) return make_allgather(transposed, options);
  Allgather there = *here;
  there.schedule.topology = std::move(transposed);
  for (Route& route : there.schedule.routes) {
    for (LinkId& link : route.links) link = (*opposite)[at(link)];
  }
  return there;
}

/// The reduce-scatter whose data goes the way of an allgather on the transpose backwards, routes as well. They keep
/// their layers and classes: dependencies turned around close no cycle where there was none.
Schedule mirrored(Schedule schedule, const Topology& topology) {
  schedule.collective = Collective::reduce_scatter;
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

/// `inverse_rate`: of all phases together.
void report(const PlanOptions& options, const Topology& topology, const Target& target, Rational inverse_rate,
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
  figures.more.emplace_back("algbw_bytes_per_second",
                            topology.host_count() * unit_bandwidth / inverse_rate.to_double());
  if (!schedule.transfers.empty()) figures.more.emplace_back("tree_depth_max", std::int64_t{depth});
}

}  // namespace

Result<Forest> allgather_forest(const Topology& topology, const TreeCount& count) {
  if (Status status = check_connected(topology); !status) return status.error();
  const std::vector<std::int64_t> capacity = tree_capacities(link_widths(topology), count.scale);
  std::vector<OutTree> trees = pack_by_translation(topology, capacity, count.trees, translations(topology));
  if (!trees.empty()) return Forest{count, physical_links(topology, capacity), std::move(trees)};
  return pack(topology, count, capacity, std::vector<std::int64_t>(at(topology.host_count()), count.trees));
}

Result<Forest> broadcast_forest(const Topology& topology, NodeId root) {
  if (Status status = check_connected(topology); !status) return status.error();
  if (root < 0 || root >= topology.host_count()) return Error{"node " + std::to_string(root) + " is no host"};
  std::vector<std::int64_t> width = link_widths(topology).width;
  FlowNetwork network(topology.node_count());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    network.add_arc(topology.link(id).from, topology.link(id).to, width[at(id)]);
  }
  std::int64_t rate = FlowNetwork::infinite;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    if (host != root) rate = std::min(rate, network.run(root, host, rate));
  }
  const std::int64_t divisor =
      std::accumulate(width.begin(), width.end(), rate, [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
  for (std::int64_t& value : width) value /= divisor;
  std::vector<std::int64_t> demand(at(topology.host_count()), 0);
  demand[at(root)] = rate / divisor;
  return pack(topology, {rate / divisor, Rational(1, divisor)}, width, demand);
}

Result<Forest> reduce_forest(const Topology& topology, NodeId root) {
  return broadcast_forest(transpose(topology), root);
}

Result<Schedule> plan_forestcoll_allgather(const Topology& topology, const PlanOptions& options) {
  Result<Allgather> made = make_allgather(topology, options);
  if (!made) return made.error();
  report(options, topology, made->target, made->target.count.inverse_rate(), made->schedule, made->schedule.steps);
  return std::move(made->schedule);
}

Result<Schedule> plan_forestcoll_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  Result<Allgather> made = make_transposed(topology, options, nullptr);
  if (!made) return made.error();
  Schedule schedule = mirrored(std::move(made->schedule), topology);
  report(options, topology, made->target, made->target.count.inverse_rate(), schedule, schedule.steps);
  return schedule;
}

Result<Schedule> plan_forestcoll_allreduce(const Topology& topology, const PlanOptions& options) {
  const Result<Allgather> gathering = make_allgather(topology, options);
  if (!gathering) return gathering.error();
  Result<Allgather> reducing = make_transposed(topology, options, &gathering.value());
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
  report(options, topology, gathering->target,
         reducing->target.count.inverse_rate() + gathering->target.count.inverse_rate(), *schedule,
         std::max(reduce_scatter.steps, gathering->schedule.steps));
  return schedule;
}

}  // namespace libcoll
