#include "libcoll/command/text.h"

#include <array>
#include <cstdio>

namespace libcoll::command {
namespace {

std::string formatted(const char* format, double value, int digits, const std::string& unit) {
  std::array<char, 400> text{};  // the largest numbers with decimals have 309 digits before the point
  std::snprintf(text.data(), text.size(), format, digits, value);
  return unit.empty() ? text.data() : text.data() + (" " + unit);
}

}  // namespace

std::string rounded(double value, int digits, const std::string& unit) {
  return formatted("%.*g", value, digits, unit);
}

std::string with_decimals(double value, int places, const std::string& unit) {
  return formatted("%.*f", value, places, unit);
}

}  // namespace libcoll::command
