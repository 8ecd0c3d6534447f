// libcoll doctor: checks, on the hosts of a real job, whether libcoll will serve it and whether the fabric is what the
// topology file says.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/command/doctor_job.h"
#include "libcoll/command/doctor_links.h"
#include "libcoll/command/doctor_messages.h"
#include "libcoll/command/doctor_paths.h"
#include "libcoll/command/doctor_probe.h"
#include "libcoll/command/doctor_verdict.h"
#include "libcoll/command/fabric.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/validators.h"
#include "libcoll/version.h"
#include "planner/base/index.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace topology;

namespace {

constexpr const char* doctor_usage =
    "Usage: libcoll doctor [OPTIONS] [TOPOLOGY] -- mpirun -n RANKS [OPTIONS OF mpirun]";

struct DoctorOptions {
  std::string topology;
  std::string library;
  double tolerance = usual_tolerance;
  double time_limit_seconds = 120;
  bool no_links = false;
  bool json = false;
};

/// All that was found out.
struct Examination {
  Topology topology;
  std::vector<RankReport> reports;
  std::int32_t ranks = 0;
  std::vector<NodeId> nodes;  ///< by report; empty: not known of all
  std::string transport;
  std::vector<LinkMeasurement> links;
  std::int32_t links_to_measure = 0;  ///< between hosts
  SwitchPaths paths;                  ///< through switches
  std::vector<LinkMeasurement> measured_paths;
  std::vector<Finding> findings;
};

bool has_fault(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::fault; });
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path result = std::filesystem::absolute(path, error);
  return error ? path : result.lexically_normal().string();
}

/// The launcher with a probe in every rank, preloaded as `libcoll run` does it.
Result<Launch> probe_launch(const std::string& topology, const std::string& command, const std::string& library,
                            std::vector<std::string> launcher) {
  launcher.insert(launcher.end(), {command, probe_subcommand});
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const std::string named = generate(topology).ok() ? topology : absolute_path(topology);
  if (library.find_first_of(": \t") != std::string::npos) {
    return Error{"the dynamic linker cannot preload \"" + library + "\": its path has a space or a colon"};
  }
  return prepare_launch(std::move(launcher), std::move(environment), library, {{"LIBCOLL_TOPOLOGY", named}});
}

/// Processes that did not come.
void judge_launch(const DoctorJob& job, const Examination& found, double limit_seconds,
                  std::vector<Finding>& findings) {
  if (job.nameless() > 0) {
    findings.push_back(
        {Severity::fault, "launch",
         "the launcher does not tell its processes their rank and number (OMPI_COMM_WORLD_RANK, PMI_RANK "
         "or SLURM_PROCID)",
         "Use mpirun or mpiexec of Open MPI or MPICH, or srun."});
    return;
  }
  if (found.ranks > 0 && found.reports.size() == at(found.ranks)) return;
  std::set<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < found.ranks; ++rank) missing.insert(rank);
  for (const RankReport& report : found.reports) missing.erase(report.rank);
  std::string who = found.ranks == 0 ? "no process of the job"
                                     : std::to_string(missing.size()) +
                                           " ranks (the first: " + std::to_string(*missing.begin()) + ") have not";
  who += found.ranks == 0 ? " has come" : " come";
  const std::string how = job.exit_code() ? "; the launcher ended with exit code " + std::to_string(*job.exit_code())
                                          : " within " + std::to_string(static_cast<int>(limit_seconds)) + " s";
  findings.push_back({Severity::fault, "launch", who + how,
                      "See above what the launcher says. The libcoll command has to be on every host, under the same "
                      "path, and every host has to reach this one over TCP."});
}

/// The first rank of each node; negative: it has none.
std::vector<std::int32_t> first_ranks(const Examination& found) {
  std::vector<std::int32_t> rank_of_node(at(found.topology.host_count()), -1);
  for (std::size_t i = 0; i < found.nodes.size(); ++i) {
    std::int32_t& rank = rank_of_node[at(found.nodes[i])];
    if (rank < 0) rank = found.reports[i].rank;
  }
  return rank_of_node;
}

