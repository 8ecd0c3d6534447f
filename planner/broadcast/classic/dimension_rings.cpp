#include "planner/broadcast/classic/dimension_rings.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/grid.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Result<Pattern> dimension_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const Result<Grid> grid = grid_of(topology);
  if (!grid) return grid.error();
  const std::size_t dimensions = grid->sizes.size();
  const std::int32_t longest = *std::max_element(grid->sizes.begin(), grid->sizes.end());
  const std::vector<bool> directions = longest > 2 ? std::vector<bool>{false, true} : std::vector<bool>{false};
  std::vector<Pattern> parts;
  for (std::size_t start = 0; start < dimensions; ++start) {
    for (const bool descending : directions) {
      Gathering gathering(topology.host_count());
      for (std::size_t phase = 0; phase < dimensions; ++phase) {
        const auto begin = static_cast<std::int32_t>(phase) * (longest - 1) + 1;
        gathering.around(grid->lines((start + phase) % dimensions, descending), begin);
      }
      Result<Pattern> part = gathering.finish();
      if (!part) return part.error();
      // Parts that end with a short dimension end early; their mirror images have to start early.
      part->steps = static_cast<std::int32_t>(dimensions) * (longest - 1);
      parts.push_back(std::move(part).value());
    }
  }
  return side_by_side(parts);
}

}  // namespace

Result<Schedule> plan_dimension_rings(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(dimension_pattern, collective, "dimension-rings", topology, options);
}

}  // namespace libcoll::broadcast::classic
