// Shortest paths that follow an order of the links, as those of a layer must.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::route {

/// Shortest ascending paths of one layer from one source at a time.
class AscendingPaths {
 public:
  /// `order` by link: its place in the layer (LayerOrders).
  AscendingPaths(const topology::Topology& topology, std::span<const std::int32_t> order);

  /// From `source` to every node, by lengths >= 0 of the links.
  void search(topology::NodeId source, std::span<const double> length);

  /// Infinite where no ascending path leads.
  [[nodiscard]] double distance(topology::NodeId node) const {
    return reached_[static_cast<std::size_t>(node)].distance;
  }

  /// The links of the shortest path found; empty for the source and where none leads.
  void path_to(topology::NodeId node, std::vector<topology::LinkId>& links) const;

 private:
  /// A link where the search meets it: everything it asks for in one place.
  struct Step {
    topology::LinkId link;
    topology::NodeId from;
    topology::NodeId to;
  };

  static constexpr std::uint32_t no_step = std::numeric_limits<std::uint32_t>::max();
  struct Reached {
    double distance = std::numeric_limits<double>::infinity();
    std::uint32_t step = no_step;  ///< whose link leads to the node
  };

  std::vector<Step> steps_;            ///< of all links, ascending
  std::vector<std::uint32_t> before_;  ///< by step: the one before it on the path that crosses it, or no_step
  std::vector<Reached> reached_;       ///< by node
};

}  // namespace libcoll::route
