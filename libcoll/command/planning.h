// Making one plan, timed and verified, and the figures that are said about it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "planner/base/deadline.h"
#include "planner/plan/default_plan.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"

namespace libcoll::command {

/// Every planner the command has: combinatorial ones, then those that need an LP solver, then those that
/// rewire the fabric. The first entry of a
/// collective is its default.
std::span<const registry::Planner> planners();

/// A plan and what became of checking it.
struct Plan {
  schedule::Schedule schedule;
  double seconds = 0;  ///< planning alone
  registry::PlanFigures figures;
  /// Of all-to-all: F of the fluid plan, before it is rounded to chunks, and the certified bound on it; its schedule
  /// claims what its transfers reach.
  double flow = 0;
  double flow_upper_bound = 0;
  /// Where no planner was asked for by name: the plan of fewest steps, for small vectors, unless that is `schedule`;
  /// and what was compared.
  std::optional<schedule::Schedule> least_steps;
  std::optional<std::int64_t> small_up_to;  ///< bytes of the vectors that programs run by it; nothing if not known
  std::vector<default_plan::PlanCandidate> candidates;
  bool checked = true;              ///< false: no schedule was asked for, there is nothing to check
  std::vector<std::string> faults;  ///< of verify(); empty: the schedule is right
  Deadline deadline{0};             ///< figures that take long are left out after it
};

/// Plans, with life signs at a terminal. `algorithm` is a planner's name; "auto" or empty: the best of the collective,
/// see plan_default(). The bound of allgather, reduce_scatter and allreduce is that of the bottleneck cut.
Result<Plan> make_plan(const topology::Topology& topology, schedule::Collective collective,
                       const std::string& algorithm, const registry::PlanOptions& options);

/// An all-to-all that is there soon, plan_sssp_rerouted(), for when the time is over before there is a better one. It
/// takes a part of options.time_limit_seconds, or a little more on large fabrics.
Result<Plan> make_first_plan(const topology::Topology& topology, const registry::PlanOptions& options);

/// The same for a part of a fabric (part_of): "auto" or empty is the best of several, see plan_part().
Result<Plan> make_part_plan(const topology::Topology& part, schedule::Collective collective,
                            const std::string& algorithm, const registry::PlanOptions& options);

/// As people read it: the fraction, or where that is long, what it comes to: "about 0.123456789".
std::string short_text(const Rational& value);
std::string short_text(const std::string& exact, double value);

/// The figures with their fixed names (man page, section JSON).
Json plan_json(const Plan& plan);

/// The same for people, a few lines.
std::string plan_text(const Plan& plan);

}  // namespace libcoll::command
