#include "planner/broadcast/classic/bruck.h"

#include <algorithm>

#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Result<Pattern> bruck_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const std::int32_t hosts = topology.host_count();
  Pattern pattern;
  for (std::int32_t held = 1; held < hosts; held *= 2) {
    ++pattern.steps;
    for (NodeId from = 0; from < hosts; ++from) {
      for (std::int32_t i = 0; i < std::min(held, hosts - held); ++i) {
        pattern.transfers.push_back(
            {(from + i) % hosts, 0, 1, from, (from + hosts - held) % hosts, pattern.steps, direct, TransferKind::copy});
      }
    }
  }
  return pattern;
}

}  // namespace

Pattern bruck_index_pattern(std::int32_t hosts, std::int32_t radix) {
  const auto modulo = [hosts](std::int64_t host) { return static_cast<NodeId>(host % hosts); };
  Pattern pattern;
  for (std::int64_t place = 1; place < hosts; place *= radix) {
    ++pattern.steps;
    for (NodeId source = 0; source < hosts; ++source) {
      for (std::int64_t offset = 1; offset < hosts; ++offset) {
        const std::int64_t digit = offset / place % radix;
        if (digit == 0) continue;
        const NodeId from = modulo(source + offset % place);
        pattern.transfers.push_back({source * hosts + modulo(source + offset), 0, 1, from, modulo(from + digit * place),
                                     pattern.steps, direct, TransferKind::copy});
      }
    }
  }
  return pattern;
}

Result<Schedule> plan_bruck_alltoall(const Topology& topology, const PlanOptions& options) {
  Result<Schedule> schedule =
      lay_out(topology, Collective::alltoall, "bruck", bruck_index_pattern(topology.host_count(), 2), options);
  if (!schedule) return schedule.error();
  // Links of capacity cap carry all blocks over at least their shortest ways.
  const DistanceMatrix distances = hop_distances(topology);
  const auto hosts = static_cast<std::size_t>(topology.host_count());
  std::int64_t hops = 0;
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = 0; to < hosts; ++to) hops += distances[from][to];
  }
  Rational capacity;
  for (LinkId link = 0; link < topology.link_count(); ++link) capacity += topology.capacity(link);
  Proof& proof = schedule->proof;
  proof.bandwidth_bound = Rational(degree(topology), topology.host_count()) * Rational(hops) / capacity;
  proof.flow = 1 / proof.max_link_load.to_double();
  proof.flow_upper_bound = (capacity / Rational(hops)).to_double();
  return schedule;
}

Result<Schedule> plan_bruck(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(bruck_pattern, collective, "bruck", topology, options);
}

}  // namespace libcoll::broadcast::classic
