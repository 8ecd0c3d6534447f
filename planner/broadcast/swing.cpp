#include "planner/broadcast/swing.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/broadcast/pattern.h"
#include "planner/topology/grid.h"

namespace libcoll {
namespace {

Result<Grid> grid_or_ring(const Topology& topology) {
  Result<Grid> grid = grid_of(topology);
  if (!grid) grid = Grid{{topology.host_count()}, true};
  for (const std::int32_t size : grid->sizes) {
    if (!std::has_single_bit(static_cast<std::uint32_t>(size))) {
      return Error{"found a dimension of " + std::to_string(size) + " nodes, expected powers of two"};
    }
  }
  return grid;
}

/// ρ(s) = Σ_{i≤s} (−2)^i = 1, −1, 3, −5, 11, …
std::int32_t swing_distance(std::int32_t s) {
  std::int32_t distance = 0;
  std::int32_t power = 1;
  for (std::int32_t i = 0; i <= s; ++i) {
    distance += power;
    power *= -2;
  }
  return distance;
}

/// One step of the reduce-scatter: a dimension and how often it had its turn before.
struct Turn {
  std::size_t dimension;
  std::int32_t s;
};

std::vector<Turn> turns(const Grid& grid, std::size_t start) {
  const std::size_t dimensions = grid.sizes.size();
  const std::int32_t longest = *std::max_element(grid.sizes.begin(), grid.sizes.end());
  std::vector<Turn> result;
  for (std::int32_t s = 0; (1 << s) < longest; ++s) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      const std::size_t dimension = (start + i) % dimensions;
      if ((1 << s) < grid.sizes[dimension]) result.push_back({dimension, s});
    }
  }
  return result;
}

/// The allgather: the turns of the reduce-scatter backwards.
Result<Pattern> one_swing(const Grid& grid, std::int32_t hosts, std::size_t start, bool other_side) {
  Gathering gathering(hosts);
  std::vector<Turn> order = turns(grid, start);
  std::reverse(order.begin(), order.end());
  for (const Turn turn : order) {
    const std::int32_t distance = other_side ? -swing_distance(turn.s) : swing_distance(turn.s);
    std::vector<NodeId> partners;
    for (NodeId host = 0; host < hosts; ++host) {
      const std::int32_t a = grid.coordinate(host, turn.dimension);
      partners.push_back(grid.moved(host, turn.dimension, a % 2 == 0 ? a + distance : a - distance));
    }
    if (const Status status = gathering.exchange(partners); !status) return status.error();
  }
  return gathering.finish();
}

Result<Pattern> swing_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const Result<Grid> grid = grid_or_ring(topology);
  return grid.ok() ? one_swing(*grid, topology.host_count(), 0, false) : grid.error();
}

Result<Pattern> swing_multiport_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const Result<Grid> grid = grid_or_ring(topology);
  if (!grid) return grid.error();
  std::vector<Pattern> parts;
  for (std::size_t start = 0; start < grid->sizes.size(); ++start) {
    for (const bool other_side : {false, true}) {
      Result<Pattern> part = one_swing(*grid, topology.host_count(), start, other_side);
      if (!part) return part.error();
      parts.push_back(std::move(part).value());
    }
  }
  return side_by_side(parts);
}

}  // namespace

Result<Schedule> plan_swing(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(swing_pattern, collective, "swing", topology, options);
}

Result<Schedule> plan_swing_multiport(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(swing_multiport_pattern, collective, "swing-multiport", topology, options);
}

}  // namespace libcoll
