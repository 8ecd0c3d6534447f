#include "planner/broadcast/classic/bidirectional_ring.h"

#include <cstddef>
#include <vector>

#include "planner/broadcast/classic/hamiltonian.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

Result<Pattern> bidirectional_ring_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const std::vector<NodeId> ring = ring_order(topology);
  const auto size = static_cast<std::int32_t>(ring.size());
  const auto node = [&](std::int32_t place) { return ring[static_cast<std::size_t>((place + 2 * size) % size)]; };
  const bool has_opposite = size % 2 == 0;
  Pattern pattern;
  pattern.chunks_per_shard = has_opposite ? 2 : 1;
  pattern.steps = size / 2;
  for (std::int32_t step = 1; step <= pattern.steps; ++step) {
    const bool halves = has_opposite && step == pattern.steps;
    const std::int32_t count = halves ? 1 : pattern.chunks_per_shard;
    for (std::int32_t owner = 0; owner < size; ++owner) {
      for (const std::int32_t way : {1, -1}) {
        const std::int32_t begin = halves && way < 0 ? 1 : 0;
        pattern.transfers.push_back({node(owner), begin, count, node(owner + way * (step - 1)),
                                     node(owner + way * step), step, direct, TransferKind::copy});
      }
    }
  }
  return pattern;
}

Result<Schedule> plan_bidirectional_ring(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(bidirectional_ring_pattern, collective, "bidirectional-ring", topology, options);
}

}  // namespace libcoll::broadcast::classic
