#include "libcoll/fabric/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "libcoll/base/system_error.h"

namespace libcoll::fabric {
namespace {

/// An anonymous file, so that a tool never waits for us to read or write.
FileDescriptor text_file(const std::string& text) {
  FileDescriptor file(memfd_create("libcoll-fabric", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file && done < text.size()) {
    const ssize_t put = pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (put <= 0 && errno != EINTR) return {};
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return file;
}

std::string contents(const FileDescriptor& file) {
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while ((got = pread(file.get(), piece, sizeof piece, static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

struct Running {
  pid_t pid = -1;
  FileDescriptor in;
  FileDescriptor out;
  FileDescriptor err;
};

/// In the child: nothing but the tool's own words may come out of it.
[[noreturn]] void become(const InsideJob& job, const Running& files) {
  const Status joined = join_namespaces(job.holder);
  if (!joined) {
    const std::string text = joined.error().message + "\n";
    [[maybe_unused]] const ssize_t put = write(files.err.get(), text.data(), text.size());
    _exit(1);
  }
  dup2(files.in.get(), STDIN_FILENO);
  dup2(files.out.get(), STDOUT_FILENO);
  dup2(files.err.get(), STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : job.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  dprintf(STDERR_FILENO, "%s: %s\n", arguments.front(), std::strerror(errno));
  _exit(1);
}

Result<Running> start(const InsideJob& job) {
  Running running{-1, text_file(job.input), text_file(""), text_file("")};
  if (!running.in || !running.out || !running.err) return Error{"no memory for a file: " + reason()};
  running.pid = fork();
  if (running.pid < 0) return Error{"no process can be started: " + reason()};
  if (running.pid == 0) become(job, running);
  return running;
}

/// Line `number` of a text, from 1.
std::string line_of(const std::string& text, std::size_t number) {
  std::istringstream stream(text);
  std::string line;
  while (number-- > 0 && std::getline(stream, line)) continue;
  return line;
}

/// "RTNETLINK answers: File exists" with the line that was refused ("Command failed -:12").
std::string complaint(const InsideJob& job, std::string said) {
  constexpr std::string_view place = "Command failed -:";
  const std::size_t at = said.find(place);
  std::string refused;
  if (at != std::string::npos) {
    std::size_t number = 0;
    const char* first = said.data() + at + place.size();
    std::from_chars(first, said.data() + said.size(), number);
    refused = " at '" + line_of(job.input, number) + "'";
    said.resize(at);
  }
  std::replace(said.begin(), said.end(), '\n', ' ');
  while (!said.empty() && said.back() == ' ') said.pop_back();
  return std::filesystem::path(job.arguments.front()).filename().string() + refused + ": " +
         (said.empty() ? "failed without a word" : said);
}

Result<std::string> finish(const InsideJob& job, const Running& running) {
  int status = 0;
  while (waitpid(running.pid, &status, 0) < 0) {
    if (errno != EINTR) return Error{"a child process was lost: " + reason()};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Error{complaint(job, contents(running.err))};
  return contents(running.out);
}

}  // namespace

Status join_namespaces(const ProcessId& holder) {
  const FileDescriptor handle = open_process(holder);
  if (!handle) {
    return Error{"process " + std::to_string(holder.pid) + ", which held the namespaces, is gone"};
  }
  int kinds = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS;
  if (namespace_of(holder.pid, "user") != namespace_of(getpid(), "user")) kinds |= CLONE_NEWUSER;
  std::error_code ignored;
  const std::filesystem::path directory = std::filesystem::current_path(ignored);
  if (setns(handle.get(), kinds) != 0) {
    return Error{"the namespaces of process " + std::to_string(holder.pid) + " cannot be entered: " + reason()};
  }
  if (!directory.empty()) std::filesystem::current_path(directory, ignored);
  return {};
}

Result<std::vector<std::string>> run_inside(std::span<const InsideJob> jobs) {
  const std::size_t at_once = std::max(2U, std::thread::hardware_concurrency());
  std::vector<Running> running;
  std::vector<std::string> outputs;
  Status failed;
  while (outputs.size() < running.size() || (failed.ok() && running.size() < jobs.size())) {
    if (failed.ok() && running.size() < jobs.size() && running.size() - outputs.size() < at_once) {
      Result<Running> next = start(jobs[running.size()]);
      if (next.ok()) {
        running.push_back(std::move(next).value());
      } else {
        failed = next.error();
      }
      continue;
    }
    Result<std::string> output = finish(jobs[outputs.size()], running[outputs.size()]);
    if (!output.ok() && failed.ok()) failed = output.error();
    running[outputs.size()] = {};
    outputs.push_back(output.ok() ? std::move(output).value() : std::string());
  }
  if (!failed) return failed.error();
  return outputs;
}

Result<std::string> find_tool(const std::string& name, const std::string& package) {
  for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    const std::string path = folder + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return Error{"there is no '" + name + "' here; it comes with " + package};
}

}  // namespace libcoll::fabric
