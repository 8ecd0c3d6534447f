#include "libcoll/fabric/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <sstream>
#include <thread>

namespace libcoll::fabric {
namespace {

using namespace std::chrono_literals;

std::string proc(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::vector<std::string> zero_terminated(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '\0');) parts.push_back(part);
  return parts;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (directory == nullptr) return pids;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

void send_signal(const ProcessId& process, int signal) {
  const FileDescriptor handle = open_process(process);
  if (handle) syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
}

}  // namespace

std::string read_proc(pid_t pid, const std::string& file) {
  const FileDescriptor descriptor(open(proc(pid, file).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; descriptor && (got = read(descriptor.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::uint64_t> start_time(pid_t pid) {
  const std::string text = read_proc(pid, "stat");
  const std::size_t name_end = text.rfind(')');  // the name of a process may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  std::string skipped;
  fields >> state;
  constexpr int between = 18;  // fields 4 to 21
  for (int i = 0; i < between; ++i) fields >> skipped;
  std::uint64_t start = 0;
  if (!(fields >> start) || state == "Z" || state == "X") return std::nullopt;
  return start;
}

bool is_running(const ProcessId& process) { return process.pid > 0 && start_time(process.pid) == process.start; }

FileDescriptor open_process(const ProcessId& process) {
  // System calls by number: the header of some C libraries cannot be used from C++.
  FileDescriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  // From here on the number cannot come to mean another process.
  return handle && is_running(process) ? std::move(handle) : FileDescriptor();
}

std::optional<NamespaceId> namespace_of(pid_t pid, const std::string& kind) {
  struct stat facts {};
  if (stat(proc(pid, "ns/" + kind).c_str(), &facts) != 0) return std::nullopt;
  return NamespaceId{facts.st_dev, facts.st_ino};
}

bool is_own(pid_t pid) {
  struct stat facts {};
  return stat(proc(pid, "").c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

std::vector<std::string> arguments_of(pid_t pid) { return zero_terminated(read_proc(pid, "cmdline")); }

std::vector<std::string> environment_of(pid_t pid) { return zero_terminated(read_proc(pid, "environ")); }

std::vector<ProcessId> find_processes(const std::function<bool(pid_t)>& condition) {
  std::vector<ProcessId> found;
  for (const pid_t pid : all_pids()) {
    const auto start = start_time(pid);
    if (pid == getpid() || !start || !(geteuid() == 0 || is_own(pid)) || !condition(pid)) continue;
    if (start_time(pid) == start) found.push_back({pid, *start});
  }
  return found;
}

Status end_processes(const std::function<std::vector<ProcessId>()>& find, double patience_seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto longest = 10s;
  constexpr auto pause = 10ms;
  const Clock::time_point begin = Clock::now();
  std::vector<ProcessId> asked;
  while (Clock::now() - begin < longest) {
    const std::vector<ProcessId> left = find();
    if (left.empty()) return {};
    for (const ProcessId& process : left) {
      if (Clock::now() - begin >= std::chrono::duration<double>(patience_seconds)) {
        send_signal(process, SIGKILL);
      } else if (std::find(asked.begin(), asked.end(), process) == asked.end()) {
        send_signal(process, SIGTERM);
        asked.push_back(process);
      }
    }
    std::this_thread::sleep_for(pause);
  }
  const std::vector<ProcessId> left = find();
  if (left.empty()) return {};
  return Error{"process " + std::to_string(left.front().pid) + " does not end"};
}

}  // namespace libcoll::fabric
