#include "planner/deadline.h"

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

}  // namespace libcoll