void examine_links(DoctorJob& job, Examination& found, double tolerance) {
  const std::vector<std::int32_t> rank_of_node = first_ranks(found);
  std::vector<std::int32_t> ranks;
  for (const std::int32_t rank : rank_of_node) {
    if (rank >= 0) ranks.push_back(rank);
  }
  const OpenedTransports transports = open_transports(job, ranks);
  found.transport = transports.name;
  std::map<std::string, std::vector<std::string>> hosts_of_error;
  for (const auto& [rank, error] : transports.errors) {
    for (const RankReport& report : found.reports) {
      if (report.rank == rank && !report.names.empty()) hosts_of_error[error].push_back(report.names.front());
    }
  }
  for (const auto& [error, hosts] : hosts_of_error) {
    found.findings.push_back({Severity::fault, "transport", join(hosts, ", ") + ": " + error,
                              "See LIBCOLL_TRANSPORT and LIBCOLL_ROUTE_BINDING in libcoll-runtime(7), and ucx_info -d "
                              "on the host."});
  }
  LinkSurvey survey(job, found.topology, rank_of_node, transports, tolerance);
  found.links = survey.measure();
  for (Finding& finding : judge_links(found.topology, found.links, tolerance)) {
    found.findings.push_back(std::move(finding));
  }
  std::vector<bool> measures;
  measures.reserve(rank_of_node.size());
  for (const std::int32_t rank : rank_of_node) measures.push_back(rank >= 0 && transports.addresses.contains(rank));
  found.paths = choose_paths(found.topology, measures);
  if (found.paths.links.empty()) return;
  LinkSurvey paths(job, found.paths.ends, rank_of_node, transports, tolerance, found.paths.links);
  found.measured_paths = paths.measure();
  for (Finding& finding : judge_paths(found.topology, found.paths, found.measured_paths, tolerance)) {
    found.findings.push_back(std::move(finding));
  }
}

Result<Examination> examine(const DoctorOptions& options, const std::vector<std::string>& launcher) {
  const LoadedConfig loaded = load_config(environ);
  const std::string named = options.topology.empty() ? loaded.config.topology : options.topology;
  if (named.empty()) return Error{std::string("no topology: give it or set LIBCOLL_TOPOLOGY. ") + doctor_usage};
  Result<Topology> topology = load_topology(named);
  if (!topology) return topology.error();
  const Result<std::string> command = own_path();
  if (!command) return command.error();
  const Result<std::string> library =
      options.library.empty() ? find_preload_library(*command) : Result<std::string>(absolute_path(options.library));
  if (!library) return library.error();
  Result<Launch> launch = probe_launch(named, *command, *library, launcher);
  if (!launch) return launch.error();
  Result<DoctorJob> job = DoctorJob::start(std::move(launch).value());
  if (!job) return job.error();
  Examination found;
  found.topology = std::move(topology).value();
  found.reports = job->gather(Deadline(options.time_limit_seconds));
  found.ranks = job->ranks();
  judge_launch(*job, found, options.time_limit_seconds, found.findings);
  for (Finding& finding : judge_reports(found.topology, found.reports, *library)) {
    found.findings.push_back(std::move(finding));
  }
  found.nodes = nodes_of_reports(found.topology, found.reports);
  for (const Link& link : found.topology.links()) {
    const NodeId hosts = found.topology.host_count();
    found.links_to_measure += link.from < hosts && link.to < hosts ? 1 : 0;
  }
  const bool same_version = std::all_of(found.reports.begin(), found.reports.end(),
                                        [](const RankReport& report) { return report.version == LIBCOLL_VERSION; });
  const bool complete = found.ranks > 0 && found.reports.size() == at(found.ranks);
  if (!options.no_links && complete && same_version && !found.nodes.empty()) {
    examine_links(*job, found, options.tolerance);
  }
  job->end();
  return found;
}

