// Rings in every dimension of a torus in turn: the traditional schedule of multiported tori (Sack and Gropp 2015,
// "bucket" algorithm; paper 000 §6.2).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// With D dimensions 2·D parts of the data (D where all dimensions are of size 2) go at once, each starting in another
/// dimension and direction; a part gathers along one dimension, passes all it has along the next, and so on. Phases
/// keep step with the longest dimension n: D·(n−1) steps (allreduce twice as many). T_B = (N−1)/N where all dimensions
/// are equal, more where not. Needs a topology with dimensions (grid_of).
Result<schedule::Schedule> plan_dimension_rings(schedule::Collective collective, const topology::Topology& topology,
                                                const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
