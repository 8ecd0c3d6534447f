#include "libcoll/command/doctor_verdict.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "libcoll/comm/rank_nodes.h"
#include "libcoll/command/fabric.h"
#include "libcoll/command/median.h"
#include "libcoll/command/text.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/version.h"
#include "planner/base/index.h"

namespace libcoll::command {

using namespace comm;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::size_t most_named = 8;

std::string host_of(const RankReport& report) {
  return report.names.empty() ? "an unknown host" : report.names.front();
}

/// "n3, n5", the first few.
std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> first(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_named)));
  if (names.size() > most_named) first.push_back(std::to_string(names.size() - most_named) + " more");
  return join(first, ", ");
}

/// Faults by what they are: each with the hosts that have it, in the order of ranks.
class Grouped {
 public:
  void add(const std::string& what, const RankReport& report) {
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const auto& each) { return each.first == what; });
    if (group == groups_.end()) group = groups_.emplace(groups_.end(), what, std::vector<std::string>());
    std::vector<std::string>& hosts = group->second;
    if (std::find(hosts.begin(), hosts.end(), host_of(report)) == hosts.end()) hosts.push_back(host_of(report));
  }

  /// "n3, n5: WHAT"
  void move_to(std::vector<Finding>& findings, Severity severity, const std::string& check,
               const std::string& advice) const {
    for (const auto& [what, hosts] : groups_)
      findings.push_back({severity, check, listed(hosts) + ": " + what, advice});
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

void judge_preload(const std::vector<RankReport>& reports, const std::string& library, std::vector<Finding>& findings) {
  Grouped missing;
  for (const RankReport& report : reports) {
    if (report.preload.empty()) missing.add("libcoll is not preloaded: " + report.preload_obstacle, report);
  }
  missing.move_to(findings, Severity::fault, "preload",
                  "Install libcoll there, or share its folder: " + library +
                      " has to be there. One host without it leaves every call of the job to MPI.");
}

void judge_versions(const std::vector<RankReport>& reports, std::vector<Finding>& findings) {
  Grouped other;
  for (const RankReport& report : reports) {
    const auto check = [&](const std::string& what, const std::string& version) {
      if (version == LIBCOLL_VERSION) return;
      std::string found = what;
      found.append(version.empty() ? " does not say its version" : " is of version ").append(version);
      other.add(found.append(", expected " LIBCOLL_VERSION), report);
    };
    check("the libcoll command", report.version);
    if (report.preload.empty()) continue;
    check(report.preload, report.preload_version);
    if (report.core_error.empty()) {
      check("libcoll_core.so", report.core_version);
    } else {
      other.add("the core beside " + report.preload + " cannot be loaded (" + report.core_error + ")", report);
    }
  }
  other.move_to(findings, Severity::fault, "version",
                "Install one version on all hosts; ranks of different versions leave every call to MPI.");
}

void judge_topology(const Topology& topology, const std::vector<RankReport>& reports, std::vector<Finding>& findings) {
  const std::string expected = plan_file_name(topology, Collective::allgather, "");
  Grouped unreadable;
  Grouped different;
  for (const RankReport& report : reports) {
    if (!report.topology_error.empty()) {
      unreadable.add(report.topology_error, report);
    } else if (report.topology != expected) {
      different.add("the topology file has another content than here", report);
    }
  }
  const std::string advice = "Put the same topology file under the same path on every host.";
  unreadable.move_to(findings, Severity::fault, "topology", advice);
  different.move_to(findings, Severity::fault, "topology", advice);
}

RankIdentity identity_of(const RankReport& report) {
  RankIdentity identity;
  identity.world_rank = report.rank;
  identity.world_size = report.ranks;
  identity.placed = report.placed;
  if (!report.names.empty()) {
    set_names(identity, report.names.front(), std::span<const std::string>(report.names).subspan(1));
  }
  return identity;
}

/// Each host that the topology does not have, once.
void judge_hosts(const Topology& topology, const std::vector<RankReport>& reports, std::vector<Finding>& findings) {
  const bool named = std::any_of(topology.nodes().begin(), topology.nodes().end(),
                                 [](const Node& node) { return !node.host.empty(); });
  std::vector<std::string> told;
  for (const RankReport& report : reports) {
    if (!named && report.placed == not_placed) continue;
    const RankIdentity identity = identity_of(report);
    const RankNodes found = nodes_of_ranks(topology, std::span(&identity, 1), false);
    if (!found.unknown || std::find(told.begin(), told.end(), host_of(report)) != told.end()) continue;
    told.push_back(host_of(report));
    findings.push_back({Severity::fault, "host", unknown_host_sentence(topology, identity),
                        "Name the host in the topology file (hosts, host), or set LIBCOLL_HOST or LIBCOLL_PLACEMENT. "
                        "Communicators with a rank there leave every call to MPI."});
  }
  if (!named && told.empty() && !reports.empty() && nodes_of_reports(topology, reports).empty()) {
    findings.push_back({Severity::fault, "host",
                        "the topology names no hosts, and neither ranks (" + std::to_string(reports.size()) +
                            ") nor their hosts are as many as its " + std::to_string(topology.host_count()) + " nodes",
                        "Name the hosts in the topology file (hosts = \"n[0-7]\")."});
  }
}

void judge_rest(const std::vector<RankReport>& reports, std::vector<Finding>& findings) {
  Grouped bindings;
  Grouped caches;
  Grouped warnings;
  for (const RankReport& report : reports) {
    if (!report.binding_error.empty()) bindings.add(report.binding_error, report);
    for (const std::string& fault : report.device_faults) bindings.add(fault, report);
    if (!report.cache_error.empty()) caches.add(report.cache_error, report);
    for (const std::string& warning : report.warnings) warnings.add(warning, report);
  }
  bindings.move_to(findings, Severity::fault, "binding",
                   "Correct the route binding (libcoll-routes(5)), or the LMC and addresses of the port.");
  caches.move_to(findings, Severity::fault, "cache",
                 "Set LIBCOLL_CACHE_DIR to a directory of the user's own that all hosts share.");
  warnings.move_to(findings, Severity::warning, "settings", "See libcoll-runtime(7).");
}

// ---- links ---------------------------------------------------------------------------------------------------------

double declared(const Topology& topology, LinkId link) {
  return static_cast<double>(topology.link(link).bandwidth_bytes_per_second);
}

/// Of all links of a host at once.
double declared_together(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  const auto share = [&](std::size_t links) {
    const auto injection = static_cast<double>(topology.injection_bytes_per_second());
    return injection > 0 ? injection / static_cast<double>(links) : declared(topology, id);
  };
  return std::min(
      {declared(topology, id), share(topology.out_links(link.from).size()), share(topology.in_links(link.to).size())});
}

std::vector<const LinkMeasurement*> those_with(const std::vector<LinkMeasurement>& links,
                                               std::optional<double> LinkMeasurement::*figure) {
  std::vector<const LinkMeasurement*> result;
  for (const LinkMeasurement& link : links) {
    if (link.carries && (link.*figure).has_value()) result.push_back(&link);
  }
  return result;
}

void judge_dead(const Topology& topology, const std::vector<LinkMeasurement>& links, std::vector<Finding>& findings) {
  for (const LinkMeasurement& link : links) {
    if (link.carries) continue;
    findings.push_back({Severity::fault, "link", link_text(topology, link.link) + ": messages do not arrive",
                        "Check the cable, its ports and the route between the two hosts."});
  }
}

/// One by one; where most are slow in the same way, the file is.
void judge_bandwidths(const Topology& topology, const std::vector<LinkMeasurement>& links, double tolerance,
                      std::vector<Finding>& findings) {
  const auto measured = those_with(links, &LinkMeasurement::alone_bytes_per_second);
  if (measured.empty()) return;
  std::vector<double> parts;
  parts.reserve(measured.size());
  for (const LinkMeasurement* link : measured) {
    parts.push_back(*link->alone_bytes_per_second / declared(topology, link->link));
  }
  const double usual = median(parts);
  const bool file_is_wrong = usual < 1 - tolerance;
  if (file_is_wrong) {
    findings.push_back({Severity::fault, "link",
                        "most links carry " + with_decimals(100 * usual, 0, "%") + " of what the topology file says",
                        "Measure with nothing else on the fabric; if that stays, write the true bandwidth into the "
                        "file: plans and the cost model follow it."});
  } else if (usual > 1 + 2 * tolerance) {
    findings.push_back({Severity::warning, "link",
                        "most links carry " + with_decimals(100 * usual, 0, "%") + " of what the topology file says",
                        "Write the true bandwidth into the file: plans and the cost model follow it."});
  }
  const double expected = file_is_wrong ? usual : 1;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (parts[i] >= (1 - tolerance) * expected) continue;
    const LinkId id = measured[i]->link;
    findings.push_back({Severity::fault, "link",
                        link_text(topology, id) + ": carries " +
                            rate_text(bits_per_byte * *measured[i]->alone_bytes_per_second) +
                            ", the topology file says " + rate_text(bits_per_byte * declared(topology, id)),
                        "Check the cable and both ports (speed, width, errors), and that nothing else uses the link."});
  }
}

