#include "libcoll/observe/setup_times.h"

namespace libcoll::observe {

std::string in_seconds(std::int64_t nanoseconds) {
  constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;
  constexpr std::int64_t milliseconds_per_second = 1000;
  const std::int64_t milliseconds = (nanoseconds + nanoseconds_per_millisecond / 2) / nanoseconds_per_millisecond;
  const std::string digits = std::to_string(milliseconds_per_second + milliseconds % milliseconds_per_second);
  return std::to_string(milliseconds / milliseconds_per_second) + "." + digits.substr(1);
}

std::string to_string(const SetupTimes& times) {
  return in_seconds(times.total()) + " s: contexts " + in_seconds(times.contexts) + ", addresses " +
         in_seconds(times.addresses) + ", plan " + in_seconds(times.plan) + ", connections " +
         in_seconds(times.connections);
}

}  // namespace libcoll::observe