// ---- saying it ------------------------------------------------------------------------------------------------------

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json examination_json(const Examination& found) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < found.reports.size(); ++i) {
    Json report = to_json(found.reports[i]);
    report["node"] = found.nodes.empty() ? Json(nullptr) : Json(found.topology.node(found.nodes[i]).name);
    ranks.push_back(std::move(report));
  }
  Json links = Json::array();
  for (const LinkMeasurement& measured : found.links) {
    const Link& link = found.topology.link(measured.link);
    links.push_back({{"from", found.topology.node(link.from).name},
                     {"to", found.topology.node(link.to).name},
                     {"carries", measured.carries},
                     {"bandwidth_bytes_per_second", link.bandwidth_bytes_per_second},
                     {"alone_bytes_per_second", optional_number(measured.alone_bytes_per_second)},
                     {"together_bytes_per_second", optional_number(measured.together_bytes_per_second)},
                     {"latency_seconds", optional_number(measured.latency_seconds)}});
  }
  Json paths = Json::array();
  for (const LinkMeasurement& measured : found.measured_paths) {
    Json nodes = {found.topology.node(found.paths.ends.link(measured.link).from).name};
    for (const LinkId id : found.paths.links[at(measured.link)])
      nodes.push_back(found.topology.node(found.topology.link(id).to).name);
    paths.push_back({{"nodes", nodes},
                     {"carries", measured.carries},
                     {"bandwidth_bytes_per_second", found.paths.ends.link(measured.link).bandwidth_bytes_per_second},
                     {"alone_bytes_per_second", optional_number(measured.alone_bytes_per_second)},
                     {"latency_seconds", optional_number(measured.latency_seconds)}});
  }
  Json findings = Json::array();
  for (const Finding& finding : found.findings) findings.push_back(to_json(finding));
  return {{"good", !has_fault(found.findings)},
          {"topology", found.topology.name()},
          {"version", LIBCOLL_VERSION},
          {"transport", found.transport},
          {"ranks", ranks},
          {"links_of_topology", found.links_to_measure},
          {"links", links},
          {"links_of_switches", found.paths.links_of_switches},
          {"links_of_switches_measured", found.paths.links_on_paths},
          {"paths", paths},
          {"findings", findings}};
}

/// "19.6 to 19.9 Mbit/s" and the like: least and most of a figure.
struct Range {
  double least = 0;
  double most = 0;
  std::int32_t number = 0;
  void add(const std::optional<double>& value) {
    if (!value) return;
    least = number == 0 ? *value : std::min(least, *value);
    most = number == 0 ? *value : std::max(most, *value);
    ++number;
  }
};

std::string link_line(const Examination& found) {
  Range rates;
  Range latencies;
  for (const LinkMeasurement& link : found.links) {
    rates.add(link.alone_bytes_per_second);
    latencies.add(link.latency_seconds);
  }
  std::string text = std::to_string(rates.number) + " of " + std::to_string(found.links_to_measure) + " measured";
  if (rates.number == 0) return text;
  char latency[64];
  std::snprintf(latency, sizeof latency, "%.3g to %.3g us", latencies.least * 1e6, latencies.most * 1e6);
  return text + " over " + found.transport + ": b " + rate_text(8 * rates.least) + " to " + rate_text(8 * rates.most) +
         ", α " + latency;
}

/// What of switches' links is seen, and what cannot be.
std::string switch_line(const Examination& found) {
  const SwitchPaths& paths = found.paths;
  std::string text = std::to_string(paths.links_on_paths) + " of " + std::to_string(paths.links_of_switches) +
                     " measured, by " + std::to_string(found.measured_paths.size()) + " paths between hosts";
  if (paths.links_on_paths == paths.links_of_switches) return text;
  return text + "; the others cannot be: no two hosts of the job have them on their only shortest way";
}

