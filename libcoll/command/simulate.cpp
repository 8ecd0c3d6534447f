// libcoll simulate: how long the schedule in a file takes on its own topology.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/command/text.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/simulate/simulation.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace schedule;
using namespace simulate;
using namespace topology;

namespace {

struct SimulateOptions {
  std::string file;
  std::vector<std::uint64_t> sizes{1 << 20};
  std::string alpha = "0s";
  std::optional<std::uint64_t> segment;  ///< nothing: usual_segment()
  double time_limit_seconds = 0;
  bool lockstep = false;
  bool json = false;
};

// What NICs that forward send at once: the path MTU of RDMA on Ethernet frames of 1500 bytes.
constexpr std::int64_t packet_bytes = 1024;
// More tell no more of a chunk, and of all chunks no more fit into seconds.
constexpr double most_packets_of_chunk = 64;
constexpr double most_packets = 1 << 21;

/// As data is cut where nobody says how: on routes the fabric's links take packets in turn, between hosts the runtime
/// sends segments as it is configured by default.
std::int64_t usual_segment(const Schedule& schedule, double bytes) {
  if (schedule.routes.empty()) return default_segment_bytes;
  const double chunk = bytes / schedule.topology.host_count() / schedule.chunks_per_shard;
  const double chunks = std::accumulate(schedule.transfers.begin(), schedule.transfers.end(), 1.0,
                                        [](double sum, const Transfer& t) { return sum + t.chunk_count; });
  const double packets = std::clamp(most_packets / chunks, 1.0, most_packets_of_chunk);
  return std::max(packet_bytes, static_cast<std::int64_t>(std::ceil(chunk / packets)));
}

/// What was asked for, understood and checked.
struct SimulationRequest {
  Schedule schedule;
  SimulationOptions simulation;
};

Result<SimulationRequest> understand(const SimulateOptions& options) {
  const Result<std::string> text = read_text(options.file);
  if (!text) return text.error();
  Result<Schedule> schedule = read_schedule(*text, options.file);
  if (!schedule) return schedule.error();
  const Result<double> alpha = parse_latency(options.alpha);
  if (!alpha) return Error{"--alpha: " + alpha.error().message};
  SimulationRequest request{std::move(schedule).value(), {}};
  request.simulation.alpha_seconds = *alpha;
  if (options.segment) request.simulation.segment_bytes = static_cast<std::int64_t>(*options.segment);
  const bool rewired = !request.schedule.wirings.empty();
  if (rewired && options.segment.value_or(0) > 0) {
    return Error{options.file + ": the schedule rewires the fabric and goes in lockstep, which knows no --segment"};
  }
  const bool lockstep = options.lockstep || rewired;
  request.simulation.timing = lockstep ? NodeTiming::lockstep : NodeTiming::data_flow;
  const auto faults = lockstep ? verify_lockstep(request.schedule, 1) : verify(request.schedule, 1);
  if (!faults.empty()) return Error{options.file + ": the schedule is wrong: " + faults.front()};
  return request;
}

/// The wiring that was there from the start is none.
std::int64_t rewirings(const Schedule& schedule) {
  return std::count_if(schedule.wirings.begin(), schedule.wirings.end(),
                       [](const Wiring& wiring) { return wiring.step > 1 || wiring.seconds > 0; });
}

const char* name_of(NodeTiming timing) { return timing == NodeTiming::lockstep ? "lockstep" : "data-flow"; }

int simulate_file(const SimulateOptions& options) {
  const TimeLimit limit(options.time_limit_seconds, "no simulated size", options.json);
  const Result<SimulationRequest> request = understand(options);
  if (!request) return fail(request.error().message, options.json);
  const Schedule& schedule = request->schedule;
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows = {{"bytes", "time", "M / time", "busiest link", "messages"}};
  std::size_t left_out = 0;
  for (const std::uint64_t size : options.sizes) {
    if (limit.deadline().passed() && !results.empty()) {
      ++left_out;
      continue;
    }
    SimulationOptions asked = request->simulation;
    asked.bytes = static_cast<double>(size);
    const bool in_steps = asked.timing == NodeTiming::lockstep;
    if (!options.segment && !in_steps) asked.segment_bytes = usual_segment(schedule, asked.bytes);
    const Result<Simulation> simulated = simulate::simulate(schedule, asked);
    if (!simulated) return fail(simulated.error().message, options.json);
    const double bandwidth = simulated->seconds > 0 ? asked.bytes / simulated->seconds : 0;
    const double busy = simulated->seconds > 0 ? simulated->busiest_link_seconds / simulated->seconds : 0;
    results.push_back({{"size_bytes", size},
                       {"seconds", simulated->seconds},
                       {"algbw_bytes_per_second", bandwidth},
                       {"segment_bytes", asked.segment_bytes},
                       {"busiest_link_seconds", simulated->busiest_link_seconds},
                       {"step_seconds", simulated->step_seconds},
                       {"messages", simulated->messages}});
    rows.push_back({std::to_string(size), rounded(1e6 * simulated->seconds, 6, "us"),
                    rounded(bandwidth / 1e9, 4, "GB/s"), rounded(100 * busy, 4, "%"),
                    std::to_string(simulated->messages)});
  }
  if (left_out > 0) {
    warn(limit_sentence(options.time_limit_seconds, "no figure of the last " + std::to_string(left_out) + " sizes"));
  }
  if (options.json) {
    print_json({{"collective", to_string(schedule.collective)},
                {"algorithm", schedule.algorithm},
                {"topology", schedule.topology.name()},
                {"nodes", schedule.topology.host_count()},
                {"steps", schedule.steps},
                {"rewirings", rewirings(schedule)},
                {"timing", name_of(request->simulation.timing)},
                {"results", results}});
  } else {
    std::printf("%s by %s on %s, in %s\n%s", std::string(to_string(schedule.collective)).c_str(),
                schedule.algorithm.c_str(), schedule.topology.name().c_str(), name_of(request->simulation.timing),
                columns(rows).c_str());
  }
  return ExitCode::good;
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* sub = app.add_subcommand("simulate", "Say how long the schedule in a file takes on its topology");
  sub->add_option("file", options->file, "Schedule in the native dialect; - is standard input")->required();
  sub->add_option("--size", options->sizes, "Of the whole vector: 64KiB or several, 64KiB,4MiB")
      ->type_name("BYTES")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(1));
  sub->add_option("--alpha", options->alpha, "Start-up of a transfer, beside the latency of links: 500ns")
      ->type_name("TIME");
  sub->add_option("--segment", options->segment,
                  "Cut longer chunks, so that hops overlap: 128KiB; 0: do not; "
                  "left out: packets on routes, otherwise 128KiB")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(0));
  sub->add_flag("--lockstep", options->lockstep,
                "No step begins before the one before it is over (always so if rewired)")
      ->excludes(sub->get_option("--segment"));
  sub->add_option("--time-limit", options->time_limit_seconds, "Then the sizes that are done; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->footer(
      "Examples\n  libcoll plan torus:4x4 broadcast --root 5 --output b.xml\n"
      "  libcoll simulate b.xml --size 64KiB,64MiB --segment 128KiB\n");
  sub->callback([options, &exit_code] { exit_code = simulate_file(*options); });
}

}  // namespace libcoll::command
