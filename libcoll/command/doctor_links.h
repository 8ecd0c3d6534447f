// Measuring every link between hosts with the processes of a job, for `libcoll doctor`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libcoll/command/doctor_job.h"
#include "libcoll/command/doctor_verdict.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

/// What the transport of a job's processes said when it was opened.
struct OpenedTransports {
  std::string name;                               ///< "ucx"
  std::map<std::int32_t, std::string> addresses;  ///< by rank
  std::map<std::int32_t, std::string> errors;     ///< by rank
};

/// In one rank of each node.
OpenedTransports open_transports(DoctorJob& job, const std::vector<std::int32_t>& ranks);

/// Links between hosts that both have a rank, in rounds: no host takes part in two measurements at once. Suspicious
/// ones again, alone. Then all links at once, if there are several. `rank_of_node` is negative where there is none.
/// Where links are paths, `ways` has what each crosses: two that share a link are not measured at once, nor are all.
class LinkSurvey {
 public:
  LinkSurvey(DoctorJob& job, const topology::Topology& topology, std::vector<std::int32_t> rank_of_node,
             const OpenedTransports& transports, double tolerance,
             std::vector<std::vector<topology::LinkId>> ways = {});
  std::vector<LinkMeasurement> measure();

 private:
  /// Whether a link may be measured beside those; then it is one of them.
  bool is_free(topology::LinkId id, std::set<topology::NodeId>& busy, std::set<topology::LinkId>& crossed) const;
  void measure_alone();
  void measure_again();
  void measure_together();
  /// All of these at once.
  void measure_round(const std::vector<std::size_t>& chosen, bool together);

  DoctorJob& job_;
  const topology::Topology& topology_;
  const std::vector<std::int32_t> rank_of_node_;
  const OpenedTransports& transports_;
  const double tolerance_;
  const std::vector<std::vector<topology::LinkId>> ways_;  ///< by link; empty: each is its own
  std::vector<LinkMeasurement> links_;
  std::map<std::size_t, std::vector<double>> together_;  ///< bytes per second of each attempt, by place in links_
  std::uint32_t next_measurement_ = 1;
};

}  // namespace libcoll::command
