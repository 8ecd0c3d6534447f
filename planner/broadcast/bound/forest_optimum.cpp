#include "planner/broadcast/bound/forest_optimum.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>

#include "planner/base/index.h"
#include "planner/base/work_sharing.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::bound {

using namespace registry;
using namespace topology;

namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t largest_sum = std::int64_t{1} << 61;
// Arcs times questions; starting threads costs more than the flows of less.
constexpr std::size_t least_work_for_threads = 1 << 16;

std::vector<CapacityArc> arcs_of(const Topology& topology) {
  std::vector<CapacityArc> arcs;
  arcs.reserve(topology.links().size());
  for (const Link& link : topology.links()) arcs.push_back({link.from, link.to, 0});
  return arcs;
}

/// A cut by what counts of it: how many roots are on the source's side, and the links that leave it.
struct Cut {
  std::int64_t hosts = 0;  ///< with trees of their own
  std::vector<std::int64_t> widths;
  std::vector<NodeId> outside;
  [[nodiscard]] std::int64_t width() const { return std::accumulate(widths.begin(), widths.end(), std::int64_t{0}); }
};

/// The auxiliary network of a topology with all capacities to be set.
class OptimumSearch {
 public:
  /// Trees are rooted at `roots`; empty: at all hosts.
  explicit OptimumSearch(const Topology& topology, std::span<const NodeId> roots = {})
      : topology_(topology),
        widths_(link_widths(topology)),
        roots_(roots.begin(), roots.end()),
        network_(topology.node_count(), arcs_of(topology), std::vector<std::int64_t>(hosts(), 0)) {
    if (!roots_.empty()) return;
    roots_.resize(hosts());
    std::iota(roots_.begin(), roots_.end(), 0);
  }

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] std::size_t hosts() const { return at(topology_.host_count()); }
  [[nodiscard]] const LinkWidths& widths() const { return widths_; }

  /// Fails when (Σ capacities) could leave 63 bits, capacities being `per_width` times the widths.
  [[nodiscard]] bool fits(Wide per_width, Wide demand) const {
    const Wide total = std::accumulate(widths_.width.begin(), widths_.width.end(), Wide{0});
    return total * per_width < largest_sum && demand * static_cast<Wide>(hosts()) < largest_sum;
  }

  void set_demand(std::int64_t demand) {
    for (const NodeId root : roots_) network_.set_demand(root, demand);
  }
  template <class Capacity>
  void set_capacities(const Capacity& capacity) {
    for (std::size_t link = 0; link < widths_.width.size(); ++link) {
      network_.set_capacity(link, capacity(widths_.width[link]));
    }
  }
  ForestNetwork& network() { return network_; }
  /// The cut that kept a host from being served.
  [[nodiscard]] Cut violated(const std::vector<bool>& sink_side) const {
    Cut cut;
    for (const NodeId root : roots_) {
      if (!sink_side[at(root)]) ++cut.hosts;
    }
    for (NodeId node = 0; node < topology_.node_count(); ++node) {
      if (sink_side[at(node)]) cut.outside.push_back(node);
    }
    for (LinkId id = 0; id < topology_.link_count(); ++id) {
      const Link& link = topology_.link(id);
      if (!sink_side[at(link.from)] && sink_side[at(link.to)]) {
        cut.widths.push_back(widths_.width[at(id)]);
      }
    }
    return cut;
  }

  /// The cut around one host, which bounds U and 1/x from below.
  [[nodiscard]] Cut around(NodeId host) const {
    Cut cut;
    cut.hosts = std::count_if(roots_.begin(), roots_.end(), [host](NodeId root) { return root != host; });
    for (const LinkId link : topology_.in_links(host)) cut.widths.push_back(widths_.width[at(link)]);
    cut.outside = {host};
    return cut;
  }

 private:
  const Topology& topology_;
  LinkWidths widths_;
  std::vector<NodeId> roots_;
  ForestNetwork network_;
};

Error too_fine(const Topology& topology) {
  return Error{"the bandwidths of " + topology.name() +
               " have no common unit that is coarse enough for exact arithmetic: round them"};
}

/// Whether all hosts are served now; false when the deadline came first. `raise` makes room for a cut and says whether
/// that could be done; the host behind the cut is asked again then, those before it need no second visit. Error when no
/// room could be made.
template <class Raise>
Result<bool> serve_all(OptimumSearch& search, std::span<const NodeId> hosts, const Effort& effort, const Raise& raise) {
  for (;;) {
    const auto unserved = unserved_hosts(search.network(), hosts, 1, effort);
    if (!unserved) return false;
    if (unserved->empty()) return true;
    hosts = hosts.subspan(unserved->front().position);
    if (!raise(search.violated(unserved->front().sink_side))) return too_fine(search.topology());
  }
}

/// More than `largest_sum` do not fit anywhere.
std::int64_t floor_of(const Rational& scale, std::int64_t width) {
  return std::min(scale.floor(width).value_or(largest_sum), largest_sum);
}

