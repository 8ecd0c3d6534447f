// The subproblem of paper 002 (Equations 5 and 6) exactly: every topology within the degree, for small fabrics.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "planner/base/result.h"
#include "planner/reconfigure/harvest.h"

namespace libcoll::test {

/// G_{a,b} and t_c(a, b) over all of 𝒢.
struct IntervalOptimum {
  reconfigure::Configuration configuration;
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t topologies = 0;  ///< how many were looked at
};

/// Visits every matrix of non-negative whole numbers whose rows and columns sum up to the degree (the diagonal stands
/// for dark ports, so that these are all configurations of x_{u,v}, constraints 10 and 11), and prices the steps on
/// each that a simple bound does not rule out. A reference: there are N! of degree 1, 6210 of degree 2 for N = 5. Error
/// when there are more than 10⁵, or when the LP solver gives up.
Result<IntervalOptimum> exact_interval(std::span<const reconfigure::StagedStep> steps, std::int32_t nodes,
                                       std::int32_t degree, const reconfigure::HarvestModel& model);

}  // namespace libcoll::test