/// Links that reach their bandwidth alone and not with the others use cables of others.
void judge_sharing(const Topology& topology, const std::vector<LinkMeasurement>& links, double tolerance,
                   std::vector<Finding>& findings) {
  constexpr double of_the_others = 0.65;  // two on one cable have half each
  const auto measured = those_with(links, &LinkMeasurement::together_bytes_per_second);
  if (measured.empty()) return;
  std::vector<double> parts;
  parts.reserve(measured.size());
  for (const LinkMeasurement* link : measured) {
    parts.push_back(*link->together_bytes_per_second / declared_together(topology, link->link));
  }
  const double usual = median(parts);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const bool slow_alone = is_suspicious(topology, *measured[i], tolerance);
    if (parts[i] < of_the_others * usual && !slow_alone) names.push_back(link_text(topology, measured[i]->link));
  }
  if (names.empty()) return;
  findings.push_back({Severity::fault, "link",
                      listed(names) + ": less than the others when all links carry at once, and enough alone",
                      "Some of them share a cable: compare the wiring with the topology file, and the routes between "
                      "neighbours with the direct links."});
}

void judge_latencies(const Topology& topology, const std::vector<LinkMeasurement>& links,
                     std::vector<Finding>& findings) {
  constexpr double much = 3;
  constexpr double noticeable_seconds = 50e-6;
  const auto measured = those_with(links, &LinkMeasurement::latency_seconds);
  if (measured.empty()) return;
  std::vector<double> seconds;
  std::vector<double> said;
  for (const LinkMeasurement* link : measured) {
    seconds.push_back(*link->latency_seconds);
    said.push_back(topology.link(link->link).latency_seconds);
  }
  const double usual = median(seconds);
  const double of_file = median(said);
  if (usual > much * of_file || of_file > much * usual) {
    findings.push_back(
        {Severity::warning, "link",
         "links take " + rounded(1e6 * usual, 3, "us") + ", the topology file says " + rounded(1e6 * of_file, 3, "us"),
         "Write latency into the topology file: plans for small vectors follow it."});
  }
  for (const LinkMeasurement* link : measured) {
    if (*link->latency_seconds < much * usual + noticeable_seconds) continue;
    findings.push_back({Severity::warning, "link",
                        link_text(topology, link->link) + ": takes " + rounded(1e6 * *link->latency_seconds, 3, "us") +
                            ", others " + rounded(1e6 * usual, 3, "us"),
                        "The way there may be longer than one cable: compare the wiring with the topology file."});
  }
}

}  // namespace

