// Demands other than uniform: how much of a shard each pair asks for, and the bound on the flow that serves them.
#pragma once

#include <cstddef>
#include <span>

#include "planner/base/result.h"
#include "planner/flow/problem/certificate.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// What source asks to send to destination, in shards; 1 for every pair where `demand` is empty.
inline double share(std::span<const double> demand, std::int32_t hosts, topology::NodeId source,
                    topology::NodeId destination) {
  if (demand.empty()) return 1;
  return demand[static_cast<std::size_t>(source) * static_cast<std::size_t>(hosts) +
                static_cast<std::size_t>(destination)];
}

/// Refuses a demand that is not one number from 0 to 1 for each of the N² pairs, or asks for nothing. Empty: uniform.
Status check_demand(const topology::Topology& topology, std::span<const double> demand);

/// As certify_flow, for F times the demand: F ≤ Σ_e cap_e·ℓ_e / Σ_{s,d} demand_{s,d}·dist_ℓ(s,d). Demands are rounded
/// down to multiples of 2⁻³⁰ for the sums to be exact, which can only lift the bound.
FlowCertificate certify_demand_flow(const topology::Topology& topology, std::span<const double> prices,
                                    std::span<const double> demand);

}  // namespace libcoll::flow::problem
