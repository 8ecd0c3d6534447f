// Numbers as the tables and sentences of the command print them.
#pragma once

#include <string>

namespace libcoll::command {

inline constexpr double bits_per_byte = 8;

/// `value` with that many significant digits; the unit, if any, behind a blank: "1.5 ms".
std::string rounded(double value, int digits, const std::string& unit = "");

/// The same with that many digits behind the point.
std::string with_decimals(double value, int places, const std::string& unit = "");

}  // namespace libcoll::command
