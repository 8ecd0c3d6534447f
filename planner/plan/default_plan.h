// Which plan a collective gets when no planner is asked for by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::default_plan {

/// The planner of the allgather family whose plans take the fewest steps.
inline constexpr std::string_view fewest_steps_planner = "bfb";

/// One of the plans that were compared.
struct PlanCandidate {
  std::string algorithm;
  std::int32_t steps = 0;
  Rational bandwidth_time;
};
PlanCandidate candidate_of(const schedule::Schedule& schedule);

/// The plans worth having: large vectors take the one of least T_B, small ones that of least T_L.
struct DefaultPlans {
  schedule::Schedule least_bandwidth_time;
  std::optional<schedule::Schedule> least_steps;  ///< nothing where small_up_to() has no vector for it
  std::vector<PlanCandidate> candidates;
};

/// The largest vector in bytes for which `small`, in no more steps, takes no longer than `usual`, by the latencies and
/// bandwidths of their topology. Facts alone decide, so every run has the same boundary. Nothing where `small` has no
/// less T_L or no more T_B.
std::optional<std::int64_t> small_up_to(const schedule::Schedule& small, const schedule::Schedule& usual);

/// The planners that plan_default() may ask. Errors: the collective has none.
Result<std::vector<registry::Planner>> default_planners(std::span<const registry::Planner> table,
                                                        const topology::Topology& topology,
                                                        schedule::Collective collective);

/// Allgather, reduce-scatter and allreduce: BFB, which takes the fewest steps, and, where its T_B is above the cut
/// bound, ForestColl, which reaches it. Of equal T_B the fewer steps. Without a time limit ForestColl is left out on
/// topologies where it takes more than seconds, by their size alone, so that every run makes the same plan; with
/// options.time_limit_seconds it takes what BFB leaves of it. Other collectives, and tables that lack the two: the
/// first planner of the collective that takes the topology (switches). options.figures are those of the plan of least
/// T_B. Bounds are quick_cut_bound() at least. Errors: of the last planner tried when none has a plan.
Result<DefaultPlans> plan_default(std::span<const registry::Planner> table, const topology::Topology& topology,
                                  schedule::Collective collective, const registry::PlanOptions& options);

}  // namespace libcoll::default_plan
