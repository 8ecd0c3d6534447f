// When to rewire: the dynamic program over intervals of steps (paper 002 §4.2, Lemma 1, Algorithm 1, Theorem 1).
#pragma once

#include <cstddef>
#include <vector>

namespace libcoll::reconfigure {

/// Steps first..last (from 0) on one configuration.
struct Interval {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t configuration = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// G_{a,b} and t_c(a, b) of Equations 5 and 6; infinite where no configuration serves the interval.
struct IntervalChoice {
  double seconds = 0;
  std::size_t configuration = 0;
};

/// A schedule of rewirings; `seconds` with the reconfiguration delays, infinite when there is none.
struct RewiringPlan {
  double seconds = 0;
  std::vector<Interval> intervals;  ///< one more than rewirings
};

/// t_c(a, b) by configuration: seconds[configuration][step], infinite where it does not serve the step. The result's
/// entry [a][b − a] is the best configuration for steps a..b, the first of equals.
std::vector<std::vector<IntervalChoice>> best_configurations(const std::vector<std::vector<double>>& seconds);

/// Algorithm 1: DP[a][k] = min_b t_c(a, b−1) + DP[b][k−1], then the least DP[1][k] + k·α_r (Theorem 1); of equals the
/// one with fewest rewirings. O(s³) for all k together.
RewiringPlan plan_rewirings(const std::vector<std::vector<IntervalChoice>>& best, double reconfiguration_seconds);

}  // namespace libcoll::reconfigure
