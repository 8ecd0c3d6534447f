// The clock of everything that is timed here.
#pragma once

#include <chrono>
#include <cstdint>

namespace libcoll {

inline constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Nanoseconds of the steady clock: differences mean something, within one host also between processes.
inline std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace libcoll
