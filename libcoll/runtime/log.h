// The one way libcoll speaks: whole lines on stderr, at or below the configured level.
#pragma once

#include <string>
#include <string_view>

#include "libcoll/runtime/config.h"

namespace libcoll {

/// Sets the level and the prefix's rank ("libcoll[3]: "); a negative rank leaves the rank out.
void configure_log(LogLevel level, int rank);

[[nodiscard]] bool log_enabled(LogLevel level) noexcept;

/// Writes "libcoll[RANK]: LEVEL: MESSAGE\n" in one write when the level is enabled.
void log(LogLevel level, std::string_view message) noexcept;

/// What the user asked for explicitly (statistics): written whatever the level.
void log_report(std::string_view message) noexcept;

}  // namespace libcoll
