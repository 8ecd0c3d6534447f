#include "libcoll/command/launch.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "libcoll/command/binary.h"
#include "libcoll/command/command.h"

namespace libcoll::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view library_name = "libcoll_pmpi.so";
constexpr std::string_view preload = "LD_PRELOAD";

std::string variable_name(const std::string& entry) { return entry.substr(0, entry.find('=')); }

/// Sets or replaces a variable.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const auto is_old = [&](const std::string& entry) { return variable_name(entry) == name; };
  environment.erase(std::remove_if(environment.begin(), environment.end(), is_old), environment.end());
  environment.push_back(name + "=" + value);
}

/// LD_PRELOAD with our library first, because the first definition of a symbol wins.
std::string preload_value(const std::vector<std::string>& environment, const std::string& library) {
  for (const std::string& entry : environment) {
    if (variable_name(entry) != preload) continue;
    const std::string value = entry.substr(std::min(entry.size(), preload.size() + 1));
    return value.empty() ? library : join({library, value}, ":");
  }
  return library;
}

enum class Launcher : std::uint8_t {
  open_mpi,
  hydra,  ///< of MPICH and its relatives
  other,
};

/// Whether the program's --version says so.
bool says_hydra(const std::string& program) {
  const std::string command = "'" + program + "' --version 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  if (output == nullptr) return false;
  std::array<char, 4096> text{};
  const std::string_view said(text.data(), std::fread(text.data(), 1, text.size(), output.get()));
  return said.find("HYDRA") != std::string_view::npos || said.find("Intel(R) MPI") != std::string_view::npos;
}

/// Distributions call the launchers of their MPIs mpirun.openmpi, mpiexec.mpich, mpiexec.hydra and so on, too.
Launcher launcher_of(const std::string& program) {
  const std::string name = fs::path(program).filename();
  const std::string stem = name.substr(0, name.find('.'));
  if (stem != "mpirun" && stem != "mpiexec" && stem != "orterun" && stem != "prterun") return Launcher::other;
  std::error_code error;
  const std::string file = fs::weakly_canonical(find_program(program), error).filename();
  for (const std::string& each : {name, file}) {
    if (each.ends_with(".openmpi") || each == "orterun" || each == "prterun") return Launcher::open_mpi;
    if (each.ends_with(".mpich") || each.ends_with(".hydra")) return Launcher::hydra;
  }
  // A quote cannot be in the name of a launcher that is asked.
  const bool can_ask = program.find('\'') == std::string::npos;
  return can_ask && says_hydra(program) ? Launcher::hydra : Launcher::open_mpi;
}

/// Whether it concerns libcoll, or what libcoll talks through.
bool is_for_ranks(const std::string& entry) {
  return entry.starts_with("LIBCOLL_") || entry.starts_with("FI_OFI_RXM_");
}

/// Options that make hydra hand LD_PRELOAD and every variable for the ranks to them.
std::vector<std::string> hydra_options(const std::vector<std::string>& environment, const std::string& preloaded) {
  std::vector<std::string> options = {"-genv", std::string(preload), preloaded};
  for (const std::string& entry : environment) {
    const std::string name = variable_name(entry);
    if (is_for_ranks(entry)) options.insert(options.end(), {"-genv", name, entry.substr(name.size() + 1)});
  }
  return options;
}

/// The same for Open MPI's launcher.
std::vector<std::string> export_options(const std::vector<std::string>& environment, const std::string& preloaded) {
  std::vector<std::string> options = {"-x", std::string(preload) + "=" + preloaded};
  for (const std::string& entry : environment) {
    if (is_for_ranks(entry)) options.insert(options.end(), {"-x", variable_name(entry)});
  }
  return options;
}

/// mpirun's -x speaks of one program of `mpirun … a : … b` only, so each gets its own.
std::vector<std::string> with_options(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& options) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    result.push_back(arguments[i]);
    if (i == 0 || arguments[i] == ":") result.insert(result.end(), options.begin(), options.end());
  }
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // exec promises not to write
  result.push_back(nullptr);
  return result;
}

/// Starts the command with the signal mask this process had before.
int spawn(const Launch& launch, const sigset_t& mask, int output, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  const std::vector<char*> arguments = pointers(launch.arguments);
  const std::vector<char*> environment = pointers(launch.environment);
  const int error =
      posix_spawnp(&child, arguments.front(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

timespec to_timespec(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

/// Waits for the child; signals that another process sent to us are passed on. Those of the terminal (si_code
/// SI_KERNEL) went to the whole foreground group already.
int wait_forwarding(pid_t child, const sigset_t& watched, const Deadline& deadline) {
  constexpr double moment = 0.3;  // to end in, seconds
  constexpr double tick = 0.05;
  std::optional<Deadline> last;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child && WIFEXITED(status)) return WEXITSTATUS(status);
    if (ended == child && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (!last && deadline.passed()) {
      kill(child, SIGTERM);
      last.emplace(moment);
    } else if (last && last->passed()) {
      kill(child, SIGKILL);
    }
    siginfo_t info{};
    const timespec pause = to_timespec(last ? tick : deadline.remaining());
    const int signal = deadline.limited() ? sigtimedwait(&watched, &info, &pause) : sigwaitinfo(&watched, &info);
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(child, signal);
  }
}

}  // namespace

Result<std::string> own_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) return Error{"/proc/self/exe: " + error.message()};
  return path.string();
}

Result<std::string> find_preload_library(const std::string& command) {
  const fs::path prefix = fs::path(command).parent_path().parent_path();
  std::error_code error;
  for (const char* folder : {"lib", "lib64"}) {
    const fs::path library = prefix / folder / library_name;
    if (fs::is_regular_file(library, error)) return library.string();
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / folder, error)) {
      if (fs::is_regular_file(entry.path() / library_name, error)) return (entry.path() / library_name).string();
    }
  }
  return Error{"found no " + std::string(library_name) + " in " + (prefix / "lib").string() +
               "; --library FILE says where it is"};
}

Launch prepare_launch(std::vector<std::string> arguments, std::vector<std::string> environment,
                      const std::string& library, const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) set_variable(environment, name, value);
  const std::string preloaded = preload_value(environment, library);
  switch (launcher_of(arguments.front())) {
    case Launcher::open_mpi:
      arguments = with_options(arguments, export_options(environment, preloaded));
      break;
    case Launcher::hydra: {
      const std::vector<std::string> options = hydra_options(environment, preloaded);
      arguments.insert(arguments.begin() + 1, options.begin(), options.end());
      break;
    }
    case Launcher::other:
      set_variable(environment, std::string(preload), preloaded);
      break;
  }
  return {std::move(arguments), std::move(environment)};
}

int run_and_wait(const Launch& launch, int output, const Deadline& deadline) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&watched, signal);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  // An inherited SIG_IGN would have the kernel reap the child behind our back.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, nullptr);
  pid_t child = -1;
  const int error = spawn(launch, before, output, child);
  if (error != 0) {
    std::fprintf(stderr, "libcoll: cannot run %s: %s\n", launch.arguments.front().c_str(), std::strerror(error));
    return cannot_start;
  }
  const int code = wait_forwarding(child, watched, deadline);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace libcoll::command
