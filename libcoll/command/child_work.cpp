#include "libcoll/command/child_work.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "libcoll/runtime/safe_file.h"
#include "planner/deadline.h"

namespace libcoll::command {
namespace {

[[noreturn]] void be_child(const std::function<std::string()>& work, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // what nobody waits for is not worked on
  const std::string text = work();
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = write(to, left.data(), left.size());
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
  }
  // What this process has not printed yet is the parent's to print.
  _exit(0);
}

/// Adds what comes until the other end is closed. False when the time is up before.
bool read_all(int from, const Deadline& deadline, std::string& text) {
  for (;;) {
    constexpr double most_milliseconds = 1e9;
    const double left = std::clamp(std::ceil(1000 * deadline.remaining()), 0.0, most_milliseconds);
    pollfd entry{from, POLLIN, 0};
    const int ready = poll(&entry, 1, deadline.limited() ? static_cast<int>(left) : -1);
    if (ready == 0) return false;
    std::array<char, 65536> part{};
    const ssize_t got = ready < 0 ? -1 : read(from, part.data(), part.size());
    if (got == 0) return true;
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return true;
  }
}

}  // namespace

Result<std::optional<std::string>> in_child(const std::function<std::string()>& work, double seconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{"cannot make a pipe"};
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Error{"cannot start a child"};
  if (child == 0) be_child(work, to.get());
  to = FileDescriptor(-1);
  std::string text;
  const bool in_time = read_all(from.get(), Deadline(seconds), text);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) return std::optional<std::string>();
  if (WIFSIGNALED(status)) return Error{"ended by signal " + std::to_string(WTERMSIG(status))};
  if (status != 0) return Error{"ended with exit code " + std::to_string(WEXITSTATUS(status))};
  return std::optional(std::move(text));
}

}  // namespace libcoll::command
