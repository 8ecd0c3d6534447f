// What `libcoll tune` measures: every way that a call could go, in turn, each as a run of the measuring program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/select/tuning_table.h"
#include "planner/base/deadline.h"

namespace libcoll::command {

/// A way for calls to go. What is 0 or empty is as configured.
struct TuningWay {
  bool native = false;
  PlannerName algorithm;
  std::int64_t segment_bytes = 0;
  std::int64_t in_flight = 0;
  friend bool operator==(const TuningWay&, const TuningWay&) = default;
};

/// "native", "plan", "ring", "plan, segments of 32768", "ring, 4 in flight".
std::string to_string(const TuningWay& way);

/// Of one way, at one size.
struct TuningFigure {
  double microseconds = 0;  ///< a call's, the median over the repetitions
  bool served = false;      ///< every call by libcoll
};

/// By size in bytes, as tuning tables count them; then as the ways were given.
using TuningFigures = std::map<std::int64_t, std::vector<TuningFigure>>;

/// How a sweep is run.
struct TuningRuns {
  std::string topology;  ///< empty: as configured
  std::string library;   ///< empty: the command's own
  std::string sizes;     ///< MIN:MAX
  int repetitions = 3;
  int iterations = 50;
  Deadline deadline{0};  ///< no run begins after it, and the one under way ends
};

/// Runs of one launcher.
class TuningSweep {
 public:
  /// `command`: path of the libcoll command; `program`: of collective_sweep.
  TuningSweep(TuningRuns runs, std::string command, std::string program, std::vector<std::string> launcher);

  /// All ways, one after the other, as many times as there are repetitions. Sizes that one of them did not print are
  /// left out, and so are runs that the deadline left no time for. The error says which run failed.
  Result<TuningFigures> measure(CallKind call, const std::vector<TuningWay>& ways);

  /// As the runs said; 0 before the first.
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }

 private:
  Result<std::map<std::int64_t, TuningFigure>> one(CallKind call, const TuningWay& way);
  [[nodiscard]] std::vector<std::string> environment_of(CallKind call, const TuningWay& way) const;

  const TuningRuns runs_;
  const std::string command_;
  const std::string program_;
  const std::vector<std::string> launcher_;
  std::int32_t ranks_ = 0;
};

}  // namespace libcoll::command
