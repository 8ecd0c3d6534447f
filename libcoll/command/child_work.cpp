#include "libcoll/command/child_work.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "libcoll/base/safe_file.h"
#include "libcoll/command/command.h"

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

/// Milliseconds to wait as poll() takes them; none when there is no limit.
int milliseconds_left(const Deadline& deadline) {
  constexpr double most = 1e9;
  return deadline.limited() ? static_cast<int>(std::clamp(std::ceil(1000 * deadline.remaining()), 0.0, most)) : -1;
}

/// A byte to the other end, which says no more than that it is there.
bool tell(int to) {
  const char word = 0;
  return send(to, &word, sizeof word, MSG_NOSIGNAL) == sizeof word;
}

bool is_told(int from) {
  char word = 0;
  for (;;) {
    const ssize_t got = recv(from, &word, sizeof word, 0);
    if (got >= 0 || errno != EINTR) return got == sizeof word;
  }
}

bool is_told(int from, const Deadline& deadline) {
  for (;;) {
    pollfd entry{from, POLLIN, 0};
    const int ready = poll(&entry, 1, milliseconds_left(deadline));
    if (ready > 0) return is_told(from);
    if (ready == 0 || errno != EINTR) return false;
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/// Adds what comes until the other end is closed. False when the time is up before.
bool read_all(int from, const Deadline& deadline, std::string& text) {
  for (;;) {
    pollfd entry{from, POLLIN, 0};
    const int ready = poll(&entry, 1, milliseconds_left(deadline));
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
  const int status = wait_for(child);
  if (!in_time) return std::optional<std::string>();
  if (WIFSIGNALED(status)) return Error{"ended by signal " + std::to_string(WTERMSIG(status))};
  if (status != 0) return Error{"ended with exit code " + std::to_string(WEXITSTATUS(status))};
  return std::optional(std::move(text));
}

std::optional<int> finished_in_child(const std::function<bool()>& prepare, const std::function<int()>& finish,
                                     const std::function<void()>& meanwhile, const Deadline& deadline) {
  std::array<int, 2> ends{};
  pid_t child = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {
    std::fflush(nullptr);
    child = fork();
  }
  if (child < 0) {
    meanwhile();
    return std::nullopt;
  }
  const FileDescriptor here(ends[0]);
  FileDescriptor there(ends[1]);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool takes_over = prepare() && tell(there.get()) && is_told(there.get());
    _exit(takes_over ? finish() : ExitCode::usage);
  }
  there = FileDescriptor(-1);
  meanwhile();
  const bool takes_over = is_told(here.get(), deadline) && tell(here.get());
  if (!takes_over) kill(child, SIGKILL);
  const int status = wait_for(child);
  if (!takes_over) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : ExitCode::usage;
}

}  // namespace libcoll::command
