#include "libcoll/command/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace libcoll::command {

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Progress::show() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start + std::chrono::seconds(2);
  bool shown = false;
  std::unique_lock lock(mutex_);
  for (; !ended_.wait_until(lock, next, [this] { return end_; }); next += std::chrono::seconds(1)) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    std::fprintf(stderr, "\r%s … %lld s", what_.c_str(), static_cast<long long>(seconds));
    shown = true;
  }
  if (shown) std::fputs("\r\033[K", stderr);
}

}  // namespace libcoll::command
