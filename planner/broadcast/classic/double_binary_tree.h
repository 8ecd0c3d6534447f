// Double binary tree: two trees with half of the data each; inner nodes of one are leaves of the other, but for one
// with odd N (Sanders, Speck, Träff 2009; NCCL).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Allreduce: the first half of every shard is reduced to the root of one tree and broadcast from there, the second
/// half in the other, in segments that follow each other through the trees; a node sends one message and receives one
/// in a step. Segments are whole shards: N of them, or as many as keep options.steps (at least one, which takes O(log
/// N) steps and carries the whole vector in each). Edges of the trees without a link take shortest routes. Figures:
/// `segments`, `tree_height`.
///
/// Broadcast and reduce: two such trees of the hosts but for options.root, which stands above both, and one phase only;
/// segments are equal parts of the vector.
Result<schedule::Schedule> plan_double_binary_tree(schedule::Collective collective, const topology::Topology& topology,
                                                   const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
