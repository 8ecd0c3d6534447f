#include "libcoll/runtime/plan_source.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/safe_file.h"
#include "planner/planner.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/writer.h"

namespace libcoll {
namespace {

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

/// A child process with its standard output in a pipe.
struct Child {
  pid_t process = -1;
  int output = -1;
};

Result<Child> spawn(std::vector<std::string> arguments) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return Error{std::string("pipe: ") + std::strerror(errno)};
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> environment = environment_of_child();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  Child child{-1, pipe_ends[0]};
  const int error = posix_spawn(&child.process, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error == 0) return child;
  close(pipe_ends[0]);
  return Error{"cannot run " + arguments[0] + ": " + std::strerror(error)};
}

/// Everything the child writes, or an error when it takes longer than the limit.
Result<std::string> read_all(int descriptor, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error{"planning took longer than " + std::to_string(patience.count()) + " s"};
    const ssize_t bytes = read(descriptor, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return Error{std::string("reading a plan: ") + std::strerror(errno)};
    if (bytes == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;  // Somebody else reaped it; what it wrote decides.
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The topology as a nameless file that a child process can open by its path.
Result<FileDescriptor> share(const Topology& topology) {
  FileDescriptor file(memfd_create("topology", 0));
  if (!file) return Error{std::string("memfd_create: ") + std::strerror(errno)};
  const std::string text = write_topology(topology);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return Error{std::string("writing a topology: ") + std::strerror(errno)};
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return file;
}

Result<Schedule> plan_by_command(const Config& config, const Topology& topology, Collective collective,
                                 std::chrono::seconds patience) {
  if (config.command.empty()) return Error{"the libcoll command was not found; set LIBCOLL_COMMAND"};
  std::string source = config.topology;
  FileDescriptor shared;
  if (source.empty()) {
    Result<FileDescriptor> file = share(topology);
    if (!file) return file.error();
    shared = std::move(file).value();
    source = "/proc/self/fd/" + std::to_string(shared.get());
  }
  std::vector<std::string> arguments{config.command, "plan",     source, std::string(to_string(collective)),
                                     "--quiet",      "--output", "-"};
  const std::string& algorithm = algorithm_setting(config, collective);
  if (algorithm != "auto") arguments.insert(arguments.end(), {"--algorithm", algorithm});
  const Result<Child> child = spawn(std::move(arguments));
  if (!child) return child.error();
  Result<std::string> text = read_all(child->output, patience);
  close(child->output);
  if (!text) kill(child->process, SIGKILL);
  const int exit_code = wait_for(child->process);
  if (!text) return text.error();
  if (exit_code > 0) return Error{config.command + " plan ended with exit code " + std::to_string(exit_code)};
  return read_schedule(*text, "output of " + config.command);
}

Result<Schedule> make_plan(const Config& config, const Topology& topology, Collective collective,
                           std::chrono::seconds patience) {
  if (collective == Collective::alltoall) return plan_by_command(config, topology, collective, patience);
  const std::string& algorithm = algorithm_setting(config, collective);
  const Result<Planner> planner =
      find_planner(broadcast_planners(), collective, algorithm == "auto" ? std::string_view() : algorithm);
  if (!planner) return planner.error();
  return planner->plan(topology, {});
}

}  // namespace

const std::string& algorithm_setting(const Config& config, Collective collective) {
  static const std::string automatic(automatic_plan);
  const std::optional<CallKind> call = parse_call(to_string(collective));  // the one that bears its name
  return call ? call_setting(config, *call) : automatic;
}

Result<Schedule> obtain_plan(const Config& config, const Topology& topology, Collective collective,
                             std::chrono::seconds patience) {
  const std::string directory = config.cache_dir.empty() ? default_cache_dir() : config.cache_dir;
  const std::string& algorithm = algorithm_setting(config, collective);
  if (!directory.empty()) {
    Result<std::optional<Schedule>> cached = load_plan(directory, topology, collective, algorithm);
    if (!cached) {
      log(LogLevel::warn, cached.error().message + "; planning again");
    } else if (cached->has_value()) {
      return std::move(**cached);
    }
  }
  Result<Schedule> plan = make_plan(config, topology, collective, patience);
  if (!plan) return plan;
  if (!(plan->topology == topology)) return Error{"the plan made is for another topology"};
  const std::vector<std::string> faults = verify(*plan, 1);
  if (!faults.empty()) return Error{"the plan made is faulty: " + faults.front()};
  if (!directory.empty()) {
    const Status stored = store_plan(directory, *plan, algorithm);
    if (!stored) log(LogLevel::info, "plan not kept: " + stored.error().message);
  }
  return plan;
}

}  // namespace libcoll
