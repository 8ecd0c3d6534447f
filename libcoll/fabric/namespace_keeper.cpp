#include "libcoll/fabric/namespace_keeper.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <sstream>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/base/system_error.h"
#include "libcoll/fabric/configuration.h"
#include "libcoll/fabric/private_files.h"

namespace libcoll::fabric {
namespace {

constexpr int node_namespaces = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS;
constexpr const char* control_host = "fabric-control";

Status write_file(const std::string& path, const std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error{path + " cannot be written: " + reason()};
  }
  return {};
}

Status apply_kernel_settings(std::int64_t window_factor) {
  for (const KernelSetting& setting : kernel_settings(window_factor)) {
    Status written = write_file("/proc/sys/" + setting.path, setting.value);
    if (!written && setting.required) return written;
  }
  return {};
}

enum class Place : std::uint8_t { control, node };

Status make_node(const std::string& host_name, const KeeperOrder& order, Place place) {
  if (unshare(node_namespaces) != 0) return Error{"no new namespaces: " + reason()};
  if (sethostname(host_name.data(), host_name.size()) != 0) return Error{"no host name: " + reason()};
  if (Status mounted = mount_private_view(order.hosts_file); !mounted) return mounted;
  if (place == Place::node) {
    if (Status mounted = mount_private_directories(order.shared_directories); !mounted) return mounted;
  }
  return apply_kernel_settings(order.window_factor);
}

/// Without privileges, a user namespace in which this user is root has them, over what is made inside it.
Status become_root_inside() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) return Error{reason()};
  if (Status written = write_file("/proc/self/setgroups", "deny"); !written) return written;
  if (Status written = write_file("/proc/self/uid_map", "0 " + user + " 1"); !written) return written;
  return write_file("/proc/self/gid_map", "0 " + group + " 1");
}

Status make_control(const KeeperOrder& order) {
  if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) {
    if (Status root = become_root_inside(); !root) {
      return Error{"an emulated fabric needs root or user namespaces, and neither is allowed here (" +
                   root.error().message + ")"};
    }
  }
  // A change of credentials hides a process from others of the same user, who could not enter its namespaces then.
  prctl(PR_SET_DUMPABLE, 1);
  return make_node(control_host, order, Place::control);
}

[[noreturn]] void wait_to_be_killed() {
  for (;;) pause();
}

void say(int out, const std::string& line) {
  [[maybe_unused]] const ssize_t put = write(out, line.data(), line.size());
}

/// Forks the holder of one node; returns its pid once its namespaces are there.
Result<pid_t> fork_holder(const std::string& host_name, const KeeperOrder& order) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{reason()};
  const FileDescriptor in(ends[0]);
  FileDescriptor out(ends[1]);
  const pid_t control = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{"no process can be started: " + reason()};
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != control) _exit(1);
    const Status made = make_node(host_name, order, Place::node);
    say(out.get(), made.ok() ? std::string("ready") : made.error().message);
    close_range(0, ~0U, 0);
    wait_to_be_killed();
  }
  out = FileDescriptor();
  std::string said;
  std::array<char, 512> piece{};
  ssize_t got = 0;
  while (said != "ready" && (got = read(in.get(), piece.data(), piece.size())) > 0) {
    said.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (said != "ready") return Error{host_name + ": " + (said.empty() ? "its holder ended" : said)};
  return pid;
}

/// The order as lines: hosts file, window factor, number of shared directories and these, then host names. What
/// order_text() wrote.
KeeperOrder read_order() {
  KeeperOrder order;
  std::string number;
  std::getline(std::cin, order.hosts_file);
  std::getline(std::cin, number);
  order.window_factor = std::strtoll(number.c_str(), nullptr, 10);
  std::getline(std::cin, number);
  for (std::int64_t left = std::strtoll(number.c_str(), nullptr, 10); left > 0 && std::cin.good(); --left) {
    std::getline(std::cin, order.shared_directories.emplace_back());
  }
  for (std::string name; std::getline(std::cin, name);) order.host_names.push_back(name);
  return order;
}

std::string order_text(const KeeperOrder& order) {
  std::string text = order.hosts_file + "\n" + std::to_string(order.window_factor) + "\n" +
                     std::to_string(order.shared_directories.size()) + "\n";
  for (const std::string& directory : order.shared_directories) text += directory + "\n";
  for (const std::string& name : order.host_names) text += name + "\n";
  return text;
}

/// A pipe whose ends close on exec.
Result<std::pair<FileDescriptor, FileDescriptor>> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{"no pipe: " + reason()};
  return std::pair<FileDescriptor, FileDescriptor>(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

Result<pid_t> spawn_control(const KeeperOrder& order, int in, int out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = "libcoll";
  std::string subcommand = keeper_subcommand;
  std::string fabric = order.fabric;
  std::array<char*, 4> arguments = {program.data(), subcommand.data(), fabric.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Error{"no control process: " + reason(error)};
  return pid;
}

Result<ProcessId> identified(pid_t pid) {
  const auto start = start_time(pid);
  if (!start) return Error{"process " + std::to_string(pid) + " ended at once"};
  return ProcessId{pid, *start};
}

/// "node PID" for each node, then "ready"; anything else is what went wrong.
Result<Keepers> read_report(int in, pid_t control) {
  std::string text;
  std::array<char, 4096> piece{};
  ssize_t got = 0;
  while ((got = read(in, piece.data(), piece.size())) > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  Keepers holders;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line) && line.starts_with("node ")) {
    const Result<ProcessId> node = identified(static_cast<pid_t>(std::strtol(line.c_str() + 5, nullptr, 10)));
    if (!node) return node.error();
    holders.nodes.push_back(*node);
  }
  if (line != "ready") return Error{line.empty() ? "the control process ended early" : line};
  const Result<ProcessId> self = identified(control);
  if (!self) return self.error();
  holders.control = *self;
  return holders;
}

}  // namespace

Result<Keepers> start_keepers(const KeeperOrder& order) {
  auto orders = make_pipe();
  if (!orders) return orders.error();
  auto report = make_pipe();
  if (!report) return report.error();
  const Result<pid_t> control = spawn_control(order, orders->first.get(), report->second.get());
  if (!control) return control.error();
  orders->first = FileDescriptor();
  report->second = FileDescriptor();
  const std::string text = order_text(order);
  if (write(orders->second.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error{"the control process takes no orders"};
  }
  orders->second = FileDescriptor();
  Result<Keepers> holders = read_report(report->first.get(), *control);
  if (!holders) {
    kill(*control, SIGKILL);  // our own child, not waited for yet
    waitpid(*control, nullptr, 0);
  }
  return holders;
}

int hold_fabric() {
  prctl(PR_SET_NAME, "libcoll-fabric");
  const KeeperOrder order = read_order();
  if (order.window_factor < 1) return 1;
  if (const Status made = make_control(order); !made) {
    say(STDOUT_FILENO, made.error().message + "\n");
    return 1;
  }
  for (const std::string& name : order.host_names) {
    const Result<pid_t> holder = fork_holder(name, order);
    if (!holder) {
      say(STDOUT_FILENO, holder.error().message + "\n");
      return 1;
    }
    say(STDOUT_FILENO, "node " + std::to_string(*holder) + "\n");
  }
  say(STDOUT_FILENO, "ready\n");
  [[maybe_unused]] const int left = chdir("/");  // keeps no file system busy
  close_range(0, ~0U, 0);
  wait_to_be_killed();
}

}  // namespace libcoll::fabric
