// The optimum of ForestColl (paper 004 §4.2, §4.5, appendices C.1 and C.4): how fast the best forest can be.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/broadcast/bound/flow_network.h"
#include "planner/registry/effort.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::bound {

/// Link bandwidths as integers: width[e] · unit = bandwidth of link e in bytes per second, unit as large as it can be.
struct LinkWidths {
  std::vector<std::int64_t> width;
  std::int64_t unit = 1;
};
LinkWidths link_widths(const topology::Topology& topology);

/// What one link may carry: `capacity` trees from→to.
struct CapacityArc {
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int64_t capacity = 0;
  friend bool operator==(const CapacityArc&, const CapacityArc&) = default;
};

/// The auxiliary network of Fig. 3b: a source with an arc to every host, whose capacity is the number of trees that
/// are to be rooted there. By Theorem 5 (and Edmonds' theorem for unequal numbers) the trees exist if and only if every
/// host can take in the flow of all of them.
class ForestNetwork {
 public:
  /// `vertices` are hosts 0..demand.size()-1 and then switches; `arcs` have different ends. Sums must stay below 2^61.
  ForestNetwork(std::int32_t vertices, std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand);

  void set_capacity(std::size_t arc, std::int64_t capacity);  ///< arc: position in the constructor's `arcs`
  void set_demand(topology::NodeId host, std::int64_t demand);
  [[nodiscard]] std::int64_t total_demand() const { return total_; }

  /// Whether the flow of all demands can arrive at this host. When not, and with `to_the_end` also when it can,
  /// on_sink_side() tells the cut closest to the host.
  bool serves(topology::NodeId host, bool to_the_end = false);
  [[nodiscard]] bool on_sink_side(topology::NodeId node) const { return network_.on_sink_side(node); }
  [[nodiscard]] std::vector<bool> sink_side() const;  ///< the same of every vertex
  [[nodiscard]] std::int32_t arc_count() const { return network_.arc_count(); }

  /// The flow from the demands' source joined with `node` to `host`, or `limit` when it is at least that.
  std::int64_t flow_with(topology::NodeId node, topology::NodeId host, std::int64_t limit);

 private:
  std::int32_t source_;
  std::int64_t total_ = 0;
  FlowNetwork network_;
  std::vector<std::int32_t> demand_arcs_;
};

/// How many threads are worth their start for so many flows in a network of so many arcs.
std::int32_t workers_for(std::int32_t arcs, std::size_t flows, const registry::Effort& effort);

/// A host that cannot take in the flow of all demands.
struct UnservedHost {
  std::size_t position = 0;     ///< in the list that was asked about
  std::vector<bool> sink_side;  ///< by vertex: the cut closest to the host
};

/// The first hosts of the list that the network does not serve, at most `most`, ascending by position. Nothing when the
/// deadline came first. `network` is left in the state of some question.
std::optional<std::vector<UnservedHost>> unserved_hosts(ForestNetwork& network, std::span<const topology::NodeId> hosts,
                                                        std::size_t most, const registry::Effort& effort);

/// The bottleneck cut of an allgather: S with 1/x* = |S ∩ Vc| / B+(S). Of a forest with given roots, |S ∩ roots|.
struct BottleneckCut {
  std::int64_t hosts = 0;                 ///< |S ∩ Vc|
  std::int64_t bandwidth = 0;             ///< B+(S) in LinkWidths::unit
  std::vector<topology::NodeId> outside;  ///< the nodes that are not in S, ascending: the certificate
  bool proven = true;                     ///< false: the deadline came before the proof that no cut is narrower
  [[nodiscard]] Rational inverse_x() const { return {hosts, bandwidth}; }
};

/// The optimum (1): max over cuts S that leave out some host of |S ∩ Vc| / B+(S), by Newton's method: the minimum cut
/// that the present x violates is the next candidate, and no host needs a second visit once it is served. `rounds`,
/// when not null, counts the candidates. `sinks`: the hosts to look at (one of every orbit is enough); empty: all.
/// `roots`: where trees are to be rooted, equally many each; empty: at all hosts. With a single root 1/x* is
/// 1 / (the least max-flow from the root to a host), the optimum of a broadcast (Edmonds). After the deadline the
/// narrowest cut so far.
/// Error when some host cannot reach another or bandwidths have no workable common unit.
Result<BottleneckCut> forest_optimum(const topology::Topology& topology, std::span<const topology::NodeId> sinks = {},
                                     std::int32_t* rounds = nullptr, std::span<const topology::NodeId> roots = {},
                                     const registry::Effort& effort = {});

/// k trees per root, each of bandwidth y = 1/scale (in LinkWidths::unit); a link of width b carries ⌊b·scale⌋ of them.
struct TreeCount {
  std::int64_t trees = 0;
  Rational scale;      ///< U of the paper
  bool proven = true;  ///< false: the deadline came before the proof that the trees exist
  /// T·N/M in 1/unit: k trees of bandwidth 1/U carry a shard. Equal to 1/x* when the trees are optimal.
  [[nodiscard]] Rational inverse_rate() const { return scale / Rational(trees); }
};

/// The least k with which the optimum is reached, and its U (Proposition 3).
TreeCount optimal_trees(const Rational& inverse_x, const LinkWidths& widths);

/// Whether flows of so many trees can be computed: all capacities together, and all demands, stay below 2^61.
bool trees_fit(const LinkWidths& widths, const TreeCount& count, std::int64_t roots);

/// The best U for a given k (Theorem 14): the least one with which k trees per root fit into the capacities ⌊U·b⌋.
/// Newton's method as above, and `roots` as above. After the deadline U is what the cuts so far ask for. Preconditions:
/// trees > 0. Errors as for forest_optimum.
Result<TreeCount> fixed_trees(const topology::Topology& topology, std::int64_t trees,
                              std::span<const topology::NodeId> roots = {}, const registry::Effort& effort = {});

/// A number of trees up to `most` whose rate is within 1/500 of the optimum, or the best there is: the best small one
/// (below), then 16, 32, 64, … Errors as above.
Result<TreeCount> enough_trees(const topology::Topology& topology, const Rational& inverse_x, std::int64_t most,
                               std::span<const topology::NodeId> roots = {}, const registry::Effort& effort = {});

/// The best of k = 1..most, the least k of equals (paper 004 §4.5 scans a small range of k); of those looked at before
/// the deadline, at least k = 1. Errors as above.
Result<TreeCount> best_small_trees(const topology::Topology& topology, const Rational& inverse_x, std::int64_t most,
                                   std::span<const topology::NodeId> roots = {}, const registry::Effort& effort = {});

/// The lower bound on T_B of a broadcast from this host, in M/B: d·b over the least max-flow from the root to a host
/// (Edmonds; paper 004 names it as a by-product). Of a reduction to it: pass the transpose. Errors as for
/// forest_optimum, or when the root is no host (check_root).
Result<Rational> broadcast_bandwidth_bound(const topology::Topology& topology, topology::NodeId root);

/// Refuses a root that does not exist or is a switch.
Status check_root(const topology::Topology& topology, topology::NodeId root);

/// ⌊scale · width⌋ for every link, 2^61 where it is more.
std::vector<std::int64_t> tree_capacities(const LinkWidths& widths, const Rational& scale);

}  // namespace libcoll::broadcast::bound
