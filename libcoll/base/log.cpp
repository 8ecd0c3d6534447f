#include "libcoll/base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>

namespace libcoll {
namespace {

std::atomic<LogLevel> current_level{LogLevel::warn};
std::atomic<int> current_rank{-1};
std::atomic<LogSink> current_sink{nullptr};

constexpr std::array<std::string_view, 5> level_names{"error", "warning", "info", "debug", "trace"};

void write_line(std::string_view kind, std::string_view message) noexcept try {
  if (const LogSink sink = current_sink.load(std::memory_order_relaxed); sink != nullptr) {
    sink(kind, std::string(message).c_str());
    return;
  }
  std::string line = "libcoll";
  const int rank = current_rank.load(std::memory_order_relaxed);
  if (rank >= 0) line += "[" + std::to_string(rank) + "]";
  line += ": ";
  if (!kind.empty()) line.append(kind).append(": ");
  line.append(message).append("\n");
  // Nothing sensible can be done about a closed stderr.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
} catch (...) {  // NOLINT(bugprone-empty-catch): out of memory while logging; the line is lost, the program goes on
}

}  // namespace

void configure_log(LogLevel level, int rank) {
  current_level.store(level, std::memory_order_relaxed);
  current_rank.store(rank, std::memory_order_relaxed);
}

void set_log_sink(LogSink sink) noexcept { current_sink.store(sink, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) noexcept { return level <= current_level.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message) noexcept {
  if (log_enabled(level)) write_line(level_names[static_cast<std::size_t>(level)], message);
}

void log_report(std::string_view message) noexcept { write_line("", message); }

}  // namespace libcoll
