#include "libcoll/command/validators.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <system_error>

namespace libcoll::command {
namespace {

constexpr std::int64_t exbibyte = std::int64_t{1} << 60;
constexpr double most_seconds = 1e9;

/// Whether all of `text` is a number, and which.
template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && stop == end;
}

std::string shown_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

CLI::Validator finite_number(double least, double most, const char* type, const std::string& expected) {
  const auto check = [=](std::string& text) {
    double number = 0;
    if (read_number(text, number) && std::isfinite(number) && number >= least && number <= most) return std::string();
    return "found '" + text + "', expected " + expected;
  };
  return {check, type};
}

}  // namespace

CLI::Validator number_in(double least, double most) {
  return finite_number(least, most, "", "a number from " + shown_number(least) + " to " + shown_number(most));
}

CLI::Validator whole_in(std::int64_t least, std::int64_t most) {
  const auto check = [=](std::string& text) {
    std::int64_t number = 0;
    if (read_number(text, number) && number >= least && number <= most) return std::string();
    return "found '" + text + "', expected a whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  };
  return {check, ""};
}

CLI::Validator seconds_from(double least) {
  return finite_number(least, most_seconds, "",
                       "a number of seconds from " + shown_number(least) + " to " + shown_number(most_seconds));
}

CLI::Validator bytes_from(std::int64_t least) {
  const auto check = [=](std::string& text) {
    std::int64_t number = 0;
    if (read_number(text, number) && number >= least && number <= exbibyte) return std::string();
    return "found '" + text + "' bytes, expected from " + std::to_string(least) + " bytes to 1 EiB";
  };
  return {check, ""};
}

}  // namespace libcoll::command
