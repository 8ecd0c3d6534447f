#include "planner/base/deadline.h"

#include <algorithm>

namespace libcoll {

double Deadline::remaining() const {
  if (!limited()) return 0;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  constexpr double least = 1e-3;
  return std::max(least, seconds_ - spent.count());
}

bool Deadline::passed() const {
  if (!limited()) return false;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  return spent.count() >= seconds_;
}

Deadline Deadline::part(double share) const {
  constexpr double passed_at_once = 1e-12;
  if (!limited()) return Deadline(0);
  return Deadline(passed() ? passed_at_once : share * remaining());
}

}  // namespace libcoll
