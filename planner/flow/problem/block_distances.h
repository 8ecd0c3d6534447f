// Shortest distances from many sources at once, a vector register of sources side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

inline constexpr std::int32_t float_lanes = 16;
inline constexpr std::int32_t integer_lanes = 8;

/// What a source cannot reach.
inline constexpr float unreached_float = 1e30F;
inline constexpr std::int64_t unreached_integer = std::int64_t{1} << 60;

/// The links of a graph, grouped by their head.
struct InLinks {
  std::span<const std::int32_t> begin;  ///< by node, one more at the end
  std::span<const std::int32_t> from;   ///< tail of each link
};

/// Bellman and Ford's iteration for up to `float_lanes` (`integer_lanes`) sources: distance[v·lanes + i] is that from
/// sources[i] to v. `lengths` ≥ 0 in the order of InLinks::from; integer lengths are at most 2⁴⁰, and the integer
/// distances exact. Lanes without a source are `unreached` throughout. The iteration stops when nothing changes, after
/// as many sweeps as a shortest path has links, at most.
void block_distances(const InLinks& graph, std::span<const float> lengths, std::span<const topology::NodeId> sources,
                     std::vector<float>& distance);
void block_distances(const InLinks& graph, std::span<const std::int64_t> lengths,
                     std::span<const topology::NodeId> sources, std::vector<std::int64_t>& distance);

}  // namespace libcoll::flow::problem
