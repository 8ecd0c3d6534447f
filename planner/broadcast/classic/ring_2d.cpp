#include "planner/broadcast/classic/ring_2d.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/grid.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

/// The ring allreduce of every line, from step `begin` on. Segment j of the vector is every shard that is j modulo the
/// line's length; it starts to be reduced at member j and is complete at the member before it.
void allreduce_along(const std::vector<std::vector<NodeId>>& lines, std::int32_t hosts, std::int32_t begin,
                     Pattern& pattern) {
  for (const std::vector<NodeId>& line : lines) {
    const auto size = static_cast<std::int32_t>(line.size());
    for (std::int32_t t = 1; t < size; ++t) {
      for (std::int32_t i = 0; i < size; ++i) {
        const NodeId from = line[static_cast<std::size_t>(i)];
        const NodeId to = line[static_cast<std::size_t>((i + 1) % size)];
        for (ShardId shard = (i + 1 - t + size) % size; shard < hosts; shard += size) {
          pattern.transfers.push_back({shard, 0, 1, from, to, begin + t - 1, direct, TransferKind::reduce});
        }
        for (ShardId shard = (i + 2 - t + size) % size; shard < hosts; shard += size) {
          pattern.transfers.push_back({shard, 0, 1, from, to, begin + size + t - 2, direct, TransferKind::copy});
        }
      }
    }
  }
}

}  // namespace

Result<Schedule> plan_ring_2d(Collective collective, const Topology& topology, const PlanOptions& options) {
  const std::string where = "2d-ring on " + topology.name() + ": ";
  if (collective != Collective::allreduce) return Error{where + "only allreduce has this form"};
  const Result<Grid> grid = grid_of(topology);
  if (!grid) return Error{where + grid.error().message};
  if (grid->sizes.size() != 2) {
    return Error{where + "found " + std::to_string(grid->sizes.size()) + " dimensions, expected 2"};
  }
  const std::int32_t phase_steps = 2 * (std::max(grid->sizes[0], grid->sizes[1]) - 1);
  std::vector<Pattern> parts;
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    for (const bool descending : {false, true}) {
      Pattern part;
      part.steps = 2 * phase_steps;
      allreduce_along(grid->lines(first, descending), topology.host_count(), 1, part);
      allreduce_along(grid->lines(1 - first, descending), topology.host_count(), 1 + phase_steps, part);
      parts.push_back(std::move(part));
    }
  }
  return lay_out(topology, collective, "2d-ring", side_by_side(parts), options);
}

}  // namespace libcoll::broadcast::classic
