// What a plan makes of an all-to-all whose blocks are not equally long: how much crosses the busiest link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::plan {

/// Of an all-to-all in which no host forwards.
class PairLoads {
 public:
  PairLoads() = default;
  explicit PairLoads(const schedule::Schedule& schedule);

  /// Bytes per unit of capacity on the busiest link; `bytes` by source's node · N + destination's.
  [[nodiscard]] double busiest(std::span<const std::int64_t> bytes) const;

 private:
  /// So many of a block's chunks cross the link.
  struct Crossing {
    schedule::ShardId block;
    topology::LinkId link;
    std::int32_t chunks;
  };

  std::vector<Crossing> crossings_;
  std::vector<double> chunk_capacities_;  ///< by link: capacity, in units of the least, times chunks per block
};

/// What pairs of nodes have for each other once it is spread over all nodes as spread_over_nodes() does it; the same
/// places as `bytes`.
std::vector<std::int64_t> spread_evenly(std::span<const std::int64_t> bytes, std::int32_t nodes);

}  // namespace libcoll::plan
