#include "planner/broadcast/ring.h"

#include "planner/broadcast/hamiltonian.h"
#include "planner/broadcast/pattern.h"

namespace libcoll {
namespace {

Result<Pattern> ring_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  Gathering gathering(topology.host_count());
  gathering.around({ring_order(topology)}, 1);
  return gathering.finish();
}

}  // namespace

Result<Schedule> plan_ring(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(ring_pattern, collective, "ring", topology, options);
}

}  // namespace libcoll
