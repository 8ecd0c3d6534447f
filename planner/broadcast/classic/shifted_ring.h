// Shifted rings: several rings over different links at once, each with its part of the data (TopoOpt; the baseline of
// paper 000 §8.2, there two two-way rings).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// N−1 steps (allreduce: 2·(N−1)); with k directed rings that share no link T_B = d/k·(N−1)/N, optimal when they use
/// every link, as on circulants whose offsets are coprime to N. Error when no Hamiltonian cycle is found.
Result<schedule::Schedule> plan_shifted_ring(schedule::Collective collective, const topology::Topology& topology,
                                             const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
