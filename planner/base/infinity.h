// What is farther than everything else.
#pragma once

#include <limits>

namespace libcoll {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace libcoll
