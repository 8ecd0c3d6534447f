#include "planner/broadcast/classic/recursive_doubling.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/broadcast/classic/pattern.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

/// Hosts from the largest power of two on and who stands in for them.
struct Core {
  explicit Core(std::int32_t hosts)
      : size(static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(hosts)))) {
    for (NodeId host = size; host < hosts; ++host) to_stand_in.emplace_back(host, host - size);
  }
  [[nodiscard]] Pairs from_stand_in() const {
    Pairs pairs;
    for (const auto& [host, other] : to_stand_in) pairs.emplace_back(other, host);
    return pairs;
  }

  std::int32_t size;
  Pairs to_stand_in;
};

/// Those beyond the core keep to themselves.
std::vector<NodeId> partners_at(std::int32_t hosts, const Core& core, std::int32_t distance) {
  std::vector<NodeId> partners(static_cast<std::size_t>(hosts));
  std::iota(partners.begin(), partners.end(), 0);
  for (NodeId host = 0; host < core.size; ++host) partners[static_cast<std::size_t>(host)] ^= distance;
  return partners;
}

Result<Pattern> exchanges_at(std::int32_t hosts, const std::vector<std::int32_t>& distances) {
  const Core core(hosts);
  Gathering gathering(hosts);
  if (!core.to_stand_in.empty()) gathering.supply(core.to_stand_in);
  for (const std::int32_t distance : distances) {
    if (const Status status = gathering.exchange(partners_at(hosts, core, distance)); !status) return status.error();
  }
  if (!core.to_stand_in.empty()) gathering.supply(core.from_stand_in());
  return gathering.finish();
}

std::vector<std::int32_t> powers_below(std::int32_t size) {
  std::vector<std::int32_t> powers;
  for (std::int32_t power = 1; power < size; power *= 2) powers.push_back(power);
  return powers;
}

Result<Pattern> doubling_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  return exchanges_at(topology.host_count(), powers_below(Core(topology.host_count()).size));
}

Result<Pattern> distance_halving_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  std::vector<std::int32_t> distances = powers_below(Core(topology.host_count()).size);
  std::reverse(distances.begin(), distances.end());
  return exchanges_at(topology.host_count(), distances);
}

/// One step in which whole vectors go between the pairs.
void send_vectors(Pattern& pattern, std::int32_t hosts, const Pairs& pairs, TransferKind kind) {
  ++pattern.steps;
  for (const auto& [from, to] : pairs) {
    for (ShardId shard = 0; shard < hosts; ++shard) {
      pattern.transfers.push_back({shard, 0, 1, from, to, pattern.steps, direct, kind});
    }
  }
}

}  // namespace

Result<Schedule> plan_recursive_doubling(Collective collective, const Topology& topology, const PlanOptions& options) {
  const char* name = collective == Collective::reduce_scatter ? "recursive-halving" : "recursive-doubling";
  return plan_by_pattern(doubling_pattern, collective, name, topology, options);
}

Result<Schedule> plan_halving_doubling(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(distance_halving_pattern, collective, "halving-doubling", topology, options);
}

Result<Schedule> plan_recursive_doubling_exchange(Collective collective, const Topology& topology,
                                                  const PlanOptions& options) {
  const std::int32_t hosts = topology.host_count();
  if (collective != Collective::allreduce) return Error{"the exchange of whole vectors is an allreduce"};
  const Core core(hosts);
  Pattern pattern;
  if (!core.to_stand_in.empty()) send_vectors(pattern, hosts, core.to_stand_in, TransferKind::reduce);
  for (const std::int32_t distance : powers_below(core.size)) {
    Pairs pairs;
    for (NodeId host = 0; host < core.size; ++host) pairs.emplace_back(host, host ^ distance);
    send_vectors(pattern, hosts, pairs, TransferKind::reduce);
  }
  if (!core.to_stand_in.empty()) send_vectors(pattern, hosts, core.from_stand_in(), TransferKind::copy);
  return lay_out(topology, collective, "recursive-doubling", std::move(pattern), options);
}

}  // namespace libcoll::broadcast::classic
