#include "planner/route/manager_lanes.h"

#include <algorithm>
#include <vector>

#include "planner/route/dfsssp.h"
#include "planner/route/lash.h"
#include "planner/route/sssp.h"

namespace libcoll {

Result<std::int32_t> manager_lanes(const Topology& topology, std::span<const std::int32_t> ports) {
  Result<std::vector<Route>> min_hop = min_hop_paths(topology, ports);
  if (!min_hop) return min_hop.error();
  Result<std::vector<Route>> sssp = sssp_paths(topology);
  if (!sssp) return sssp.error();
  return std::min(assign_layers(topology, *min_hop), break_cycles(topology, *sssp));
}

}  // namespace libcoll
