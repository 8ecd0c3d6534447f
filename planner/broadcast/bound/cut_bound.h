// The cut bound on T_B of the allgather family (paper 004, Equation 1).
#pragma once

#include "planner/base/rational.h"
#include "planner/registry/effort.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::bound {

/// What no schedule of the collective on this topology can beat, in M/B: d/N · b/x* of paper 004 for allgather, the
/// same on the transpose for reduce_scatter, both for an allreduce of these two, d·b over the least max-flow from (to)
/// the root for broadcast (reduce). Exact: of every cut, as many hosts' data leave it as are inside. 0 where there is
/// no bound: one host, hosts that cannot reach each other, bandwidths too fine to compute with, all-to-all, or not
/// proven before the deadline.
Rational cut_bound(const topology::Topology& topology, schedule::Collective collective, topology::NodeId root,
                   const registry::Effort& effort = {});

/// The same where it is quick, up to a second or so: by the size of the topology alone, so that everyone gets the same.
/// Elsewhere allgather_bandwidth_bound(), the cuts around single hosts; 0 for broadcast and reduce.
Rational quick_cut_bound(const topology::Topology& topology, schedule::Collective collective, topology::NodeId root);

}  // namespace libcoll::broadcast::bound