/// The least U with Σ ⌊U·width⌋ >= wanted over a cut's links: from below, one link's next whole tree after the other.
Rational least_scale(const Cut& cut, std::int64_t wanted) {
  std::map<std::int64_t, std::int64_t> count;
  for (const std::int64_t width : cut.widths) ++count[width];
  Rational scale(wanted, cut.width());
  for (;;) {
    Wide fitting = 0;
    Rational next(0);
    for (const auto& [width, links] : count) {
      const std::int64_t trees = std::min(floor_of(scale, width), wanted);
      fitting += std::min(links * Wide{trees}, Wide{wanted});
      if (fitting >= wanted) return scale;
      const Rational larger(trees + 1, width);
      if (next == Rational(0) || larger < next) next = larger;
    }
    scale = next;
  }
}

}  // namespace

LinkWidths link_widths(const Topology& topology) {
  LinkWidths widths;
  std::int64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth_bytes_per_second);
  widths.unit = std::max<std::int64_t>(unit, 1);
  for (const Link& link : topology.links()) widths.width.push_back(link.bandwidth_bytes_per_second / widths.unit);
  return widths;
}

ForestNetwork::ForestNetwork(std::int32_t vertices, std::span<const CapacityArc> arcs,
                             std::span<const std::int64_t> demand)
    : source_(vertices), network_(vertices + 1) {
  for (const CapacityArc& arc : arcs) network_.add_arc(arc.from, arc.to, arc.capacity);
  for (std::size_t host = 0; host < demand.size(); ++host) {
    demand_arcs_.push_back(network_.add_arc(source_, static_cast<std::int32_t>(host), demand[host]));
    total_ += demand[host];
  }
}

void ForestNetwork::set_capacity(std::size_t arc, std::int64_t capacity) {
  network_.set_capacity(static_cast<std::int32_t>(arc), capacity);
}

void ForestNetwork::set_demand(NodeId host, std::int64_t demand) {
  const std::int32_t arc = demand_arcs_[at(host)];
  total_ += demand - network_.capacity(arc);
  network_.set_capacity(arc, demand);
}

std::vector<bool> ForestNetwork::sink_side() const {
  std::vector<bool> side(at(source_));
  for (NodeId node = 0; node < source_; ++node) side[at(node)] = on_sink_side(node);
  return side;
}

std::int32_t workers_for(std::int32_t arcs, std::size_t flows, const Effort& effort) {
  return at(arcs) * flows < least_work_for_threads ? 1 : effort.threads;
}

bool ForestNetwork::serves(NodeId host, bool to_the_end) {
  return network_.run(source_, host, to_the_end ? FlowNetwork::infinite : total_) == total_;
}

std::int64_t ForestNetwork::flow_with(NodeId node, NodeId host, std::int64_t limit) {
  const std::int32_t arc = demand_arcs_[at(node)];
  const std::int64_t demand = network_.capacity(arc);
  network_.set_capacity(arc, FlowNetwork::infinite);
  const std::int64_t flow = network_.run(source_, host, limit);
  network_.set_capacity(arc, demand);
  return flow;
}

std::optional<std::vector<UnservedHost>> unserved_hosts(ForestNetwork& network, std::span<const NodeId> hosts,
                                                        std::size_t most, const Effort& effort) {
  const std::int32_t workers = workers_for(network.arc_count(), hosts.size(), effort);
  std::vector<ForestNetwork> copies(at(workers) - 1, network);
  std::vector<std::vector<bool>> sink_sides(hosts.size());
  std::atomic<bool> late{false};
  const auto served = [&](std::int32_t worker, std::size_t position) {
    if (late || effort.deadline.passed()) {
      late = true;
      return true;
    }
    ForestNetwork& mine = worker == 0 ? network : copies[at(worker) - 1];
    if (mine.serves(hosts[position])) return true;
    sink_sides[position] = mine.sink_side();
    return false;
  };
  std::vector<UnservedHost> result;
  for (const std::size_t position : first_failures(workers, hosts.size(), most, served)) {
    result.push_back({position, std::move(sink_sides[position])});
  }
  if (late) return std::nullopt;
  return result;
}

Result<BottleneckCut> forest_optimum(const Topology& topology, std::span<const NodeId> sinks, std::int32_t* rounds,
                                     std::span<const NodeId> roots, const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  OptimumSearch search(topology, roots);
  if (!search.fits(1, 1)) return too_fine(topology);
  std::vector<NodeId> all;
  if (sinks.empty()) {
    all.resize(search.hosts());
    std::iota(all.begin(), all.end(), 0);
    sinks = all;
  }
  BottleneckCut best;
  const auto raise_to = [&](const Cut& cut) {
    best = {cut.hosts, cut.width(), cut.outside, true};
    if (rounds != nullptr) ++*rounds;
    const Rational inverse = best.inverse_x();
    if (!search.fits(inverse.numerator(), inverse.denominator())) return false;
    search.set_demand(inverse.denominator());
    search.set_capacities([&](std::int64_t width) { return width * inverse.numerator(); });
    return true;
  };
  Cut first = search.around(sinks.front());
  for (const NodeId sink : sinks) {
    Cut cut = search.around(sink);
    if (Rational(cut.hosts, cut.width()) > Rational(first.hosts, first.width())) first = std::move(cut);
  }
  if (!raise_to(first)) return too_fine(topology);
  const Result<bool> proven = serve_all(search, sinks, effort, raise_to);
  if (!proven) return proven.error();
  best.proven = *proven;
  return best;
}

