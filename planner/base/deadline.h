// How long a planner may go on.
#pragma once

#include <chrono>

namespace libcoll {

/// PlanOptions::time_limit_seconds, counted from the making of this.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] bool limited() const { return seconds_ > 0; }
  /// Seconds left, a little above 0 at the least; 0 when there is no limit.
  [[nodiscard]] double remaining() const;
  [[nodiscard]] bool passed() const;
  /// From now on, a share of what is left: none when there is no limit, passed when this is.
  [[nodiscard]] Deadline part(double share) const;

 private:
  double seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace libcoll
