// The middle one of what was measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace libcoll::command {

/// Of an even number of values the upper one of the two. Precondition: there is a value.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace libcoll::command
