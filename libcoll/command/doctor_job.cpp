#include "libcoll/command/doctor_job.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "libcoll/base/system_error.h"
#include "libcoll/command/doctor_messages.h"

namespace libcoll::command {
namespace {

constexpr double tick_seconds = 0.05;
constexpr double greeting_seconds = 5;

/// What strangers cannot guess.
Result<std::string> make_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{"no random numbers: " + reason()};
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", byte);
    text += two.data();
  }
  return text;
}

/// A process that runs the launcher and passes its exit code on; it ends with this one.
Result<pid_t> start_launcher(const Launch& launch) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return Error{"no process can be started: " + reason()};
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  _exit(run_and_wait(launch, STDERR_FILENO));
}

}  // namespace

Result<DoctorJob> DoctorJob::start(Launch launch) {
  Result<Listener> listener = listen_anywhere();
  if (!listener) return listener.error();
  Result<std::string> token = make_token();
  if (!token) return token.error();
  DoctorJob job(std::move(listener).value(), std::move(token).value());
  launch.arguments.insert(launch.arguments.end(),
                          {join(job.listener_.addresses, ","), std::to_string(job.listener_.port), job.token_});
  const Result<pid_t> launcher = start_launcher(launch);
  if (!launcher) return launcher.error();
  job.launcher_ = *launcher;
  return job;
}

DoctorJob::DoctorJob(DoctorJob&& other) noexcept
    : listener_(std::move(other.listener_)),
      token_(std::move(other.token_)),
      launcher_(std::exchange(other.launcher_, -1)),
      exit_code_(other.exit_code_),
      strangers_(std::move(other.strangers_)),
      channels_(std::move(other.channels_)),
      reports_(std::move(other.reports_)),
      ranks_(other.ranks_),
      nameless_(other.nameless_) {}

DoctorJob::~DoctorJob() { end(); }

void DoctorJob::look_at_launcher() {
  if (launcher_ < 0) return;
  int status = 0;
  if (waitpid(launcher_, &status, WNOHANG) != launcher_) return;
  launcher_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Those who have said who they are go to their place.
void DoctorJob::greet() {
  while (std::optional<LineChannel> channel = accept_channel(listener_)) strangers_.push_back(std::move(*channel));
  std::vector<LineChannel> still;
  for (LineChannel& stranger : strangers_) {
    const Result<std::optional<Json>> greeting = stranger.receive(0);
    if (!greeting) continue;
    if (!greeting->has_value()) {
      still.push_back(std::move(stranger));
      continue;
    }
    if (!is_greeting(**greeting, token_)) continue;
    const RankReport report = report_from((**greeting)["report"]);
    if (report.rank < 0 || report.ranks < 1 || report.rank >= report.ranks) {
      ++nameless_;
      continue;
    }
    ranks_ = std::max(ranks_, report.ranks);
    reports_[report.rank] = report;
    channels_.insert_or_assign(report.rank, std::move(stranger));
  }
  strangers_ = std::move(still);
}

std::vector<RankReport> DoctorJob::gather(const Deadline& deadline) {
  std::optional<Deadline> last_words;  // what is under way when the launcher has ended
  while (ranks_ == 0 || reports_.size() < static_cast<std::size_t>(ranks_)) {
    std::vector<pollfd> ready{{listener_.socket.get(), POLLIN, 0}};
    for (const LineChannel& stranger : strangers_) ready.push_back({stranger.descriptor(), POLLIN, 0});
    poll(ready.data(), ready.size(), static_cast<int>(tick_seconds * 1e3));
    greet();
    look_at_launcher();
    if (exit_code_ && !last_words) last_words.emplace(strangers_.empty() ? tick_seconds : greeting_seconds);
    if (deadline.passed() || nameless_ > 0 || (last_words && (strangers_.empty() || last_words->passed()))) break;
  }
  std::vector<RankReport> reports;
  for (const auto& [rank, report] : reports_) reports.push_back(report);
  return reports;
}

std::map<std::int32_t, Json> DoctorJob::ask(const std::map<std::int32_t, Json>& questions, double seconds) {
  std::vector<std::int32_t> asked;
  for (const auto& [rank, question] : questions) {
    const auto channel = channels_.find(rank);
    if (channel == channels_.end()) continue;
    if (channel->second.send(question)) {
      asked.push_back(rank);
    } else {
      channels_.erase(channel);
    }
  }
  const Deadline deadline(seconds);
  std::map<std::int32_t, Json> answers;
  for (const std::int32_t rank : asked) {
    const auto channel = channels_.find(rank);
    Result<std::optional<Json>> answer = channel->second.receive(deadline.passed() ? 0 : deadline.remaining());
    if (answer.ok() && answer->has_value()) {
      answers.emplace(rank, std::move(**answer));
    } else {
      channels_.erase(channel);  // an answer that comes late would be taken for the next one
    }
  }
  return answers;
}

void DoctorJob::end() {
  constexpr double moment_seconds = 10;
  channels_.clear();
  strangers_.clear();
  listener_.socket = FileDescriptor();
  const Deadline deadline(moment_seconds);
  while (launcher_ >= 0 && !deadline.passed()) {
    look_at_launcher();
    if (launcher_ >= 0) poll(nullptr, 0, static_cast<int>(tick_seconds * 1e3));
  }
  if (launcher_ < 0) return;
  kill(launcher_, SIGTERM);
  waitpid(launcher_, nullptr, 0);
  launcher_ = -1;
}

}  // namespace libcoll::command
