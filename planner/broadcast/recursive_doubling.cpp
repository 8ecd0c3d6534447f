#include "planner/broadcast/recursive_doubling.h"

#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "planner/broadcast/pattern.h"

namespace libcoll {
namespace {

Status check_power_of_two(std::int32_t hosts) {
  if (std::has_single_bit(static_cast<std::uint32_t>(hosts))) return {};
  return Error{"found " + std::to_string(hosts) + " hosts, expected a power of two"};
}

std::vector<NodeId> partners_at(std::int32_t hosts, std::int32_t distance) {
  std::vector<NodeId> partners(static_cast<std::size_t>(hosts));
  std::iota(partners.begin(), partners.end(), 0);
  for (NodeId& partner : partners) partner ^= distance;
  return partners;
}

Result<Pattern> doubling_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const std::int32_t hosts = topology.host_count();
  if (const Status status = check_power_of_two(hosts); !status) return status.error();
  Gathering gathering(hosts);
  for (std::int32_t distance = 1; distance < hosts; distance *= 2) {
    if (const Status status = gathering.exchange(partners_at(hosts, distance)); !status) return status.error();
  }
  return gathering.finish();
}

Result<Pattern> distance_halving_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const std::int32_t hosts = topology.host_count();
  if (const Status status = check_power_of_two(hosts); !status) return status.error();
  Gathering gathering(hosts);
  for (std::int32_t distance = hosts / 2; distance > 0; distance /= 2) {
    if (const Status status = gathering.exchange(partners_at(hosts, distance)); !status) return status.error();
  }
  return gathering.finish();
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
  if (const Status status = check_power_of_two(hosts); !status) {
    return Error{"recursive-doubling on " + topology.name() + ": " + status.error().message};
  }
  Pattern pattern;
  for (std::int32_t distance = 1; distance < hosts; distance *= 2) {
    ++pattern.steps;
    for (NodeId host = 0; host < hosts; ++host) {
      for (ShardId shard = 0; shard < hosts; ++shard) {
        pattern.transfers.push_back({shard, 0, 1, host, host ^ distance, pattern.steps, direct, TransferKind::reduce});
      }
    }
  }
  return lay_out(topology, collective, "recursive-doubling", std::move(pattern), options);
}

}  // namespace libcoll
