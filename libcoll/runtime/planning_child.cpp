#include "libcoll/runtime/planning_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "libcoll/runtime/system_error.h"

namespace libcoll {
namespace {

constexpr int first_kept = 3;  // of the child's descriptors beyond the standard ones

/// The planner runs outside MPI: what makes a child believe it is a rank, and our own preload, stay behind.
std::vector<char*> environment_of_child() {
  constexpr std::array<std::string_view, 7> dropped{"LD_PRELOAD=", "OMPI_",  "PMIX_",   "PMI_",
                                                    "ORTE_",       "SLURM_", "LIBCOLL_"};
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool drop = false;
    for (const std::string_view prefix : dropped) drop = drop || text.starts_with(prefix);
    if (!drop) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

Result<std::string> read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t bytes = pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return Error{"reading a plan: " + reason()};
    if (bytes == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

/// The descriptor, or one above those the child's are put in: a target must not be another's source.
int out_of_the_way(int descriptor, FileDescriptor& copy) {
  if (descriptor < 0 || descriptor > first_kept + 1) return descriptor;
  copy = FileDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, first_kept + 2));
  return copy.get();
}

}  // namespace

PlanningChild::PlanningChild(PlanningChild&& other) noexcept
    : name_(std::move(other.name_)),
      process_(std::exchange(other.process_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      alive_(std::move(other.alive_)) {}

PlanningChild::~PlanningChild() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  reap();
}

Result<PlanningChild> PlanningChild::start(std::vector<std::string> arguments, int kept_open) {
  PlanningChild child;
  child.name_ = arguments.front();
  child.output_ = FileDescriptor(memfd_create("libcoll-plan", MFD_CLOEXEC));
  child.errors_ = FileDescriptor(memfd_create("libcoll-plan-errors", MFD_CLOEXEC));
  if (!child.output_ || !child.errors_) return Error{"memfd_create: " + reason()};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{"pipe: " + reason()};
  child.alive_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);

  std::array<FileDescriptor, 4> copies;
  const int output = out_of_the_way(child.output_.get(), copies[0]);
  const int errors = out_of_the_way(child.errors_.get(), copies[1]);
  const int life = out_of_the_way(write_end.get(), copies[2]);
  const int kept = out_of_the_way(kept_open, copies[3]);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> environment = environment_of_child();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, life, first_kept);
  if (kept >= 0) posix_spawn_file_actions_adddup2(&actions, kept, first_kept + 1);
  const int error = posix_spawn(&child.process_, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  child.process_ = -1;
  return Error{"cannot run " + arguments.front() + ": " + reason(error)};
}

bool PlanningChild::ended() const {
  // Nothing is ever written: it becomes readable when the child closes its end by ending.
  pollfd waiting{alive_.get(), POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

/// Exit code; negative when somebody else reaped it, so that what it wrote decides.
int PlanningChild::reap() {
  int status = 0;
  const pid_t process = std::exchange(process_, -1);
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  constexpr int killed_by = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : killed_by + WTERMSIG(status);
}

Result<std::string> PlanningChild::output() {
  const int exit_code = reap();
  if (exit_code <= 0) return read_all(output_.get());
  Result<std::string> said = read_all(errors_.get());
  std::string text = said.ok() ? std::move(said).value() : std::string();
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Error{name_ + " plan ended with exit code " + std::to_string(exit_code) + (text.empty() ? "" : ": " + text)};
}

}  // namespace libcoll
