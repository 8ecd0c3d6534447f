// Recursive doubling in closed form (paper 002 §5): no optimiser, O(log⁴ n).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace libcoll::reconfigure {

/// Of Equation 4; m is the whole vector.
struct RecursiveDoublingModel {
  double bytes = 0;
  double alpha_seconds = 0;            ///< of a step
  double delta_seconds = 0;            ///< of a link
  double seconds_per_byte = 0;         ///< β
  double reconfiguration_seconds = 0;  ///< α_r
};

inline constexpr std::size_t max_doubling_steps = 32;

/// The reduce-scatter of 2^steps nodes; the allgather is its mirror image and takes as long. Before each step of
/// `rewire_before` (from 1 on, ascending) the fabric is wired for that step; for the first step it is from the start.
struct RecursiveDoublingPlan {
  double seconds = 0;
  std::size_t rewirings = 0;
  std::array<std::int32_t, max_doubling_steps> rewire_before{};
};

/// t_c(a, b) of Equation 8 for steps a..b (from 1): wired for step a, step i takes 2^(i−a) hops and shares each link
/// among 2^(i−a) messages of m/2^i.
double recursive_doubling_seconds(const RecursiveDoublingModel& model, std::int32_t a, std::int32_t b);

/// Algorithm 1 with Observations 3 and 4 in place of the topology search. Precondition: steps ≤ max_doubling_steps.
RecursiveDoublingPlan plan_recursive_doubling_rewirings(const RecursiveDoublingModel& model, std::size_t steps);

}  // namespace libcoll::reconfigure
