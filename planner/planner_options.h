// Options that some planners take and others know nothing of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "planner/result.h"

namespace libcoll {

struct Planner;

enum class PlannerOption : std::uint8_t {
  max_chunks,
  chunk_loss,
  max_routes,
  gap,
  paths,
  steps,
  epsilon,
  trees,
  layer_method,
  max_layers,
  no_symmetry,
  demand,
  forwarding_table,
  staging,
  size,
  alpha,
  reconfiguration,
};

inline constexpr std::array all_planner_options = {PlannerOption::max_chunks,
                                                   PlannerOption::chunk_loss,
                                                   PlannerOption::max_routes,
                                                   PlannerOption::gap,
                                                   PlannerOption::paths,
                                                   PlannerOption::steps,
                                                   PlannerOption::epsilon,
                                                   PlannerOption::trees,
                                                   PlannerOption::layer_method,
                                                   PlannerOption::max_layers,
                                                   PlannerOption::no_symmetry,
                                                   PlannerOption::demand,
                                                   PlannerOption::forwarding_table,
                                                   PlannerOption::staging,
                                                   PlannerOption::size,
                                                   PlannerOption::alpha,
                                                   PlannerOption::reconfiguration};

/// Whether its value is a number that planners set bounds to.
bool has_number(PlannerOption option);

/// As the command line has it: "--max-chunks".
std::string_view flag_of(PlannerOption option);

/// An entry of a planner's list, with what the planner can do with a number. Bounds of 0 and 0: no number.
struct TakenOption {
  PlannerOption option = PlannerOption::max_chunks;
  double least = 0;
  double most = 0;
};

inline constexpr double most_chunks = 1 << 20;
inline constexpr double most_steps = 1 << 16;

/// An option that a user gave, with its number where it has one.
struct GivenOption {
  PlannerOption option = PlannerOption::max_chunks;
  std::optional<double> number = std::nullopt;
};

bool takes(const Planner& planner, PlannerOption option);

/// Whether each option is taken by one of the planners at least, and within its bounds. The error names the option, the
/// planner and what that takes.
Status check_options(std::span<const Planner> planners, std::span<const GivenOption> given);

}  // namespace libcoll
