// libcoll tune: measures, per call and size, the plan against the program's own MPI, and writes the tuning table.
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "libcoll/command/command.h"
#include "libcoll/command/launch.h"
#include "libcoll/runtime/safe_file.h"
#include "libcoll/runtime/tuning_table.h"

namespace libcoll::command {
namespace {

constexpr const char* usage_line = "Usage: libcoll tune [OPTIONS] -- mpirun -n RANKS [OPTIONS OF mpirun]";
constexpr const char* sweep_name = "collective_sweep";

struct Options {
  std::string topology;
  std::string calls = "allreduce,allgather,alltoall";
  std::string sizes = "4:1048576";
  std::string program;
  std::string library;
  std::string output;
  int repetitions = 3;
  int iterations = 50;
  double margin = 0.02;
  bool json = false;
};

/// One line of a sweep's table.
struct Row {
  double microseconds = 0;
  bool served = false;  ///< every call of that size by libcoll
};
using Sweep = std::map<std::int64_t, Row>;

/// Medians over the repetitions.
struct Measured {
  CallKind call = CallKind::allreduce;
  std::int64_t bytes = 0;
  double native_microseconds = 0;
  double plan_microseconds = 0;
  bool served = false;
};

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
Result<std::string> capture(const Launch& launch) {
  const FileDescriptor file(memfd_create("libcoll-tune", MFD_CLOEXEC));
  if (!file) return Error{"cannot make a temporary file"};
  const int code = run_and_wait(launch, file.get());
  if (code != 0) return Error{join(launch.arguments, " ") + " ended with exit code " + std::to_string(code)};
  std::ifstream stream("/proc/self/fd/" + std::to_string(file.get()), std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The measuring program: beside the command in a build, in libexec where it was installed.
Result<std::string> find_sweep(const std::string& command) {
  const std::filesystem::path folder = std::filesystem::path(command).parent_path();
  std::error_code error;
  for (const auto& path : {folder / sweep_name, folder / "../libexec/libcoll" / sweep_name}) {
    if (std::filesystem::is_regular_file(path, error)) return path.lexically_normal().string();
  }
  return Error{"found no " + std::string(sweep_name) + " beside " + command + "; --program FILE says where it is"};
}

/// Runs the sweeps of one call in turn, native and planned.
class Measurement {
 public:
  Measurement(const Options& options, std::string command, std::string program, std::vector<std::string> launcher)
      : options_(options), command_(std::move(command)), program_(std::move(program)), launcher_(std::move(launcher)) {}

  Result<std::vector<Measured>> run(CallKind call) {
    std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> times;
    std::map<std::int64_t, bool> served;
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (const bool planned : {false, true}) {
        const Result<Sweep> sweep = one(call, planned);
        if (!sweep) return sweep.error();
        for (const auto& [bytes, row] : *sweep) {
          (planned ? times[bytes].second : times[bytes].first).push_back(row.microseconds);
          if (planned) served.try_emplace(bytes, true).first->second &= row.served;
        }
      }
    }
    std::vector<Measured> result;
    for (auto& [bytes, both] : times) {
      if (both.first.empty() || both.second.empty()) continue;
      result.push_back({call, bytes, median(both.first), median(both.second), served[bytes]});
    }
    return result;
  }

  [[nodiscard]] std::int32_t ranks() const { return ranks_; }

 private:
  static double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  Result<Sweep> one(CallKind call, bool planned) {
    std::vector<std::string> arguments;
    if (planned) {
      arguments = {command_, "run"};
      if (!options_.topology.empty()) arguments.insert(arguments.end(), {"--topology", options_.topology});
      if (!options_.library.empty()) arguments.insert(arguments.end(), {"--library", options_.library});
      arguments.emplace_back("--");
    }
    arguments.insert(arguments.end(), launcher_.begin(), launcher_.end());
    arguments.insert(arguments.end(), {program_, std::string(to_string(call)), "-f", "-m", options_.sizes, "-i",
                                       std::to_string(options_.iterations)});
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      // The table in force must not decide what is measured.
      const std::string_view text(*entry);
      const auto sets = [&](std::string_view name) { return text.starts_with(name); };
      if (!sets("LIBCOLL_TUNING_TABLE=") && !sets("LIBCOLL_BACKGROUND_PLANNING=") && !sets("LIBCOLL_COST_MODEL=")) {
        environment.emplace_back(text);
      }
    }
    if (planned) environment.emplace_back("LIBCOLL_TUNING_TABLE=");
    // Nor may calls be left to MPI because a plan is still being made, or a model says so.
    environment.emplace_back("LIBCOLL_BACKGROUND_PLANNING=no");
    environment.emplace_back("LIBCOLL_COST_MODEL=no");
    const Result<std::string> text = capture({std::move(arguments), std::move(environment)});
    if (!text) return text.error();
    return parse_sweep(*text, ranks_);
  }

  const Options& options_;
  std::string command_;
  std::string program_;
  std::vector<std::string> launcher_;
  std::int32_t ranks_ = 0;
};

/// The faster of the two for every size; neighbours that agree share an entry. The last one is open to larger calls.
TuningTable table_of(const std::vector<Measured>& measured, std::int32_t ranks, double margin) {
  TuningTable table;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Measured& row = measured[i];
    const bool last = i + 1 == measured.size() || measured[i + 1].call != row.call;
    TuningChoice choice{row.call, ranks, row.bytes, false, 0};
    choice.native = !row.served || row.native_microseconds * (1 + margin) < row.plan_microseconds;
    if (last) choice.up_to_bytes = TuningChoice().up_to_bytes;
    if (!table.choices.empty() && table.choices.back().call == row.call &&
        table.choices.back().native == choice.native) {
      table.choices.back() = choice;
    } else {
      table.choices.push_back(choice);
    }
  }
  return table;
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

void report(const std::vector<Measured>& measured, const TuningTable& table, std::int32_t ranks, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const Measured& row : measured) {
      rows.push_back({{"call", to_string(row.call)},
                      {"bytes", row.bytes},
                      {"native_microseconds", row.native_microseconds},
                      {"plan_microseconds", row.plan_microseconds},
                      {"served", row.served},
                      {"use", table.find(row.call, ranks, row.bytes)->native ? "native" : "plan"}});
    }
    return print_json({{"ranks", ranks}, {"choices", rows}});
  }
  std::vector<std::vector<std::string>> rows = {{"call", "bytes", "native us", "plan us", "native/plan", "use"}};
  for (const Measured& row : measured) {
    rows.push_back({std::string(to_string(row.call)), std::to_string(row.bytes), text_of(row.native_microseconds),
                    row.served ? text_of(row.plan_microseconds) : "not served",
                    row.served ? text_of(row.native_microseconds / row.plan_microseconds) : "-",
                    table.find(row.call, ranks, row.bytes)->native ? "native" : "plan"});
  }
  std::fputs(columns(rows).c_str(), stdout);
}

