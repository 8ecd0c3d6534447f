#include "libcoll/command/time_limit.h"

#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "libcoll/command/command.h"

namespace libcoll::command {
namespace {

// Somewhat less than what is promised, 1.2 and 0.5 s: a process that has gigabytes takes its time to start and to go.
constexpr double stretch = 1.18;
constexpr double allowance = 0.4;  // seconds
// Of what the limit leaves, for a planner whose plan has to be checked and written, and for one of figures alone.
constexpr double share_with_schedule = 0.7;
constexpr double share_of_figures = 0.9;

// What the handler writes: nothing else is safe in it.
std::string on_stderr;  // NOLINT(cert-err58-cpp): empty
std::string on_stdout;  // NOLINT(cert-err58-cpp): empty

void write_whole(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file, text.data() + done, text.size() - done);
    if (put <= 0) return;
    done += static_cast<std::size_t>(put);
  }
}

extern "C" void end_late(int /*signal*/) {
  write_whole(STDERR_FILENO, on_stderr);
  write_whole(STDOUT_FILENO, on_stdout);
  _exit(ExitCode::usage);
}

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

std::string limit_sentence(double seconds, const std::string& nothing) {
  char text[64];
  std::snprintf(text, sizeof text, "the time limit of %.9g s is over, and there is ", seconds);
  return text + nothing;
}

TimeLimit::TimeLimit(double seconds, const std::string& nothing, bool json) : deadline_(seconds) {
  if (!deadline_.limited()) return;
  const std::string sentence = limit_sentence(seconds, nothing);
  on_stderr = "libcoll: " + sentence + "\n";
  on_stdout = json ? Json{{"error", sentence}}.dump(2) + "\n" : std::string();
  struct sigaction action {};
  action.sa_handler = &end_late;
  sigaction(SIGALRM, &action, nullptr);
  set_timer(stretch * seconds + allowance);
}

TimeLimit::~TimeLimit() {
  if (deadline_.limited()) set_timer(0);
}

double TimeLimit::for_planning(bool schedule) const {
  return (schedule ? share_with_schedule : share_of_figures) * deadline_.remaining();
}

}  // namespace libcoll::command
