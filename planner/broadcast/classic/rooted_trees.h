// Broadcast and reduction along one tree: the classics that forests of trees are compared with.
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Broadcast from `root` in ⌈log2 N⌉ steps: whoever has the vector sends it on, the r-th host from the root to the
/// (r + 2^t)-th in step t + 1. The mirror image is the reduction to it. One chunk, the whole vector.
Pattern binomial_tree_pattern(std::int32_t hosts, topology::NodeId root);

/// Broadcast from `root` in a complete binary tree by levels: the r-th host from the root has the children 2r + 1 and
/// 2r + 2, both in one step when `ports` is more than one, else one after the other. One chunk, the whole vector.
Pattern binary_tree_pattern(std::int32_t hosts, topology::NodeId root, std::int32_t ports);

/// Broadcast from `root` along the ring (ring_order), cut open there: N−1 steps of the whole vector. One chunk.
Pattern chain_pattern(const topology::Topology& topology, topology::NodeId root);

/// Broadcast or reduce with options.root. Edges of the tree without a link take shortest routes. Errors: another
/// collective, no such root, a host that cannot reach another.
Result<schedule::Schedule> plan_binomial_tree(schedule::Collective collective, const topology::Topology& topology,
                                              const registry::PlanOptions& options);

/// The same along the binary tree, with two ports where a host has two links.
Result<schedule::Schedule> plan_binary_tree(schedule::Collective collective, const topology::Topology& topology,
                                            const registry::PlanOptions& options);

/// The same along the ring (ring_order), cut open at the root and pipelined: T_B = d where neighbours in the ring have
/// a link, whatever N is, after N−1 steps.
Result<schedule::Schedule> plan_pipelined_chain(schedule::Collective collective, const topology::Topology& topology,
                                                const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
