#include "planner/broadcast/bruck.h"

#include <algorithm>

#include "planner/broadcast/pattern.h"

namespace libcoll {
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

Result<Schedule> plan_bruck(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(bruck_pattern, collective, "bruck", topology, options);
}

}  // namespace libcoll
