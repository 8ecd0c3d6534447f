#include "planner/reconfigure/recursive_doubling_rewirings.h"

#include <cmath>
#include <limits>

namespace libcoll::reconfigure {

double recursive_doubling_seconds(const RecursiveDoublingModel& model, std::int32_t a, std::int32_t b) {
  const double count = b - a + 1;
  return model.alpha_seconds * count + model.delta_seconds * (std::ldexp(1, b - a + 1) - 1) +
         model.seconds_per_byte * model.bytes * count * std::ldexp(1, -a);
}

RecursiveDoublingPlan plan_recursive_doubling_rewirings(const RecursiveDoublingModel& model, std::size_t steps) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  using Row = std::array<double, max_doubling_steps>;
  const auto s = static_cast<std::int32_t>(steps);
  std::array<Row, max_doubling_steps> interval;  // [a − 1][b − 1]
  for (std::int32_t a = 1; a <= s; ++a) {
    for (std::int32_t b = a; b <= s; ++b) {
      interval[static_cast<std::size_t>(a) - 1][static_cast<std::size_t>(b) - 1] =
          recursive_doubling_seconds(model, a, b);
    }
  }
  std::array<Row, max_doubling_steps> fastest;  // [k][a]: steps a..s−1 (from 0) with k rewirings, without their delays
  std::array<std::array<std::uint8_t, max_doubling_steps>, max_doubling_steps> next;
  RecursiveDoublingPlan plan;
  plan.seconds = steps == 0 ? 0 : infinite;
  for (std::size_t k = 0; k < steps; ++k) {
    for (std::size_t a = 0; a + k < steps; ++a) {
      fastest[k][a] = k == 0 ? interval[a][steps - 1] : infinite;
      for (std::size_t b = a + 1; k > 0 && b + k <= steps; ++b) {
        const double seconds = interval[a][b - 1] + fastest[k - 1][b];
        if (!(seconds < fastest[k][a])) continue;
        fastest[k][a] = seconds;
        next[k][a] = static_cast<std::uint8_t>(b);
      }
    }
    const double total = fastest[k][0] + static_cast<double>(k) * model.reconfiguration_seconds;
    if (!(total < plan.seconds)) continue;
    plan.seconds = total;
    plan.rewirings = k;
  }
  std::size_t a = 0;
  for (std::size_t k = plan.rewirings; k > 0; --k) {
    a = next[k][a];
    plan.rewire_before[plan.rewirings - k] = static_cast<std::int32_t>(a) + 1;
  }
  return plan;
}

}  // namespace libcoll::reconfigure
