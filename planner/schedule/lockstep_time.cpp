#include "planner/schedule/lockstep_time.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace libcoll::schedule {

using namespace topology;

LockstepTime lockstep_time(const Schedule& schedule) {
  const Topology& topology = schedule.topology;
  std::vector<std::int32_t> hops(static_cast<std::size_t>(schedule.steps), 0);
  std::vector<double> latency(static_cast<std::size_t>(schedule.steps), 0);
  for (const Transfer& transfer : schedule.transfers) {
    std::int32_t links = 1;
    double seconds = 0;
    if (transfer.route == direct) {
      seconds = topology.link(topology.find_link(transfer.from, transfer.to)).latency_seconds;
    } else {
      const Route& route = schedule.routes[static_cast<std::size_t>(transfer.route)];
      links = static_cast<std::int32_t>(route.links.size());
      for (const LinkId link : route.links) seconds += topology.link(link).latency_seconds;
    }
    const std::size_t step = static_cast<std::size_t>(transfer.step) - 1;
    hops[step] = std::max(hops[step], links);
    latency[step] = std::max(latency[step], seconds);
  }
  LockstepTime time;
  for (const std::int32_t links : hops) time.hops += links;
  for (const double seconds : latency) time.latency_seconds += seconds;
  for (const Wiring& wiring : schedule.wirings) time.latency_seconds += wiring.seconds;
  const double bandwidth =
      static_cast<double>(node_degree(schedule)) * static_cast<double>(topology.unit_bandwidth_bytes_per_second());
  if (bandwidth > 0) time.seconds_per_byte = schedule.proof.bandwidth_time.to_double() / bandwidth;
  return time;
}

std::optional<std::int64_t> bytes_up_to(const LockstepTime& fewer, const LockstepTime& usual) {
  const double saved = usual.latency_seconds - fewer.latency_seconds;
  const double lost_per_byte = fewer.seconds_per_byte - usual.seconds_per_byte;
  if (saved <= 0 || lost_per_byte <= 0) return std::nullopt;
  constexpr double most = 1e15;  // bytes: more than any vector has
  return static_cast<std::int64_t>(std::min(saved / lost_per_byte, most));
}

}  // namespace libcoll::schedule
