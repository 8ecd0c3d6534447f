// Plans for those who cannot wait for a forest: other algorithms' transfers, taken as pipelined trees.
#pragma once

#include <cstdint>
#include <string_view>

#include "planner/base/deadline.h"
#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// Pipelined, so that T_B is the largest link load and steps are depths in the trees; loads and T_B are exact, there is
/// no bound, and routes have neither layers nor classes yet.
struct QuickPlan {
  schedule::Schedule schedule;
  std::string_view method;  ///< the planner that the trees are those of: "ring", "multitree", …
};

/// The allgather whose busiest link carries least, of ring, BFB (without switches), bidirectional ring and MultiTree,
/// tried in this order until one has no more than `least_load` (shards per unit capacity), which a proof says is the
/// least there can be. The ring is always made; what is not done by the deadline, or takes more than options.max_chunks
/// (if set), is passed over. Error when a host cannot reach another.
Result<QuickPlan> quick_allgather(const topology::Topology& topology, const Rational& least_load,
                                  const registry::PlanOptions& options, const Deadline& deadline);

/// The broadcast from options.root along a chain of all hosts. Errors: as above, or when the root is no host.
Result<QuickPlan> quick_broadcast(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::forest
