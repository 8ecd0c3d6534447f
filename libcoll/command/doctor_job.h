// The job that `libcoll doctor` starts: its processes, and what they are asked.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/command/doctor_report.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/line_channel.h"
#include "planner/base/deadline.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// A launcher with a probe (doctor_probe.h) in every rank. What they write goes to standard error. Ends the job when it
/// goes.
class DoctorJob {
 public:
  /// `launch` lacks the probe's arguments, which come last.
  static Result<DoctorJob> start(Launch launch);
  DoctorJob(DoctorJob&& other) noexcept;
  DoctorJob& operator=(DoctorJob&&) = delete;
  ~DoctorJob();

  /// What the processes that came by then said, by rank; all of them, unless the launcher ends, or the deadline passes.
  std::vector<RankReport> gather(const Deadline& deadline);
  /// Processes of the job, as they say; 0: none has come.
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  /// Of the launcher, when it has ended: as run_and_wait().
  [[nodiscard]] std::optional<int> exit_code() const { return exit_code_; }
  /// Ranks that were greeted and could not say which of how many they are.
  [[nodiscard]] std::int32_t nameless() const { return nameless_; }

  /// Asks ranks, each its own question, and waits for the answers; those that do not answer in time are missing, and
  /// are not asked again.
  std::map<std::int32_t, Json> ask(const std::map<std::int32_t, Json>& questions, double seconds);

  /// Lets the processes end, and waits for the launcher a little.
  void end();

 private:
  DoctorJob(Listener listener, std::string token) : listener_(std::move(listener)), token_(std::move(token)) {}
  void greet();
  void look_at_launcher();

  Listener listener_;
  std::string token_;
  pid_t launcher_ = -1;
  std::optional<int> exit_code_;
  std::vector<LineChannel> strangers_;  ///< connected, and have not said who they are
  std::map<std::int32_t, LineChannel> channels_;
  std::map<std::int32_t, RankReport> reports_;
  std::int32_t ranks_ = 0;
  std::int32_t nameless_ = 0;
};

}  // namespace libcoll::command
