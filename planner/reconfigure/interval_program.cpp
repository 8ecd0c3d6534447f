#include "planner/reconfigure/interval_program.h"

#include "planner/base/infinity.h"

namespace libcoll::reconfigure {
namespace {}  // namespace

std::vector<std::vector<IntervalChoice>> best_configurations(const std::vector<std::vector<double>>& seconds) {
  const std::size_t steps = seconds.empty() ? 0 : seconds.front().size();
  std::vector<std::vector<IntervalChoice>> best(steps);
  for (std::size_t a = 0; a < steps; ++a) {
    best[a].assign(steps - a, IntervalChoice{infinity, 0});
    for (std::size_t configuration = 0; configuration < seconds.size(); ++configuration) {
      double sum = 0;
      for (std::size_t b = a; b < steps; ++b) {
        sum += seconds[configuration][b];
        if (sum < best[a][b - a].seconds) best[a][b - a] = {sum, configuration};
      }
    }
  }
  return best;
}

RewiringPlan plan_rewirings(const std::vector<std::vector<IntervalChoice>>& best, double reconfiguration_seconds) {
  const std::size_t steps = best.size();
  if (steps == 0) return {};
  // fastest[k][a]: DP[a][k]; next[k][a]: where its first interval ends.
  std::vector<std::vector<double>> fastest;
  std::vector<std::vector<std::size_t>> next;
  RewiringPlan plan{infinity, {}};
  std::size_t rewirings = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    fastest.emplace_back(steps + 1, infinity);
    next.emplace_back(steps + 1, steps);
    for (std::size_t a = 0; a < steps; ++a) {
      if (k == 0) {
        fastest[0][a] = best[a][steps - 1 - a].seconds;
        continue;
      }
      for (std::size_t b = a + 1; b < steps; ++b) {
        const double seconds = best[a][b - 1 - a].seconds + fastest[k - 1][b];
        if (!(seconds < fastest[k][a])) continue;
        fastest[k][a] = seconds;
        next[k][a] = b;
      }
    }
    const double total = fastest[k][0] + static_cast<double>(k) * reconfiguration_seconds;
    if (!(total < plan.seconds)) continue;
    plan.seconds = total;
    rewirings = k;
  }
  if (plan.seconds == infinity) return plan;
  std::size_t a = 0;
  for (std::size_t k = rewirings;; --k) {
    const std::size_t b = k == 0 ? steps : next[k][a];
    plan.intervals.push_back({a, b - 1, best[a][b - 1 - a].configuration});
    if (k == 0) return plan;
    a = b;
  }
}

}  // namespace libcoll::reconfigure
