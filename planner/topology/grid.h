// Coordinates on tori, meshes, rings and hypercubes, for algorithms that work dimension by dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// The sizes of a grid's dimensions, first the one whose neighbours' ids differ most (row-major numbering); dimensions
/// of one node are left out.
struct Grid {
  std::vector<std::int32_t> sizes;
  bool wraps = true;  ///< false: mesh

  /// How far the ids of neighbours in this dimension are apart.
  [[nodiscard]] std::int32_t stride(std::size_t dimension) const;
  [[nodiscard]] std::int32_t coordinate(NodeId node, std::size_t dimension) const;
  /// The node whose coordinate in this dimension is another one, taken modulo its size.
  [[nodiscard]] NodeId moved(NodeId node, std::size_t dimension, std::int32_t coordinate) const;
  /// The lines of nodes that differ in this dimension only, each in ascending order (or descending: the other way
  /// round).
  [[nodiscard]] std::vector<std::vector<NodeId>> lines(std::size_t dimension, bool descending) const;
};

/// The grid a topology's name speaks of: torus, mesh, ring or hypercube, with as many hosts and no switch. Links are
/// not looked at: one that was removed is bypassed by a route. Error with the reason for anything else.
Result<Grid> grid_of(const Topology& topology);

}  // namespace libcoll::topology
