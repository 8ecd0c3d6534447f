#include "libcoll/command/tuning_sweep.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/command/launch.h"
#include "libcoll/command/median.h"

namespace libcoll::command {

using namespace schedule;

namespace {

using Sweep = std::map<std::int64_t, TuningFigure>;

/// The sweep's columns: size, mean, least, largest, iterations and, where libcoll is, served and calls; `#` starts a
/// comment, one of which names the ranks.
Sweep parse_sweep(const std::string& text, std::int32_t& ranks) {
  Sweep sweep;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::int64_t bytes = 0;
    if (!(fields >> bytes)) {
      const std::size_t place = line.find("checked, ");
      if (place != std::string::npos) ranks = std::atoi(line.c_str() + place + sizeof("checked, ") - 1);
      continue;
    }
    double mean = 0;
    double other = 0;
    std::int64_t iterations = 0;
    fields >> mean >> other >> other >> iterations;
    std::int64_t served = 0;
    std::int64_t calls = 0;
    const bool counted = static_cast<bool>(fields >> served >> calls);
    sweep[bytes] = {mean, counted && served == calls};
  }
  return sweep;
}

/// What a child writes to its standard output.
Result<std::string> capture(const Launch& launch, const Deadline& deadline) {
  const FileDescriptor file(memfd_create("libcoll-tune", MFD_CLOEXEC));
  if (!file) return Error{"cannot make a temporary file"};
  const int code = run_and_wait(launch, file.get(), deadline);
  if (code != 0) return Error{join(launch.arguments, " ") + " ended with exit code " + std::to_string(code)};
  std::ifstream stream("/proc/self/fd/" + std::to_string(file.get()), std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// LIBCOLL_ALLREDUCE, for the collective that the call is planned as.
std::string planner_variable(CallKind call) {
  std::string name = "LIBCOLL_" + std::string(to_string(*collective_of(call)));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

}  // namespace

std::string to_string(const TuningWay& way) {
  if (way.native) return "native";
  std::string text(way.algorithm.empty() ? "plan" : way.algorithm.view());
  if (way.segment_bytes > 0) text += ", segments of " + std::to_string(way.segment_bytes);
  if (way.in_flight > 0) text += ", " + std::to_string(way.in_flight) + " in flight";
  return text;
}

TuningSweep::TuningSweep(TuningRuns runs, std::string command, std::string program, std::vector<std::string> launcher)
    : runs_(std::move(runs)),
      command_(std::move(command)),
      program_(std::move(program)),
      launcher_(std::move(launcher)) {}

Result<TuningFigures> TuningSweep::measure(CallKind call, const std::vector<TuningWay>& ways) {
  struct Seen {
    std::vector<double> microseconds;
    bool served = true;
  };
  std::map<std::int64_t, std::vector<Seen>> seen;
  for (int repetition = 0; repetition < runs_.repetitions; ++repetition) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (runs_.deadline.passed()) continue;
      const Result<Sweep> sweep = one(call, ways[way]);
      if (!sweep && runs_.deadline.passed()) continue;
      if (!sweep) return sweep.error();
      for (const auto& [bytes, figure] : *sweep) {
        std::vector<Seen>& of_size = seen[bytes];
        of_size.resize(ways.size());
        of_size[way].microseconds.push_back(figure.microseconds);
        of_size[way].served = of_size[way].served && figure.served;
      }
    }
  }
  TuningFigures figures;
  for (auto& [bytes, of_size] : seen) {
    if (std::any_of(of_size.begin(), of_size.end(), [](const Seen& way) { return way.microseconds.empty(); })) continue;
    for (Seen& way : of_size) figures[bytes].push_back({median(way.microseconds), way.served});
  }
  return figures;
}

Result<Sweep> TuningSweep::one(CallKind call, const TuningWay& way) {
  std::vector<std::string> arguments;
  if (!way.native) {
    arguments = {command_, "run"};
    if (!runs_.topology.empty()) arguments.insert(arguments.end(), {"--topology", runs_.topology});
    if (!runs_.library.empty()) arguments.insert(arguments.end(), {"--library", runs_.library});
    arguments.emplace_back("--");
  }
  arguments.insert(arguments.end(), launcher_.begin(), launcher_.end());
  arguments.insert(arguments.end(), {program_, std::string(to_string(call)), "-f", "-m", runs_.sizes, "-i",
                                     std::to_string(runs_.iterations)});
  const Result<std::string> text = capture({std::move(arguments), environment_of(call, way)}, runs_.deadline);
  if (!text) return text.error();
  return parse_sweep(*text, ranks_);
}

std::vector<std::string> TuningSweep::environment_of(CallKind call, const TuningWay& way) const {
  // The table in force must not decide what is measured; nor may calls be left to MPI because a plan is still being
  // made, or a model says so.
  std::vector<std::pair<std::string, std::string>> set = {
      {"LIBCOLL_TUNING_TABLE", ""}, {"LIBCOLL_BACKGROUND_PLANNING", "no"}, {"LIBCOLL_COST_MODEL", "no"}};
  if (!way.algorithm.empty()) set.emplace_back(planner_variable(call), way.algorithm.view());
  if (way.segment_bytes > 0) set.emplace_back("LIBCOLL_SEGMENT_BYTES", std::to_string(way.segment_bytes));
  if (way.in_flight > 0) set.emplace_back("LIBCOLL_IN_FLIGHT", std::to_string(way.in_flight));
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool is_set = std::any_of(set.begin(), set.end(), [&](const auto& variable) {
      return text.starts_with(variable.first) && text.substr(variable.first.size()).starts_with("=");
    });
    if (!is_set) environment.emplace_back(text);
  }
  for (const auto& [name, value] : set) {
    if (!way.native || !value.empty()) environment.push_back(std::string(name).append("=").append(value));
  }
  return environment;
}

}  // namespace libcoll::command
