#include "planner/broadcast/bound/cut_bound.h"

#include <cstdint>
#include <vector>

#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::bound {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

/// Hosts to look at times links.
constexpr std::int64_t most_quick_work = 1 << 20;

Rational allgather_bound(const Topology& topology, const Effort& effort) {
  // All hosts are alike under translations: one of them sees the bottleneck.
  const std::vector<NodeId> sinks = translations(topology).empty() ? std::vector<NodeId>{} : std::vector<NodeId>{0};
  const Result<BottleneckCut> cut = forest_optimum(topology, sinks, nullptr, {}, effort);
  if (!cut || !cut->proven) return 0;
  const Rational unit(topology.unit_bandwidth_bytes_per_second(), link_widths(topology).unit);
  return Rational(degree(topology), topology.host_count()) * unit * cut->inverse_x();
}

Rational broadcast_bound(const Topology& topology, NodeId root) {
  const Result<Rational> bound = broadcast_bandwidth_bound(topology, root);
  return bound.ok() ? *bound : Rational(0);
}

template <class Bound>
Rational by_direction(const Topology& topology, Collective collective, const Bound& bound) {
  if (collective == Collective::allgather) return bound(topology);
  const Rational back = bound(transpose(topology));
  return collective == Collective::reduce_scatter ? back : bound(topology) + back;
}

}  // namespace

Rational cut_bound(const Topology& topology, Collective collective, NodeId root, const Effort& effort) {
  if (topology.host_count() < 2 || collective == Collective::alltoall) return 0;
  if (collective == Collective::broadcast) return broadcast_bound(topology, root);
  if (collective == Collective::reduce) return broadcast_bound(transpose(topology), root);
  return by_direction(topology, collective, [&](const Topology& graph) { return allgather_bound(graph, effort); });
}

Rational quick_cut_bound(const Topology& topology, Collective collective, NodeId root) {
  if (collective == Collective::alltoall) return 0;
  const bool quick = std::int64_t{topology.host_count()} * topology.link_count() <= most_quick_work;
  if (quick) {
    Rational bound = cut_bound(topology, collective, root);
    if (bound > Rational(0)) return bound;
  }
  if (is_rooted(collective)) return 0;
  return by_direction(topology, collective, [](const Topology& graph) { return allgather_bandwidth_bound(graph); });
}

}  // namespace libcoll::broadcast::bound
