// Forwarding towards one destination from every node, around entries that are given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::route {

inline constexpr topology::LinkId no_entry = -1;

/// Fills forwarding tables so that a whole table ascends in an order of the links.
class TableCompletion {
 public:
  /// `forwards` by node: whether paths may pass through it. Both arguments have to outlive this.
  TableCompletion(const topology::Topology& topology, const std::vector<bool>& forwards)
      : topology_(topology), forwards_(forwards) {}

  /// By node the link to go on by towards `destination`, no_entry at the destination itself: `given` where that has an
  /// entry, elsewhere links such that the path from every node ascends in `order` (by link: its place; -1 for links
  /// that nothing precedes). Shortest paths as far as the order allows. Nothing where some host is left without a path;
  /// switches that no path of a host crosses may have no entry.
  /// Precondition: `given` entries lead to the destination and ascend. O(links · log links), rarely times the nodes.
  [[nodiscard]] std::optional<std::vector<topology::LinkId>> complete(topology::NodeId destination,
                                                                      std::vector<topology::LinkId> given,
                                                                      std::span<const std::int32_t> order) const;

  /// The same without given entries, and with none where some host is left without a path.
  [[nodiscard]] std::vector<topology::LinkId> fill(topology::NodeId destination,
                                                   std::span<const std::int32_t> order) const;

 private:
  [[nodiscard]] std::vector<topology::LinkId> shortest(topology::NodeId destination,
                                                       const std::vector<topology::LinkId>& given,
                                                       std::span<const std::int32_t> order) const;
  [[nodiscard]] std::vector<topology::LinkId> latest(topology::NodeId destination,
                                                     const std::vector<topology::LinkId>& given,
                                                     std::span<const std::int32_t> order) const;
  [[nodiscard]] bool passes(topology::NodeId node, topology::NodeId destination) const;

  const topology::Topology& topology_;
  const std::vector<bool>& forwards_;
};

}  // namespace libcoll::route