std::string verdict_of(const std::vector<Finding>& findings, const std::string& check) {
  std::size_t faults = 0;
  for (const Finding& finding : findings) {
    faults += finding.check == check && finding.severity == Severity::fault ? 1 : 0;
  }
  return faults == 0 ? "good" : std::to_string(faults) + (faults == 1 ? " fault" : " faults");
}

void print_examination(const Examination& found) {
  std::set<std::string> hosts;
  for (const RankReport& report : found.reports) {
    if (!report.names.empty()) hosts.insert(report.names.front());
  }
  std::printf("%s: %zu of %d ranks on %zu hosts, libcoll %s\n", found.topology.name().c_str(), found.reports.size(),
              static_cast<int>(found.ranks), hosts.size(), LIBCOLL_VERSION);
  std::vector<std::vector<std::string>> rows;
  const std::vector<std::pair<const char*, const char*>> checks = {
      {"preload", "libcoll is preloaded on every host"}, {"version", "one version everywhere"},
      {"topology", "one topology file everywhere"},      {"host", "the topology has every host"},
      {"binding", "devices of the route binding"},       {"cache", "plans can be cached"}};
  rows.reserve(checks.size() + 1);
  for (const auto& [check, text] : checks) rows.push_back({text, verdict_of(found.findings, check)});
  rows.push_back({"links", verdict_of(found.findings, "link") + ", " + link_line(found)});
  if (found.paths.links_of_switches > 0) rows.push_back({"links of switches", switch_line(found)});
  std::fputs(columns(rows).c_str(), stdout);
  for (const Finding& finding : found.findings) {
    std::printf("%s: %s\n    %s\n", finding.severity == Severity::fault ? "fault" : "warning", finding.text.c_str(),
                finding.advice.c_str());
  }
  const auto faults = std::count_if(found.findings.begin(), found.findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::fault; });
  if (faults == 0) {
    std::puts("verdict: good");
  } else {
    std::printf("verdict: not good, %d fault%s\n", static_cast<int>(faults), faults == 1 ? "" : "s");
  }
}

int doctor(const DoctorOptions& options, const std::vector<std::string>& launcher) {
  if (launcher.empty()) return fail(std::string("no launcher. ") + doctor_usage, options.json);
  const Result<Examination> found = examine(options, launcher);
  if (!found) return fail(found.error().message, options.json);
  if (options.json) {
    print_json(examination_json(*found));
  } else {
    print_examination(*found);
  }
  return has_fault(found->findings) ? ExitCode::bad : ExitCode::good;
}

}  // namespace

void add_doctor(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* sub = app.add_subcommand("doctor", "Check on a job's hosts whether libcoll will serve it, and every link");
  sub->allow_extras();  // refused below, with the hint that is needed
  sub->add_option("topology,--topology", options->topology, "Specification or topology file; default: as configured");
  sub->add_option("--library", options->library, "The library to preload; default: libcoll_pmpi.so of this command")
      ->type_name("FILE");
  sub->add_flag("--no-links", options->no_links, "Do not measure links");
  sub->add_option("--tolerance", options->tolerance, "A link that carries this part less than the file says is slow")
      ->capture_default_str()
      ->check(number_in(0.01, 0.99));
  sub->add_option("--time-limit", options->time_limit_seconds, "For the launcher to start all processes")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(seconds_from(1));
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->footer(
      "The launcher starts one process per rank, without a program. Exit code 0: good, 1: not good.\n\n"
      "Examples\n  libcoll doctor cluster.toml -- mpirun -n 64 --map-by node\n"
      "  libcoll doctor cluster.toml -- srun -N 64 --ntasks-per-node=1\n");
  sub->callback([options, sub, &command, &exit_code] {
    const std::vector<std::string> extras = sub->remaining();
    exit_code =
        extras.empty() ? doctor(*options, command) : fail("unexpected '" + extras.front() + "'. " + doctor_usage);
  });
}

}  // namespace libcoll::command
