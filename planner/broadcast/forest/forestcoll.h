// ForestColl (paper 004): throughput-optimal forests of spanning trees on any fabric, with switches or without.
#pragma once

#include <vector>

#include "planner/base/result.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/forest/edge_splitting.h"
#include "planner/broadcast/forest/tree_packing.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// Out-trees over logical links; TreeEdge::arc is a position in `links`.
struct Forest {
  bound::TreeCount count;  ///< of trees per root; each has y = LinkWidths::unit / count.scale bytes per second
  std::vector<LogicalLink> links;
  std::vector<OutTree> trees;
  std::int64_t unproven = 0;  ///< of `trees`: made after the deadline, they may overload links
};

/// `count` trees rooted at every host. Uses the translations of the topology where it has them. After the deadline
/// switches are split off and trees are made without proof, see split_off_switches() and pack_out_trees(); where
/// that does not connect the hosts, over ways_between_hosts(). Error when trees do not exist or switches cannot be
/// split.
Result<Forest> allgather_forest(const topology::Topology& topology, const bound::TreeCount& count,
                                const registry::Effort& effort = {});

/// `count` trees out of one root. Single-root packing as Blink does it, with switches split off. Errors as above, or
/// when the root is no host.
Result<Forest> broadcast_forest(const topology::Topology& topology, topology::NodeId root,
                                const bound::TreeCount& count, const registry::Effort& effort = {});

/// Pipelined out-trees: chunks_per_shard = k trees per root, step = depth in the tree, T_B = d/N · 1/x* · b exactly
/// with the default number of trees. options.trees: k > 0 as given (the best schedule of so many trees), −1 the best k
/// of 1 to 10, 0 the least k that reaches the optimum; when that is above options.max_chunks (if set), or above what a
/// schedule can count, a k within the limit that comes near it: enough_trees(), for limits below 64 the best. With
/// options.schedule false no trees are packed: steps is 0 and the figure tree_depth_max is missing. Figures: inverse_x
/// = |S ∩ Vc|/B+(S) of the bottleneck cut in inverse_x_unit and as a float, trees_per_root, tree_bandwidth (bytes per
/// second), algbw_bytes_per_second (M over the time of the fluid plan), tree_depth_max. Every stage takes
/// options.threads and heeds options.time_limit_seconds; when the time is over, the better one of the trees so far with
/// the rest made without regard for capacities and of the quick plans of fallback_trees.h, whose name is then the
/// method. With a limit there are also trees_unproven, how many trees were not proved, and gap, T_B over the bound that
/// 1/x* (or the narrowest cut known in time) proves, less 1; algbw_bytes_per_second is then that of the transfers.
/// Errors: unconnected hosts, bandwidths without a workable common unit, switches that cannot be split; without a
/// schedule also when the time was over before 1/x* was proved.
Result<schedule::Schedule> plan_forestcoll_allgather(const topology::Topology& topology,
                                                     const registry::PlanOptions& options);

/// The mirror image of the forest on the transpose.
Result<schedule::Schedule> plan_forestcoll_reduce_scatter(const topology::Topology& topology,
                                                          const registry::PlanOptions& options);

/// Reduce-scatter, then allgather (paper 004 §4.6); on fabrics whose cables are alike both ways, the same forest twice.
Result<schedule::Schedule> plan_forestcoll_allreduce(const topology::Topology& topology,
                                                     const registry::PlanOptions& options);

/// Pipelined out-trees from options.root alone: one shard of k chunks, the whole vector, step = depth in the tree;
/// T_B = d·b over the least max-flow from the root to a host, which nothing can beat (Edmonds), with the default number
/// of trees. options.trees, options.max_chunks, options.schedule, errors and figures as above, with 1/x* = 1 / B+(S) of
/// the cut; and bottleneck_outside, the nodes beyond that cut. Error also when the root is no host.
Result<schedule::Schedule> plan_forestcoll_broadcast(const topology::Topology& topology,
                                                     const registry::PlanOptions& options);

/// The mirror image of the broadcast on the transpose: in-trees to options.root.
Result<schedule::Schedule> plan_forestcoll_reduce(const topology::Topology& topology,
                                                  const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::forest