Json to_json(const Finding& finding) {
  return {{"severity", finding.severity == Severity::fault ? "fault" : "warning"},
          {"check", finding.check},
          {"text", finding.text},
          {"advice", finding.advice}};
}

std::vector<NodeId> nodes_of_reports(const Topology& topology, const std::vector<RankReport>& reports) {
  std::vector<RankIdentity> identities;
  identities.reserve(reports.size());
  for (const RankReport& report : reports) identities.push_back(identity_of(report));
  if (identities.empty()) return {};
  return nodes_of_ranks(topology, identities, false).nodes;
}

std::vector<Finding> judge_reports(const Topology& topology, const std::vector<RankReport>& reports,
                                   const std::string& library) {
  std::vector<Finding> findings;
  judge_preload(reports, library, findings);
  judge_versions(reports, findings);
  judge_topology(topology, reports, findings);
  judge_hosts(topology, reports, findings);
  judge_rest(reports, findings);
  return findings;
}

bool is_suspicious(const Topology& topology, const LinkMeasurement& measured, double tolerance) {
  if (!measured.carries) return true;
  return measured.alone_bytes_per_second &&
         *measured.alone_bytes_per_second < (1 - tolerance) * declared(topology, measured.link);
}

std::vector<Finding> judge_links(const Topology& topology, const std::vector<LinkMeasurement>& links,
                                 double tolerance) {
  std::vector<Finding> findings;
  judge_dead(topology, links, findings);
  judge_bandwidths(topology, links, tolerance, findings);
  judge_sharing(topology, links, tolerance, findings);
  judge_latencies(topology, links, findings);
  return findings;
}

std::string link_text(const Topology& topology, LinkId link) {
  const auto name = [&](NodeId node) {
    const std::string& host = topology.node(node).host;
    return host.empty() ? "node " + topology.node(node).name : host;
  };
  return name(topology.link(link).from) + " -> " + name(topology.link(link).to);
}

}  // namespace libcoll::command
