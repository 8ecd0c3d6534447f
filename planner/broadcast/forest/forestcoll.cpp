#include "planner/broadcast/forest/forestcoll.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "planner/base/index.h"
#include "planner/broadcast/forest/fallback_trees.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

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

// Shares of the time there is. Of all of it, before routes get layers and classes:
constexpr double time_for_phase = 0.85;
// Of a phase:
constexpr double time_for_figures = 0.5;  // 1/x* and the number of trees
// Of what is left of it then:
constexpr double time_for_quick = 0.3;  // plans to fall back on
constexpr double least_time_for_proofs = 0.6;
constexpr double most_time_for_proofs = 0.95;
constexpr double least_time_for_trees = 0.8;  // with or without proofs; transfers take the rest
constexpr double most_time_for_trees = 0.98;
constexpr double layouts_by_quick =
    20;  // what is to be done after the proofs takes so many times the quick plans' time

Effort part_of(const Effort& whole, double share) { return {whole.deadline.part(share), whole.threads}; }

Error too_late(const Topology& topology, const std::string& what) {
  return Error{"forestcoll on " + topology.name() + ": the time was over before " + what +
               ": allow more, or take another planner"};
}

Error too_many(const Topology& topology, const TreeCount& count) {
  return Error{"forestcoll on " + topology.name() + ": " + std::to_string(count.trees) +
               " trees per root are too many to compute with, expected fewer (--trees, --max-chunks)"};
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
  Result<Packing> packing = pack_out_trees(arcs_of(forest.links), demand, effort);
  if (!packing && effort.deadline.passed() && !effort.end.passed()) {
    // Switches split off without proof have cut the fabric in pieces.
    forest.links = ways_between_hosts(topology, capacity);
    packing = pack_out_trees(arcs_of(forest.links), demand, effort);
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

  /// False when it was given up at the end of the time.
  bool run(const Deadline& end) {
    std::vector<std::int64_t> begin(at(schedule_.topology.host_count()), 0);
    for (const OutTree& tree : forest_.trees) {
      if (end.passed()) return false;
      for (const TreeEdge& edge : tree.edges) {
        append(tree, edge, begin[at(tree.root)]);
        schedule_.steps = std::max(schedule_.steps, edge.depth);
      }
      begin[at(tree.root)] += tree.count;
    }
    sort_transfers(schedule_);
    merge();
    return true;
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
  const std::int64_t root_count = roots.empty() ? topology.host_count() : std::ssize(roots);
  if (optimal.trees <= limit && trees_fit(target.widths, optimal, root_count)) return optimal;
  if (limit > most_trees_scanned) return enough_trees(topology, inverse_x, limit, roots, effort);
  return best_small_trees(topology, inverse_x, limit, roots, effort);
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
Rational load_of(const Topology& topology, const LinkWidths& widths, const Rational& inverse_x) {
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

/// An allgather or a broadcast; routes have neither layers nor classes yet.
struct Planned {
  Target target;
  Schedule schedule;
  std::int64_t unproven = 0;  ///< trees, see Forest
  std::string method;         ///< empty: the forest that was asked for
};

/// False when it was given up at the end of the time.
bool lower(const Forest& forest, const Deadline& end, Planned& planned) {
  Schedule& schedule = planned.schedule;
  planned.unproven = forest.unproven;
  if (forest.unproven > 0) planned.method = "trees without proof";
  if (!Lowering(schedule, forest).run(end)) return false;
  // With a given number of trees no link need be as full as it may be.
  schedule.proof.max_link_load = max_link_load(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  return true;
}

/// Routes keep apart what could block each other.
void finish_routes(Schedule& schedule) {
  assign_layers(schedule.topology, schedule.routes);
  assign_route_classes(schedule.topology, schedule.routes);
}

Result<Planned> make_forest(const Topology& topology, Planned made, const Effort& effort) {
  const Schedule& schedule = made.schedule;
  const Result<Forest> forest = is_rooted(schedule.collective)
                                    ? broadcast_forest(topology, schedule.root, made.target.count, effort)
                                    : allgather_forest(topology, made.target.count, effort);
  if (!forest) return forest.error();
  if (!lower(*forest, effort.end, made)) return too_late(topology, "the trees were laid out");
  return made;
}

/// Trees of another algorithm, with the certificate of the target.
Result<Planned> make_quick(const Topology& topology, const PlanOptions& options, const Planned& wanted,
                           const Deadline& deadline) {
  const Schedule& schedule = wanted.schedule;
  const Rational least = load_of(topology, wanted.target.widths, wanted.target.cut.inverse_x());
  Result<QuickPlan> quick = is_rooted(schedule.collective) ? quick_broadcast(topology, options)
                                                           : quick_allgather(topology, least, options, deadline);
  if (!quick) return quick.error();
  Planned made{wanted.target, std::move(quick->schedule), 0, std::string(quick->method)};
  made.schedule.algorithm = schedule.algorithm;
  made.schedule.proof.bandwidth_bound = schedule.proof.bandwidth_bound;
  const Rational inverse_rate =
      made.schedule.proof.max_link_load / load_of(topology, wanted.target.widths, Rational(1));
  const std::int64_t trees = made.schedule.chunks_per_shard;
  made.target.count = {trees, inverse_rate * Rational(trees), false};
  made.unproven = trees * shards_in_vector(made.schedule);
  return made;
}

/// The forest if it is done in time, else the better one of what has become of it and a quick plan.
Result<Planned> make_forest_in_time(const Topology& topology, const PlanOptions& options, const Planned& wanted,
                                    const Effort& effort) {
  const double before = effort.deadline.remaining();
  Result<Planned> quick = make_quick(topology, options, wanted, effort.deadline.part(time_for_quick));
  if (!quick) return quick.error();
  const double left = effort.deadline.remaining();
  const double rest = layouts_by_quick * (before - left) / left;
  const Effort trees{effort.deadline.part(std::clamp(1 - rest, least_time_for_proofs, most_time_for_proofs)),
                     effort.threads,
                     effort.deadline.part(std::clamp(1 - rest / 2, least_time_for_trees, most_time_for_trees))};
  Result<Planned> forest = make_forest(topology, wanted, trees);
  if (!forest) return trees.deadline.passed() ? std::move(quick) : std::move(forest);
  const bool slower = quick->schedule.proof.bandwidth_time <= forest->schedule.proof.bandwidth_time;
  return forest->unproven > 0 && slower ? std::move(quick) : std::move(forest);
}

/// `effort`: for all of this phase.
Result<Planned> make_phase(Collective collective, const Topology& topology, const PlanOptions& options,
                           const Effort& effort) {
  const bool rooted = is_rooted(collective);
  if (Status status = rooted ? check_root(topology, options.root) : Status(); !status) return status.error();
  const std::span<const NodeId> roots = rooted ? std::span(&options.root, 1) : std::span<const NodeId>();
  const Effort figures{effort.deadline.part(options.schedule ? time_for_figures : 1), effort.threads};
  Result<Target> target = make_target(topology, options, figures, roots);
  if (!target) return target.error();
  Planned wanted{std::move(target).value(), {}, 0, {}};
  wanted.schedule = empty_schedule(collective, rooted ? options.root : 0, topology, wanted.target);
  if (!options.schedule) return wanted;
  if (effort.deadline.limited()) return make_forest_in_time(topology, options, wanted, effort);
  return make_forest(topology, std::move(wanted), effort);
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

/// The allgather on the transpose that is wired alike, over the links back.
Planned turned_around(Planned here, const std::vector<LinkId>& opposite) {
  here.schedule.topology = transpose(here.schedule.topology);
  for (Route& route : here.schedule.routes) {
    for (LinkId& link : route.links) link = opposite[at(link)];
  }
  return here;
}

/// The reduce-scatter whose data goes the way of an allgather on the transpose backwards, routes as well; the reduction
/// of a broadcast.
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

/// What is to be said of the phases of a plan together.
struct Summary {
  Rational inverse_rate;
  std::int64_t unproven = 0;  ///< trees
  std::int32_t depth = 0;
  std::string method;  ///< empty: forests all through
};

Summary summary_of(const Planned& phase) {
  return {phase.target.count.inverse_rate(), phase.unproven, phase.schedule.steps, phase.method};
}

Summary together(const Summary& a, const Summary& b) {
  const auto name = [](const Summary& phase) {
    return phase.method.empty() ? std::string("forestcoll") : phase.method;
  };
  return {a.inverse_rate + b.inverse_rate, a.unproven + b.unproven, std::max(a.depth, b.depth),
          a.method == b.method ? a.method : name(a) + ", then " + name(b)};
}

void report(const PlanOptions& options, const Target& target, const Summary& summary, const Schedule& schedule) {
  if (options.figures == nullptr) return;
  const auto [unit, name] = decimal_unit(target.widths);
  const std::int64_t bandwidth = target.cut.bandwidth * (target.widths.unit / unit);
  const auto unit_bandwidth = static_cast<double>(target.widths.unit);
  PlanFigures& figures = *options.figures;
  figures.method = summary.method;
  figures.symmetry_order = target.symmetry;
  figures.more.emplace_back("inverse_x", std::to_string(target.cut.hosts) + "/" + std::to_string(bandwidth));
  figures.more.emplace_back("inverse_x_float", static_cast<double>(target.cut.hosts) / static_cast<double>(bandwidth));
  figures.more.emplace_back("inverse_x_unit", "1/(" + name + ")");
  figures.more.emplace_back("trees_per_root", target.count.trees);
  figures.more.emplace_back("tree_bandwidth", unit_bandwidth / target.count.scale.to_double());
  const double planned =
      static_cast<double>(shards_in_vector(schedule)) * unit_bandwidth / summary.inverse_rate.to_double();
  const double achieved = degree(schedule.topology) *
                          static_cast<double>(schedule.topology.unit_bandwidth_bytes_per_second()) /
                          schedule.proof.bandwidth_time.to_double();
  figures.more.emplace_back("algbw_bytes_per_second", summary.unproven > 0 ? achieved : planned);
  if (options.time_limit_seconds > 0) {
    const double bound = schedule.proof.bandwidth_bound.to_double();
    figures.more.emplace_back("trees_unproven", summary.unproven);
    figures.more.emplace_back("gap", bound > 0 ? schedule.proof.bandwidth_time.to_double() / bound - 1 : 0);
  }
  if (is_rooted(schedule.collective)) figures.more.emplace_back("bottleneck_outside", node_ranges(target.cut.outside));
  if (!schedule.transfers.empty()) figures.more.emplace_back("tree_depth_max", std::int64_t{summary.depth});
}

/// The mirror images are planned as what they mirror, on the transpose.
Result<Schedule> plan_one_phase(Collective collective, const Topology& topology, const PlanOptions& options) {
  const Effort effort = part_of(effort_of(options), time_for_phase);
  const bool mirror = collective == Collective::reduce_scatter || collective == Collective::reduce;
  const Collective phase = is_rooted(collective) ? Collective::broadcast : Collective::allgather;
  Result<Planned> made = make_phase(phase, mirror ? transpose(topology) : topology, options, effort);
  if (!made) return made.error();
  const Summary summary = summary_of(*made);
  Schedule schedule = mirror ? mirrored(std::move(made->schedule), topology) : std::move(made->schedule);
  finish_routes(schedule);
  report(options, made->target, summary, schedule);
  return schedule;
}

}  // namespace

Result<Forest> allgather_forest(const Topology& topology, const TreeCount& count, const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  const LinkWidths widths = link_widths(topology);
  if (!trees_fit(widths, count, topology.host_count())) return too_many(topology, count);
  const std::vector<std::int64_t> capacity = tree_capacities(widths, count.scale);
  std::vector<OutTree> trees = pack_by_translation(topology, capacity, count.trees, translations(topology));
  if (!trees.empty()) return Forest{count, physical_links(topology, capacity), std::move(trees), 0};
  return pack(topology, count, capacity, std::vector<std::int64_t>(at(topology.host_count()), count.trees), effort);
}

Result<Forest> broadcast_forest(const Topology& topology, NodeId root, const TreeCount& count, const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  if (Status status = check_root(topology, root); !status) return status.error();
  const LinkWidths widths = link_widths(topology);
  if (!trees_fit(widths, count, 1)) return too_many(topology, count);
  std::vector<std::int64_t> demand(at(topology.host_count()), 0);
  demand[at(root)] = count.trees;
  return pack(topology, count, tree_capacities(widths, count.scale), demand, effort);
}

Result<Schedule> plan_forestcoll_allgather(const Topology& topology, const PlanOptions& options) {
  return plan_one_phase(Collective::allgather, topology, options);
}

Result<Schedule> plan_forestcoll_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  return plan_one_phase(Collective::reduce_scatter, topology, options);
}

Result<Schedule> plan_forestcoll_allreduce(const Topology& topology, const PlanOptions& options) {
  const Effort whole = effort_of(options);
  const auto opposite = opposite_links(topology);
  const Result<Planned> gathering =
      make_phase(Collective::allgather, topology, options, part_of(whole, opposite ? time_for_phase : 0.5));
  if (!gathering) return gathering.error();
  Result<Planned> reducing =
      opposite ? turned_around(*gathering, *opposite)
               : make_phase(Collective::allgather, transpose(topology), options, part_of(whole, time_for_phase));
  if (!reducing) return reducing.error();
  const Summary summary = together(summary_of(*reducing), summary_of(*gathering));
  const Schedule reduce_scatter = mirrored(std::move(reducing->schedule), topology);
  Result<Schedule> schedule = concatenate(reduce_scatter, gathering->schedule);
  if (!schedule) return schedule.error();
  schedule->pipelined = true;
  finish_routes(*schedule);
  if (!options.schedule) {
    schedule->proof.max_link_load = reduce_scatter.proof.max_link_load + gathering->schedule.proof.max_link_load;
  }
  report(options, gathering->target, summary, *schedule);
  return schedule;
}

Result<Schedule> plan_forestcoll_broadcast(const Topology& topology, const PlanOptions& options) {
  return plan_one_phase(Collective::broadcast, topology, options);
}

Result<Schedule> plan_forestcoll_reduce(const Topology& topology, const PlanOptions& options) {
  return plan_one_phase(Collective::reduce, topology, options);
}

}  // namespace libcoll::broadcast::forest
