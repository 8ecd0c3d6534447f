#include "planner/broadcast/classic/ring.h"

#include "planner/broadcast/classic/hamiltonian.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

Result<Pattern> ring_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  Gathering gathering(topology.host_count());
  gathering.around({ring_order(topology)}, 1);
  return gathering.finish();
}

Result<Schedule> plan_ring(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(ring_pattern, collective, "ring", topology, options);
}

}  // namespace libcoll::broadcast::classic
