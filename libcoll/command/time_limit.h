// What --time-limit promises for a whole command, whatever its phases do.
#pragma once

#include <string>

#include "planner/base/deadline.h"

namespace libcoll::command {

/// A command's time limit, counted from the making of this. Phases that have something usable at any moment poll
/// `deadline` and stop. A command that still goes on is gone by 1.2 times the limit and half a second: one sentence
/// that names the limit on stderr (and as JSON on stdout), ExitCode::usage. One at a time; no limit of 0 does anything.
class TimeLimit {
 public:
  /// `nothing` ends the sentence: "no plan that was checked".
  TimeLimit(double seconds, const std::string& nothing, bool json);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  /// Seconds that a planner may take so that checking and writing its plan have the rest; 0: no limit.
  [[nodiscard]] double for_planning(bool schedule) const;

 private:
  Deadline deadline_;
};

/// The sentence: "the time limit of 5 s is over, and there is …".
std::string limit_sentence(double seconds, const std::string& nothing);

}  // namespace libcoll::command
