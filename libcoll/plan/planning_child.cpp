#include "libcoll/plan/planning_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "libcoll/base/system_error.h"

namespace libcoll::plan {
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

/// What posix_spawn is to start, and what came of it.
struct Spawn {
  char* const* arguments;
  char* const* environment;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  int error = 0;
  int pidfd = -1;
};

/// In a process between this one and the planner, which shares this one's memory and descriptors.
int spawn_between(void* argument) {
  auto& spawn = *static_cast<Spawn*>(argument);
  // Where the program ignores it, the kernel would reap the planner before there is a pidfd of it.
  std::signal(SIGCHLD, SIG_DFL);
  pid_t process = -1;
  spawn.error =
      posix_spawn(&process, spawn.arguments[0], spawn.actions, spawn.attributes, spawn.arguments, spawn.environment);
  if (spawn.error == 0) spawn.pidfd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  return 0;
}

/// Starts a process whose parent ends at once. That parent, which never executes another program, has no exit signal:
/// a wait() without __WCLONE passes it over, too.
void spawn_orphan(Spawn& spawn) {
  constexpr std::size_t stack_bytes = 256 * 1024;
  const std::unique_ptr<std::byte[]> stack(new std::byte[stack_bytes]);
  // The program's handlers must not run in the process between.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &before);
  spawn.attributes = &attributes;
  const int between = clone(&spawn_between, stack.get() + stack_bytes, CLONE_VM | CLONE_VFORK | CLONE_FILES, &spawn);
  if (between < 0) spawn.error = errno;
  while (between >= 0 && waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  posix_spawnattr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

PlanningChild::PlanningChild(PlanningChild&& other) noexcept = default;

PlanningChild::~PlanningChild() {
  if (!process_) return;
  syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  // What it holds, such as a lock, is given back before this comes back.
  constexpr int most_milliseconds = 1000;
  pollfd waiting{process_.get(), POLLIN, 0};
  while (poll(&waiting, 1, most_milliseconds) < 0 && errno == EINTR) {
  }
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
  Spawn spawn{argv.data(), environment.data(), &actions, nullptr};
  spawn_orphan(spawn);
  posix_spawn_file_actions_destroy(&actions);
  if (spawn.error != 0) return Error{"cannot run " + arguments.front() + ": " + reason(spawn.error)};
  child.process_ = FileDescriptor(spawn.pidfd);
  if (child.process_) fcntl(child.process_.get(), F_SETFD, FD_CLOEXEC);
  return child;
}

bool PlanningChild::ended() const {
  // Nothing is ever written: it becomes readable when the child closes its end by ending.
  pollfd waiting{alive_.get(), POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

/// Nobody tells the exit code of a process that is no child. A planner writes its plan when that is done, and what it
/// wrote is looked at as a whole.
Result<std::string> PlanningChild::output() {
  process_ = FileDescriptor();
  Result<std::string> plan = read_all(output_.get());
  if (!plan || !plan->empty()) return plan;
  Result<std::string> said = read_all(errors_.get());
  std::string text = said.ok() ? std::move(said).value() : std::string();
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Error{name_ + " plan ended without a plan" + (text.empty() ? "" : ": " + text)};
}

}  // namespace libcoll::plan