TreeCount optimal_trees(const Rational& inverse_x, const LinkWidths& widths) {
  std::int64_t divisor = inverse_x.denominator();
  for (const std::int64_t width : widths.width) divisor = std::gcd(divisor, width);
  return {inverse_x.denominator() / divisor, Rational(inverse_x.numerator(), divisor)};
}

bool trees_fit(const LinkWidths& widths, const TreeCount& count, std::int64_t roots) {
  Wide total = 0;
  for (const std::int64_t width : widths.width) total += floor_of(count.scale, width);
  return total < largest_sum && Wide{count.trees} * roots < largest_sum;
}

std::vector<std::int64_t> tree_capacities(const LinkWidths& widths, const Rational& scale) {
  std::vector<std::int64_t> capacities;
  capacities.reserve(widths.width.size());
  for (const std::int64_t width : widths.width) capacities.push_back(floor_of(scale, width));
  return capacities;
}

Result<TreeCount> fixed_trees(const Topology& topology, std::int64_t trees, std::span<const NodeId> roots,
                              const Effort& effort) {
  if (Status status = check_connected(topology); !status) return status.error();
  OptimumSearch search(topology, roots);
  if (!search.fits(1, trees)) return too_fine(topology);
  Rational scale(0);
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const Cut cut = search.around(host);
    scale = std::max(scale, least_scale(cut, cut.hosts * trees));
  }
  const auto apply = [&] {
    if (!search.fits(Wide{floor_of(scale, 1)} + 1, trees)) return false;
    search.set_capacities([&](std::int64_t width) { return floor_of(scale, width); });
    return true;
  };
  search.set_demand(trees);
  if (!apply()) return too_fine(topology);
  std::vector<NodeId> hosts(search.hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  const Result<bool> proven = serve_all(search, hosts, effort, [&](const Cut& cut) {
    scale = least_scale(cut, cut.hosts * trees);
    return apply();
  });
  if (!proven) return proven.error();
  return TreeCount{trees, scale, *proven};
}

Result<TreeCount> best_small_trees(const Topology& topology, const Rational& inverse_x, std::int64_t most,
                                   std::span<const NodeId> roots, const Effort& effort) {
  TreeCount best;
  for (std::int64_t trees = 1; trees <= most; ++trees) {
    const Result<TreeCount> found = fixed_trees(topology, trees, roots, effort);
    if (!found) return found.error();
    if (best.trees > 0 && !found->proven) break;
    if (best.trees == 0 || found->inverse_rate() < best.inverse_rate()) best = *found;
    if (best.inverse_rate() == inverse_x) break;
  }
  return best;
}

Result<TreeCount> enough_trees(const Topology& topology, const Rational& inverse_x, std::int64_t most,
                               std::span<const NodeId> roots, const Effort& effort) {
  constexpr std::int64_t small = 10;  // what paper 004 §4.5 scans
  const Rational enough = inverse_x * Rational(501, 500);
  Result<TreeCount> best = best_small_trees(topology, inverse_x, std::min(most, small), roots, effort);
  for (std::int64_t trees = 16; best.ok() && trees <= most && best->inverse_rate() > enough; trees *= 2) {
    const Result<TreeCount> found = fixed_trees(topology, trees, roots, effort);
    if (!found || !found->proven) break;  // too many to compute with, or no time for more
    if (found->inverse_rate() < best->inverse_rate()) best = found;
  }
  return best;
}

Status check_root(const Topology& topology, NodeId root) {
  if (root >= 0 && root < topology.host_count()) return {};
  const std::string hosts = "hosts 0 to " + std::to_string(topology.host_count() - 1);
  const bool is_switch = root >= 0 && root < topology.node_count();
  return Error{"the root, node " + std::to_string(root) + (is_switch ? ", is a switch" : ", does not exist") +
               ": expected one of the " + hosts};
}

Result<Rational> broadcast_bandwidth_bound(const Topology& topology, NodeId root) {
  if (Status status = check_root(topology, root); !status) return status.error();
  const Result<BottleneckCut> cut = forest_optimum(topology, {}, nullptr, std::span(&root, 1));
  if (!cut) return cut.error();
  const Rational unit(topology.unit_bandwidth_bytes_per_second(), link_widths(topology).unit);
  return Rational(degree(topology)) * unit * cut->inverse_x();
}

}  // namespace libcoll::broadcast::bound
