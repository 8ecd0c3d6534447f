// Options that some planners take and others know nothing of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "planner/base/result.h"

namespace libcoll::registry {

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
  class_loss,
  max_classes,
  no_symmetry,
  demand,
  forwarding_table,
  staging,
  size,
  alpha,
  reconfiguration,
};

/// What all planners that take an option take it for.
struct PlannerOptionRecord {
  PlannerOption option = PlannerOption::max_chunks;
  std::string_view flag;  ///< as the command line has it: "--max-chunks"
  std::string_view text;  ///< one line for --help and the man page
  bool number = false;    ///< its value is a number that planners set bounds to
};

/// One record for each option, in the order of PlannerOption.
std::span<const PlannerOptionRecord> planner_option_records();

const PlannerOptionRecord& record_of(PlannerOption option);

/// An entry of a planner's list, with what the planner can do with a number. Bounds of 0 and 0: no number.
struct TakenOption {
  PlannerOption option = PlannerOption::max_chunks;
  double least = 0;
  double most = 0;
};

inline constexpr double most_chunks = 1 << 20;
inline constexpr double most_classes = 128;  // InfiniBand: 2^LMC
inline constexpr double most_steps = 1 << 16;

/// An option that a user gave, with its number where it has one.
struct GivenOption {
  PlannerOption option = PlannerOption::max_chunks;
  std::optional<double> number = std::nullopt;
};

bool takes(const Planner& planner, PlannerOption option);

/// "0 to 1048576"; empty where the entry has no bounds.
std::string bounds_text(const TakenOption& taken);

/// Whether each option is taken by one of the planners at least, and within its bounds. The error names the option, the
/// planner and what that takes.
Status check_options(std::span<const Planner> planners, std::span<const GivenOption> given);

}  // namespace libcoll::registry
