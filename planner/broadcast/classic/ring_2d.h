// 2D-ring: ring allreduce along one dimension of a torus or mesh, then along the other (Ying et al. 2018 as paper 001
// §II-C describes it).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Four quarters of the data at once: either dimension first, either direction. Both phases carry the whole vector,
/// 2N(N−1) of data on N×N nodes where a ring has N²−1: 4·(n−1) steps and T_B = 4·(n−1)/n on an n×n torus. The second
/// phase reduces what the first one copied, which is right in lockstep only (verify_lockstep). Allreduce on two
/// dimensions (grid_of); wrap- around neighbours of a mesh are joined by routes.
Result<schedule::Schedule> plan_ring_2d(schedule::Collective collective, const topology::Topology& topology,
                                        const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
