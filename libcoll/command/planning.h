// Making one plan, timed and verified, and the figures that are said about it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "planner/deadline.h"
#include "planner/planner.h"
#include "planner/schedule/schedule.h"

namespace libcoll::command {

/// Every planner the command has: combinatorial ones, then those that need an LP solver, then those that
/// rewire the fabric. The first entry of a
/// collective is its default.
std::span<const Planner> planners();

/// A plan and what became of checking it.
struct Plan {
  Schedule schedule;
  double seconds = 0;  ///< planning alone
  PlanFigures figures;
  bool checked = true;              ///< false: no schedule was asked for, there is nothing to check
  std::vector<std::string> faults;  ///< of verify(); empty: the schedule is right
  Deadline deadline{0};             ///< figures that take long are left out after it
};

/// Plans, with life signs at a terminal. `algorithm` is a planner's name; "auto" or empty: the collective's default.
Result<Plan> make_plan(const Topology& topology, Collective collective, const std::string& algorithm,
                       const PlanOptions& options);

/// The same for a part of a fabric (part_of): "auto" or empty is the best of several, see plan_part().
Result<Plan> make_part_plan(const Topology& part, Collective collective, const std::string& algorithm,
                            const PlanOptions& options);

/// The figures with their fixed names (man page, section JSON).
Json plan_json(const Plan& plan);

/// The same for people, a few lines.
std::string plan_text(const Plan& plan);

}  // namespace libcoll::command
