// Shortest paths that follow an order of the links, as those of a layer must.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll {

/// Shortest ascending paths of one layer from one source at a time.
class AscendingPaths {
 public:
  /// `order` by link: its place in the layer (LayerOrders).
  AscendingPaths(const Topology& topology, std::span<const std::int32_t> order);

  /// From `source` to every node, by lengths >= 0 of the links.
  void search(NodeId source, std::span<const double> length);

  /// Infinite where no ascending path leads.
  [[nodiscard]] double distance(NodeId node) const { return distance_[static_cast<std::size_t>(node)]; }

  /// The links of the shortest path found; empty for the source and where none leads.
  void path_to(NodeId node, std::vector<LinkId>& links) const;

 private:
  /// A link where the search meets it: everything it asks for in one place.
  struct Step {
    LinkId link;
    NodeId from;
    NodeId to;
  };

  std::vector<Step> steps_;       ///< of all links, ascending
  std::vector<LinkId> before_;    ///< by link: the one before it on the path that crosses it
  std::vector<double> distance_;  ///< by node
  std::vector<LinkId> last_;      ///< by node
};

}  // namespace libcoll
