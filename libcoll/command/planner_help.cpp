#include "libcoll/command/planner_help.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/option_records.h"
#include "libcoll/command/planning.h"
#include "planner/registry/planner.h"

namespace libcoll::command {

using namespace registry;
using namespace schedule;

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string with_bounds(const CLI::App& plan, const TakenOption& taken) {
  const PlannerOptionRecord& record = record_of(taken.option);
  std::string bounds = bounds_text(taken);
  if (bounds.empty()) bounds = allowed_values(*plan.get_option(std::string(record.flag)));
  return std::string(record.text) + (bounds.empty() ? "" : " (" + bounds + ")");
}

/// "--chunk-loss FLOAT=0.02"
std::string with_value(const CLI::App& plan, PlannerOption option) {
  const std::string flag(record_of(option).flag);
  const CLI::Option* on_line = plan.get_option(flag);
  const std::string value = value_name(*on_line);
  const std::string initial = on_line->get_default_str();
  return flag + (value.empty() ? "" : " " + value) + (initial.empty() ? "" : "=" + initial);
}

class PlanFormatter final : public CLI::Formatter {
 public:
  explicit PlanFormatter(const std::string& algorithm) : algorithm_(algorithm) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string own = planner_help(*app, algorithm_);
    if (!own.empty()) return own;
    std::string text = Formatter::make_help(app, std::move(name), mode);
    // The group that is left out leaves its empty line.
    if (const std::size_t gap = text.find("\n\n\n"); gap != std::string::npos) text.erase(gap, 1);
    return text;
  }

  std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
    if (group == planner_options_group) return "";
    return Formatter::make_group(std::move(group), positional, std::move(options));
  }

 private:
  const std::string& algorithm_;
};

}  // namespace

std::string planner_help(const CLI::App& plan, const std::string& algorithm) {
  Rows uses;
  Rows options;
  for (const Planner& planner : planners()) {
    if (planner.name != algorithm) continue;
    const std::string needs = to_string(planner.needs);
    uses.push_back({std::string(to_string(planner.collective)),
                    std::string(planner.text) + (needs.empty() ? "" : "; needs " + needs)});
    for (const TakenOption& taken : planner.options) {
      const std::vector<std::string> row = {with_value(plan, taken.option), with_bounds(plan, taken)};
      if (std::find(options.begin(), options.end(), row) == options.end()) options.push_back(row);
    }
  }
  if (uses.empty()) return "";
  return "Planner " + algorithm + "\n" + columns(uses) +
         (options.empty() ? "\nNo options of its own\n" : "\nOptions of its own\n" + columns(options)) +
         "\nlibcoll plan --help has the general options.\n";
}

void set_planner_help(CLI::App& plan, const std::string& algorithm) {
  plan.formatter(std::make_shared<PlanFormatter>(algorithm));
}

}  // namespace libcoll::command
