// What `libcoll doctor` concludes from what the processes of a job say and measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/doctor_report.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

enum class Severity : std::uint8_t {
  fault,    ///< libcoll does not serve the job, or not well
  warning,  ///< worth a look
};

/// One thing to mend. A fault that several hosts have is one finding.
struct Finding {
  Severity severity = Severity::fault;
  std::string check;   ///< "launch", "preload", "version", "host", "topology", "binding", "cache", "transport", "link"
  std::string text;    ///< what was found, where, and what was expected
  std::string advice;  ///< what to do
};

Json to_json(const Finding& finding);

/// Node of every rank, by the rules of the runtime (nodes_of_ranks); empty: not known of all. `reports` by rank.
std::vector<topology::NodeId> nodes_of_reports(const topology::Topology& topology,
                                               const std::vector<RankReport>& reports);

/// What is wrong with the hosts themselves. `reports` are in the order of ranks, and may lack some; `topology` is what
/// the command itself read, and `library` what it preloads.
std::vector<Finding> judge_reports(const topology::Topology& topology, const std::vector<RankReport>& reports,
                                   const std::string& library);

/// A link's figures. What was not measured is absent.
struct LinkMeasurement {
  topology::LinkId link = 0;
  bool carries = true;  ///< false: messages did not arrive
  std::optional<double> latency_seconds;
  std::optional<double> alone_bytes_per_second;     ///< the only link, or one of few, that is used
  std::optional<double> together_bytes_per_second;  ///< all links at once
};

/// How much less than the topology file says is too little.
inline constexpr double usual_tolerance = 0.2;

/// Whether a link is to be measured again before it is called slow.
bool is_suspicious(const topology::Topology& topology, const LinkMeasurement& measured, double tolerance);

/// What is wrong with the links: dead ones, slow ones, those that share a cable, latencies that are not the file's.
std::vector<Finding> judge_links(const topology::Topology& topology, const std::vector<LinkMeasurement>& links,
                                 double tolerance);

/// "n0 -> n1"
std::string link_text(const topology::Topology& topology, topology::LinkId link);

}  // namespace libcoll::command
