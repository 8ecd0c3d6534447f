// The one way libcoll speaks: whole lines at or below the configured level, on stderr or where the host wants them.
#pragma once

#include <string>
#include <string_view>

#include "libcoll/base/config.h"

namespace libcoll {

/// Sets the level and the prefix's rank ("libcoll[3]: "); a negative rank leaves the rank out.
void configure_log(LogLevel level, int rank);

[[nodiscard]] bool log_enabled(LogLevel level) noexcept;

/// Writes "libcoll[RANK]: LEVEL: MESSAGE\n" in one write when the level is enabled.
void log(LogLevel level, std::string_view message) noexcept;

/// Where lines go in place of stderr: the kind ("warning", …; empty for reports) and the message, which ends with a
/// zero byte. Any thread may call it. Null, as at the beginning: stderr.
using LogSink = void (*)(std::string_view kind, const char* message) noexcept;
void set_log_sink(LogSink sink) noexcept;

/// What the user asked for explicitly (statistics): written whatever the level.
void log_report(std::string_view message) noexcept;

}  // namespace libcoll
