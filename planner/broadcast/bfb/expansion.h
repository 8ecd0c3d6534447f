// Schedules for expanded topologies (paper 000 §5, appendices A.6 and D): each function takes an allgather and returns
// the allgather of the expanded topology, with the node numbering of planner/topology/expansion.h.
#pragma once

#include <cstdint>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::bfb {

/// What the theorems say of an allgather: nodes, degree, T_L/α and T_B in M/B.
struct ExpansionCost {
  std::int64_t nodes = 0;
  std::int64_t degree = 0;
  std::int64_t steps = 0;
  Rational bandwidth_time;
  friend bool operator==(const ExpansionCost&, const ExpansionCost&) = default;
};

/// Theorem 7: T_L + α, T_B + 1/N. On a d-regular base; (5) is an upper bound, met by BFB (Theorem 10).
ExpansionCost line_cost(const ExpansionCost& base);
/// Theorem 11: T_L + α, T_B + (n−1)/(nN).
ExpansionCost degree_cost(const ExpansionCost& base, std::int64_t copies);
/// Theorem 12: n·T_L, T_B · N/(N−1) · (N^n − 1)/N^n.
ExpansionCost power_cost(const ExpansionCost& base, std::int64_t factors);

/// All below: Error when the schedule is no link-based allgather, or as the topology's expansion.

/// Definition 1.
Result<schedule::Schedule> expand_line(const schedule::Schedule& allgather);
/// Definition 2. Precondition: copies >= 1.
Result<schedule::Schedule> expand_degree(const schedule::Schedule& allgather, std::int32_t copies);
/// Definition 14. Precondition: factors >= 1.
Result<schedule::Schedule> expand_power(const schedule::Schedule& allgather, std::int32_t factors);
/// Appendix A.6: half of every shard along the links of G by `forward`, half against them by `backward`, an allgather
/// of Gᵀ.
Result<schedule::Schedule> expand_both_directions(const schedule::Schedule& forward,
                                                  const schedule::Schedule& backward);

/// The schedule with every node v renamed map[v] (Definition 7), on `image`, to which `map` is an isomorphism.
schedule::Schedule isomorphic_image(const schedule::Schedule& schedule, const topology::Automorphism& map,
                                    const topology::Topology& image);

/// Theorem 2: the reduce-scatter on G that the allgather on G becomes by an isomorphism from G to Gᵀ
/// (reverse_symmetry() finds it), with the same T_L and T_B.
Result<schedule::Schedule> reduce_scatter_by_symmetry(const schedule::Schedule& allgather,
                                                      const topology::Automorphism& to_transpose);

/// Plans along a topology's name, from the inside out: expansions as above, products and everything else by BFB. The
/// reduce-scatter is the allgather's image where the graph is found reverse-symmetric, otherwise the reverse of a plan
/// for the transpose (Corollary 1.1). Error when the name is no expansion's or the links are not those it stands for.
Result<schedule::Schedule> plan_expansion_allgather(const topology::Topology& topology,
                                                    const registry::PlanOptions& options);
Result<schedule::Schedule> plan_expansion_reduce_scatter(const topology::Topology& topology,
                                                         const registry::PlanOptions& options);
Result<schedule::Schedule> plan_expansion_allreduce(const topology::Topology& topology,
                                                    const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::bfb