Status write(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.fail() ? Status(Error{path + ": cannot be written"}) : Status();
}

Result<std::vector<CallKind>> parse_calls(const std::string& names) {
  std::vector<CallKind> result;
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<CallKind> call = parse_call(word);
    if (!call) return Error{"found '" + word + "' in --calls, expected names such as allreduce"};
    result.push_back(*call);
  }
  return result;
}

int tune(const Options& options, const std::vector<std::string>& launcher) {
  if (launcher.empty()) return fail(std::string("no launcher. ") + usage_line, options.json);
  const Result<std::vector<CallKind>> calls = parse_calls(options.calls);
  if (!calls) return fail(calls.error().message, options.json);
  const Result<std::string> command = own_path();
  if (!command) return fail(command.error().message, options.json);
  const Result<std::string> program = options.program.empty() ? find_sweep(*command) : Result(options.program);
  if (!program) return fail(program.error().message, options.json);
  Measurement measurement(options, *command, *program, launcher);
  std::vector<Measured> measured;
  for (const CallKind call : *calls) {
    const Result<std::vector<Measured>> rows = measurement.run(call);
    if (!rows) return fail(rows.error().message, options.json);
    measured.insert(measured.end(), rows->begin(), rows->end());
  }
  if (measured.empty()) return fail("the sweeps printed no figures", options.json);
  TuningTable table = table_of(measured, measurement.ranks(), options.margin);
  const std::string text = "# Made by libcoll tune -- " + join(launcher, " ") + "\n\n" + write_tuning_table(table);
  if (const Status written = write(options.output, text); !written) return fail(written.error().message, options.json);
  report(measured, table, measurement.ranks(), options.json);
  return ExitCode::good;
}

}  // namespace

void add_tune(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("tune", "Measure plans against the program's own MPI and write the tuning table");
  sub->allow_extras();  // refused below, with the hint that is needed
  sub->add_option("--topology", options->topology, "Specification or topology file; default: as configured");
  sub->add_option("--calls", options->calls, "Which, comma-separated")->capture_default_str();
  sub->add_option("--sizes", options->sizes, "In bytes: vector (allreduce) or block; doubled from MIN to MAX")
      ->type_name("MIN:MAX")
      ->capture_default_str();
  sub->add_option("--repetitions", options->repetitions, "Sweeps of each, in turn; medians count")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub->add_option("--iterations", options->iterations, "Calls of a size in a sweep")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  sub->add_option("--margin", options->margin, "By how much MPI must be faster to be chosen")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  sub->add_option("--program", options->program, "The measuring program; default: collective_sweep of this command")
      ->type_name("FILE");
  sub->add_option("--library", options->library, "The library to preload; default: libcoll_pmpi.so of this command")
      ->type_name("FILE");
  sub->add_option("--output", options->output, "Write the table to this file, for LIBCOLL_TUNING_TABLE")
      ->type_name("FILE");
  sub->add_flag("--json", options->json, "Machine-readable figures");
  sub->footer(
      "Behind -- stands the launcher without a program: as many ranks, placed as the program will have them.\n\n"
      "Example\n  libcoll tune --topology torus:2x2x2 --output tuning.toml -- mpirun -n 8\n");
  sub->callback([options, sub, &command, &exit_code] {
    const std::vector<std::string> extras = sub->remaining();
    exit_code = extras.empty() ? tune(*options, command) : fail("unexpected '" + extras.front() + "'. " + usage_line);
  });
}

}  // namespace libcoll::command
