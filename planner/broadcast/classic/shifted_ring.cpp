#include "planner/broadcast/classic/shifted_ring.h"

#include <vector>

#include "planner/broadcast/classic/hamiltonian.h"
#include "planner/broadcast/classic/pattern.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Result<Pattern> shifted_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  std::vector<Pattern> parts;
  for (const std::vector<NodeId>& ring : disjoint_hamiltonian_cycles(topology)) {
    Gathering gathering(topology.host_count());
    gathering.around({ring}, 1);
    Result<Pattern> part = gathering.finish();
    if (!part) return part.error();
    parts.push_back(std::move(part).value());
  }
  if (parts.empty()) return Error{"found no ring of links through all hosts"};
  return side_by_side(parts);
}

}  // namespace

Result<Schedule> plan_shifted_ring(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(shifted_pattern, collective, "shifted-ring", topology, options);
}

}  // namespace libcoll::broadcast::classic
