// HDRM: halving-doubling with rank mapping on BiGraph (EFLOPS, Dong et al. 2020; paper 001 [29]).
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// Halving-doubling among ranks that are mapped to hosts so that partners are always below an upper and a lower switch
/// and no link between switches carries more than a host's: ranks of even parity are on upper switches, by their high
/// bits, those of odd parity on lower ones, by their low bits. 2·log2 N steps for allreduce, T_B = 2·(N−1)/N. Needs a
/// topology named bigraph:HxS, H and S powers of two.
Result<schedule::Schedule> plan_hdrm(schedule::Collective collective, const topology::Topology& topology,
                                     const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
