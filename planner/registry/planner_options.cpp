#include "planner/registry/planner_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "planner/registry/planner.h"

namespace libcoll::registry {

using namespace schedule;

namespace {

const TakenOption* entry_of(const Planner& planner, PlannerOption option) {
  const auto found = std::find_if(planner.options.begin(), planner.options.end(),
                                  [option](const TakenOption& taken) { return taken.option == option; });
  return found == planner.options.end() ? nullptr : &*found;
}

bool bounded(const TakenOption& taken) { return taken.least != 0 || taken.most != 0; }

bool within(const TakenOption& taken, const GivenOption& given) {
  return !bounded(taken) || !given.number || (*given.number >= taken.least && *given.number <= taken.most);
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string flags_of(const Planner& planner) {
  std::string flags;
  for (const TakenOption& taken : planner.options) {
    flags += (flags.empty() ? "" : ", ") + std::string(record_of(taken.option).flag);
  }
  return flags.empty() ? "no such options" : flags;
}

std::string name_of(const Planner& planner) { return "planner \"" + std::string(planner.name) + "\""; }

}  // namespace

std::span<const PlannerOptionRecord> planner_option_records() {
  static constexpr std::array<PlannerOptionRecord, 19> records{{
      {PlannerOption::max_chunks, "--max-chunks", "Maximum chunks per shard; 0: the planner's choice", true},
      {PlannerOption::chunk_loss, "--chunk-loss", "Maximum loss of F by rounding to chunks", true},
      {PlannerOption::max_routes, "--max-routes", "Maximum routes per pair; 0: no limit", true},
      {PlannerOption::gap, "--gap", "Stop when the plan is certified to be this close to the optimum: 0.01", true},
      {PlannerOption::paths, "--paths", "Path sets: disjoint, shortest or all:LENGTH"},
      {PlannerOption::steps, "--steps", "Number of time steps; 0: the planner's choice", true},
      {PlannerOption::epsilon, "--epsilon", "Accuracy of the approximation; 0: the planner's default", true},
      {PlannerOption::trees, "--trees", "Trees per root; 0: as many as the optimum takes, auto: a small number", true},
      {PlannerOption::layer_method, "--layer-method", "How routes are assigned to virtual lanes; auto: fewest lanes"},
      {PlannerOption::max_layers, "--max-layers", "Maximum virtual lanes; routes are chosen to fit; 0: no limit", true},
      {PlannerOption::class_loss, "--class-loss",
       "Maximum loss of F for fewer route classes where fabrics forward by destination; left out: not counted", true},
      {PlannerOption::max_classes, "--max-classes",
       "Maximum route classes by destination, whatever F that costs; 0: no limit", true},
      {PlannerOption::no_symmetry, "--no-symmetry", "Do not use symmetry"},
      {PlannerOption::demand, "--demand", "Demand matrix: CSV or TOML"},
      {PlannerOption::forwarding_table, "--forwarding-table",
       "Write the routes to this file: source, destination, route, layer and egress ports"},
      {PlannerOption::staging, "--staging", "Staged algorithm: recursive-doubling, swing, …"},
      {PlannerOption::size, "--size", "Of the whole vector: 64KiB; with --compare also several, 64KiB,4MiB"},
      {PlannerOption::alpha, "--alpha", "Start-up time α of a step: 500ns"},
      {PlannerOption::reconfiguration, "--reconfiguration", "Reconfiguration time: 10us"},
  }};
  return records;
}

const PlannerOptionRecord& record_of(PlannerOption option) {
  return planner_option_records()[static_cast<std::size_t>(option)];
}

std::string bounds_text(const TakenOption& taken) {
  return bounded(taken) ? number_text(taken.least) + " to " + number_text(taken.most) : std::string();
}

bool takes(const Planner& planner, PlannerOption option) { return entry_of(planner, option) != nullptr; }

Status check_options(std::span<const Planner> planners, std::span<const GivenOption> given) {
  if (planners.empty()) return {};
  for (const GivenOption& each : given) {
    const std::string flag(record_of(each.option).flag);
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
      return Error{flag + ": found " + number_text(*each.number) + ", expected from " + bounds_text(*closest) +
                   " for " + name_of(*closest_planner)};
    }
    if (planners.size() > 1) {
      return Error{"none of the planners for " + std::string(to_string(planners.front().collective)) + " takes " +
                   flag};
    }
    return Error{name_of(planners.front()) + " does not take " + flag + ", it takes " + flags_of(planners.front())};
  }
  return {};
}

}  // namespace libcoll::registry
