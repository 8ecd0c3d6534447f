#include "planner/broadcast/classic/swing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/grid.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Grid grid_or_ring(const Topology& topology) {
  Result<Grid> grid = grid_of(topology);
  if (!grid || grid->sizes.empty()) return {{topology.host_count()}, true};
  return std::move(grid).value();
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

/// Of a dimension of odd size the last node is the extra one; the others swing.
std::int32_t swinging_nodes(std::int32_t size) { return size % 2 == 0 ? size : size - 1; }

/// ⌈log2⌉ of the nodes that swing.
std::int32_t swing_steps(std::int32_t size) {
  std::int32_t steps = 0;
  while ((1 << steps) < swinging_nodes(size)) ++steps;
  return steps;
}

/// What one node of a line sends another: the shards of these nodes of the line.
struct LineTransfer {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::vector<std::int32_t> sources;
};

/// What each node of a line holds.
using Holdings = std::vector<std::vector<bool>>;

/// One step of a line.
struct LineStep {
  Holdings held;  ///< before the step
  std::vector<LineTransfer> transfers;
};

/// The extra node's partners, those farthest round the ring first: they come in the steps whose distances are large.
std::vector<std::int32_t> partners_of_extra(std::int32_t size) {
  std::vector<std::int32_t> partners;
  for (std::int32_t i = 0; i + 1 < size; ++i) partners.push_back(i);
  std::stable_sort(partners.begin(), partners.end(), [size](std::int32_t a, std::int32_t b) {
    return std::min(a + 1, size - 1 - a) > std::min(b + 1, size - 1 - b);
  });
  return partners;
}

/// The allgather of one line: steps s = ⌈log2 n⌉ − 1, …, 0.
std::vector<LineStep> swing_line(std::int32_t size, bool other_side) {
  const std::int32_t swinging = swinging_nodes(size);
  Holdings held(at(size), std::vector<bool>(at(size), false));
  for (std::int32_t node = 0; node < size; ++node) held[at(node)][at(node)] = true;
  const std::vector<std::int32_t> partners = partners_of_extra(size);
  std::size_t served = swinging == size ? partners.size() : 0;
  std::vector<LineStep> steps;
  for (std::int32_t s = swing_steps(size) - 1; s >= 0; --s) {
    LineStep step{held, {}};
    const std::int32_t distance = other_side ? -swing_distance(s) : swing_distance(s);
    std::size_t most = 0;
    for (std::int32_t from = 0; from < swinging; ++from) {
      const std::int32_t moved = from % 2 == 0 ? from + distance : from - distance;
      LineTransfer transfer{from, (moved % swinging + swinging) % swinging, {}};
      for (std::int32_t source = 0; source < swinging; ++source) {
        if (held[at(from)][at(source)] && !held[at(transfer.to)][at(source)]) transfer.sources.push_back(source);
      }
      most = std::max(most, transfer.sources.size());
      if (!transfer.sources.empty()) step.transfers.push_back(std::move(transfer));
    }
    // As many shards, one by one, as others send in this step; in the last step one more.
    for (std::size_t i = 0; i < (s == 0 ? partners.size() : most) && served < partners.size(); ++i, ++served) {
      step.transfers.push_back({swinging, partners[served], {swinging}});
      step.transfers.push_back({partners[served], swinging, {partners[served]}});
    }
    for (const LineTransfer& transfer : step.transfers) {
      for (const std::int32_t source : transfer.sources) held[at(transfer.to)][at(source)] = true;
    }
    steps.push_back(std::move(step));
  }
  return steps;
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
  for (std::int32_t s = 0; s < swing_steps(longest); ++s) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      const std::size_t dimension = (start + i) % dimensions;
      if (s < swing_steps(grid.sizes[dimension])) result.push_back({dimension, s});
    }
  }
  return result;
}

/// The hosts whose shards are sent when a host sends in one dimension: in that one the given coordinates, in the others
/// what the host's own line has gathered.
std::vector<ShardId> shards_of(const Grid& grid, const std::vector<const Holdings*>& held, NodeId host,
                               std::size_t dimension, const std::vector<std::int32_t>& sources) {
  std::vector<ShardId> shards;
  shards.reserve(sources.size());
  for (const std::int32_t source : sources) shards.push_back(grid.moved(host, dimension, source));
  for (std::size_t other = 0; other < grid.sizes.size(); ++other) {
    if (other == dimension) continue;
    const std::vector<bool>& gathered = (*held[other])[at(grid.coordinate(host, other))];
    std::vector<ShardId> spread;
    for (const ShardId shard : shards) {
      for (std::int32_t coordinate = 0; coordinate < grid.sizes[other]; ++coordinate) {
        if (gathered[at(coordinate)]) spread.push_back(grid.moved(shard, other, coordinate));
      }
    }
    shards = std::move(spread);
  }
  return shards;
}

/// The allgather: the turns of the reduce-scatter backwards.
Pattern one_swing(const Grid& grid, std::int32_t hosts, std::size_t start, bool other_side) {
  if (hosts < 2) return {};
  std::vector<std::vector<LineStep>> lines;
  for (const std::int32_t size : grid.sizes) lines.push_back(swing_line(size, other_side));
  std::vector<Holdings> complete;
  std::vector<const Holdings*> held;
  for (std::size_t dimension = 0; dimension < lines.size(); ++dimension) {
    complete.emplace_back(at(grid.sizes[dimension]), std::vector<bool>(at(grid.sizes[dimension]), true));
  }
  held.reserve(lines.size());
  for (const std::vector<LineStep>& line : lines) held.push_back(&line.front().held);
  std::vector<Turn> order = turns(grid, start);
  std::reverse(order.begin(), order.end());
  Pattern pattern;
  for (const Turn turn : order) {
    ++pattern.steps;
    const std::vector<LineStep>& line = lines[turn.dimension];
    const std::size_t place = line.size() - 1 - at(turn.s);
    for (NodeId host = 0; host < hosts; ++host) {
      for (const LineTransfer& transfer : line[place].transfers) {
        if (transfer.from != grid.coordinate(host, turn.dimension)) continue;
        const NodeId to = grid.moved(host, turn.dimension, transfer.to);
        for (const ShardId shard : shards_of(grid, held, host, turn.dimension, transfer.sources)) {
          pattern.transfers.push_back({shard, 0, 1, host, to, pattern.steps, direct, TransferKind::copy});
        }
      }
    }
    held[turn.dimension] = place + 1 < line.size() ? &line[place + 1].held : &complete[turn.dimension];
  }
  return pattern;
}

Result<Pattern> swing_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  return one_swing(grid_or_ring(topology), topology.host_count(), 0, false);
}

Result<Pattern> swing_multiport_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const Grid grid = grid_or_ring(topology);
  std::vector<Pattern> parts;
  for (std::size_t start = 0; start < grid.sizes.size(); ++start) {
    for (const bool other_side : {false, true}) {
      parts.push_back(one_swing(grid, topology.host_count(), start, other_side));
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

}  // namespace libcoll::broadcast::classic
