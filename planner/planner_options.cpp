#include "planner/planner_options.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "planner/planner.h"

namespace libcoll {
namespace {

const TakenOption* entry_of(const Planner& planner, PlannerOption option) {
  const auto found = std::find_if(planner.options.begin(), planner.options.end(),
                                  [option](const TakenOption& taken) { return taken.option == option; });
  return found == planner.options.end() ? nullptr : &*found;
}

bool within(const TakenOption& taken, const GivenOption& given) {
  const bool bounded = taken.least != 0 || taken.most != 0;
  return !bounded || !given.number || (*given.number >= taken.least && *given.number <= taken.most);
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string flags_of(const Planner& planner) {
  std::string flags;
  for (const TakenOption& taken : planner.options) {
    flags += (flags.empty() ? "" : ", ") + std::string(flag_of(taken.option));
  }
  return flags.empty() ? "no such options" : flags;
}

std::string name_of(const Planner& planner) { return "planner \"" + std::string(planner.name) + "\""; }

}  // namespace

std::string_view flag_of(PlannerOption option) {
  switch (option) {
    case PlannerOption::max_chunks:
      return "--max-chunks";
    case PlannerOption::chunk_loss:
      return "--chunk-loss";
    case PlannerOption::max_routes:
      return "--max-routes";
    case PlannerOption::gap:
      return "--gap";
    case PlannerOption::paths:
      return "--paths";
    case PlannerOption::steps:
      return "--steps";
    case PlannerOption::epsilon:
      return "--epsilon";
    case PlannerOption::trees:
      return "--trees";
    case PlannerOption::layer_method:
      return "--layer-method";
    case PlannerOption::max_layers:
      return "--max-layers";
    case PlannerOption::no_symmetry:
      return "--no-symmetry";
    case PlannerOption::demand:
      return "--demand";
    case PlannerOption::forwarding_table:
      return "--forwarding-table";
    case PlannerOption::staging:
      return "--staging";
    case PlannerOption::size:
      return "--size";
    case PlannerOption::alpha:
      return "--alpha";
    case PlannerOption::reconfiguration:
      return "--reconfiguration";
  }
  return "";
}

bool has_number(PlannerOption option) {
  switch (option) {
    case PlannerOption::max_chunks:
    case PlannerOption::chunk_loss:
    case PlannerOption::max_routes:
    case PlannerOption::gap:
    case PlannerOption::steps:
    case PlannerOption::epsilon:
    case PlannerOption::trees:
    case PlannerOption::max_layers:
      return true;
    default:
      return false;
  }
}

bool takes(const Planner& planner, PlannerOption option) { return entry_of(planner, option) != nullptr; }

Status check_options(std::span<const Planner> planners, std::span<const GivenOption> given) {
  if (planners.empty()) return {};
  for (const GivenOption& each : given) {
    const std::string flag(flag_of(each.option));
    const TakenOption* closest = nullptr;
    const Planner* closest_planner = nullptr;
    bool good = false;
    for (const Planner& planner : planners) {
      const TakenOption* taken = entry_of(planner, each.option);
      if (taken == nullptr) continue;
      closest = taken;
      closest_planner = &planner;
      good = good || within(*taken, each);
    }
    if (good) continue;
    if (closest != nullptr) {
      return Error{flag + ": found " + number_text(*each.number) + ", expected from " + number_text(closest->least) +
                   " to " + number_text(closest->most) + " for " + name_of(*closest_planner)};
    }
    if (planners.size() > 1) {
      return Error{"none of the planners for " + std::string(to_string(planners.front().collective)) + " takes " +
                   flag};
    }
    return Error{name_of(planners.front()) + " does not take " + flag + ", it takes " + flags_of(planners.front())};
  }
  return {};
}

}  // namespace libcoll
