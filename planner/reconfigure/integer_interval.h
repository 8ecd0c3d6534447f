// The subproblem of paper 002 (Equations 5 and 6) as a mixed-integer program (appendix A), exactly, for small fabrics.
#pragma once

#include <cstdint>
#include <span>

#include "planner/base/result.h"
#include "planner/reconfigure/harvest.h"

namespace libcoll::reconfigure {

inline constexpr std::int32_t max_integer_nodes = 8;  ///< more have too many topologies for branch and bound

struct IntegerLimits {
  double gap = 1e-6;   ///< relative: a topology that is better by less is not looked for
  double seconds = 0;  ///< then the best one so far, with what was proven; 0: none
};

/// G_{a,b} and t_c(a, b), and what no topology is faster than.
struct IntegerOptimum {
  Configuration configuration;  ///< without wires when none is faster than `incumbent`
  double seconds = 0;           ///< the configuration's time, or the incumbent's
  double bound = 0;             ///< proven: every topology within the degree takes at least as long
  std::int64_t programs = 0;    ///< integer programs solved
  [[nodiscard]] bool proven(double gap) const { return bound >= seconds * (1 - 2 * gap); }
};

/// Appendix A with GLPK's branch and cut. Constraints 10 to 13 as they stand, x_{u,v} as a sum of binaries; of the cone
/// (14)–(16) tangents: T_i ≥ 1/θ₀·(2 − θ_i/θ₀), more of them at every topology that is found; and, for the δ·ℓ_i of
/// Equation 3 that the appendix leaves out, ℓ_i ≥ the length of a path of wires for each demand. That is a relaxation:
/// each topology it yields is priced exactly (congestion_frontier, detours and all), then it and all that have a part
/// of its wires are cut off, until the program has no solution that is faster than the best one. `incumbent`: the
/// seconds that some known topology takes, infinite if none. Error for more than max_integer_nodes nodes, a degree < 1,
/// steps without demands, or when the solver gives up.
Result<IntegerOptimum> integer_interval(std::span<const StagedStep> steps, std::int32_t nodes, std::int32_t degree,
                                        const HarvestModel& model, double incumbent, const IntegerLimits& limits);

}  // namespace libcoll::reconfigure
