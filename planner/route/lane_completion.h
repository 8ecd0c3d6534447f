// Forwarding towards one destination in a lane that has tables already.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/route/acyclic_layer.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// The channel dependencies of all tables of a lane, and more tables that keep them acyclic. Unlike TableCompletion it
/// is not bound to one order of the links, and what it adds depends on what was added before.
class LaneCompletion {
 public:
  /// `forwards` by node: whether paths may pass through it. All arguments have to outlive this.
  LaneCompletion(const topology::Topology& topology, const std::vector<bool>& forwards,
                 const std::vector<std::int32_t>& places)
      : topology_(topology), forwards_(forwards), lane_(topology, places) {}

  /// A table that the lane has: by node the link towards one destination. Precondition: it leaves the lane acyclic.
  void add(std::span<const topology::LinkId> next);

  /// As TableCompletion::complete, `given` being entries that lead to the destination. The lane has what this returns.
  std::optional<std::vector<topology::LinkId>> complete(topology::NodeId destination,
                                                        std::vector<topology::LinkId> given);

 private:
  bool precedes(topology::LinkId before, std::span<const topology::LinkId> next);

  const topology::Topology& topology_;
  const std::vector<bool>& forwards_;
  AcyclicLayer lane_;
};

}  // namespace libcoll::route
