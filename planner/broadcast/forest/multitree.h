// MultiTree: one broadcast tree per node, all grown together, link by link and step by step (paper 001 §III, Algorithm
// 1).
#pragma once

#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// The trees of plan_multitree() as an allgather. Error when options.time_limit_seconds are over first. Precondition:
/// every host can reach every other.
Result<classic::Pattern> multitree_pattern(const topology::Topology& topology, const registry::PlanOptions& options);

/// In every step the trees take turns to add one node over a link that is still free in this step, from the nodes they
/// had before the step, in the order these were added; a link of several times the unit bandwidth counts as as many
/// links (§VII-B). Neighbours are tried in the order of links, by dimension on tori and meshes (Y before X). Through
/// switches a node finds the nearest hosts by breadth-first search over free links (§III-C3), and the transfer is
/// routed that way. Turns go by root; where some nodes see farther than others also by largest remaining height;
/// through switches also with the parent that is nearest to a new node instead of the first one added, so that trees
/// spread below a switch and spare what joins switches. The schedule of fewest steps is taken. Steps are the paper's
/// lockstep: no link carries more than one shard per unit of capacity in any of them. Reduce-scatter is the reverse on
/// the transpose, allreduce both (lines 15–18). Figures: `trees`, `tree_height_max` (of the allgather, of the
/// reduce-scatter alone), method: which of these it was. Error when a host cannot reach another.
Result<schedule::Schedule> plan_multitree(schedule::Collective collective, const topology::Topology& topology,
                                          const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::forest
