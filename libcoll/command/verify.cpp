// libcoll verify: is the schedule in a file right?
#include "planner/schedule/verify.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "libcoll/command/command.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"
#include "planner/plan/claims.h"
#include "planner/schedule/xml.h"

namespace libcoll::command {

using namespace default_plan;
using namespace schedule;

namespace {

struct VerifyOptions {
  std::string file;
  double time_limit_seconds = 0;
  bool json = false;
};

Json verify_json(const Schedule& schedule, const std::vector<std::string>& faults,
                 const std::vector<FalseClaim>& claims) {
  Json false_figures = Json::array();
  for (const FalseClaim& claim : claims) {
    false_figures.push_back({{"name", claim.name}, {"claimed", claim.claimed}, {"found", claim.found}});
  }
  return {{"ok", faults.empty()},
          {"errors", faults},
          {"false_claims", false_figures},
          {"collective", to_string(schedule.collective)},
          {"algorithm", schedule.algorithm},
          {"topology", schedule.topology.name()},
          {"nodes", schedule.topology.host_count()},
          {"steps", schedule.steps},
          {"transfers", schedule.transfers.size()}};
}

std::string verify_text(const std::string& file, const Schedule& schedule, const std::vector<std::string>& faults) {
  const std::string root = is_rooted(schedule.collective) ? " with root " + std::to_string(schedule.root) : "";
  const std::string what = file + ": " + std::string(to_string(schedule.collective)) + root + " by " +
                           schedule.algorithm + " on " + schedule.topology.name();
  if (faults.empty()) {
    return what + " is right: " + std::to_string(schedule.transfers.size()) + " transfers in " +
           std::to_string(schedule.steps) + " steps\n";
  }
  return what + " is WRONG:\n  " + join(faults, "\n  ") + "\n";
}

int verify_file(const VerifyOptions& options) {
  const TimeLimit limit(options.time_limit_seconds, "no verdict", options.json);
  const Result<std::string> text = read_text(options.file);
  if (!text) return fail(text.error().message, options.json);
  const Result<Schedule> schedule = read_schedule(*text, options.file);
  if (!schedule) return fail(schedule.error().message, options.json);
  std::vector<std::string> faults = verify(*schedule);
  std::vector<FalseClaim> claims;
  if (faults.empty()) claims = false_claims(*schedule);
  for (const FalseClaim& claim : claims) faults.push_back(to_string(claim));
  if (options.json) {
    print_json(verify_json(*schedule, faults, claims));
  } else {
    std::fputs(verify_text(options.file, *schedule, faults).c_str(), stdout);
  }
  return faults.empty() ? ExitCode::good : ExitCode::bad;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* sub =
      app.add_subcommand("verify", "Check a schedule file and every figure in it; exit code 1 when one is wrong");
  sub->add_option("file", options->file, "Schedule in the native dialect; - is standard input")->required();
  sub->add_option("--time-limit", options->time_limit_seconds, "Then there is no verdict; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_flag("--json", options->json, "Machine-readable output: ok, errors[], false_claims[]");
  sub->callback([options, &exit_code] { exit_code = verify_file(*options); });
}

}  // namespace libcoll::command
