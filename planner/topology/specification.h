// The pieces of a one-line specification such as "torus:3x3x3": family and whole numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/base/result.h"

namespace libcoll::topology {

/// "torus:3x3x3" → {"torus", "3x3x3"}. Views into the text given.
struct Specification {
  std::string_view family;
  std::string_view arguments;
};

/// Splits at the first colon; nothing when there is none.
std::optional<Specification> split_specification(std::string_view text);

/// "3x3x2" with separator 'x' → {3, 3, 2}. Each is a whole number from `least` to `most`, in plain decimal
/// digits without sign, blanks or leading zeros, so that equal topologies have equal specifications.
Result<std::vector<std::int32_t>> parse_numbers(std::string_view text, char separator, std::int32_t least,
                                                std::int32_t most);

}  // namespace libcoll::topology
