// The names that plans are kept under.
#pragma once

#include <string>
#include <string_view>

#include "libcoll/version.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// Stands for "whatever the collective's default planner makes": a plan filed under this name may come from
/// any algorithm. The runtime asks for it when a setting is `auto`, for it knows no all-to-all planner by name.
inline constexpr std::string_view automatic_plan = "auto";

/// Stands for the plan for small vectors that goes with automatic_plan.
inline constexpr std::string_view automatic_small_plan = "auto-small";

/// Everything of a topology that a plan depends on. Names and host names are not among it: the same wiring
/// on other machines has the same plans.
std::string canonical_text(const topology::Topology& topology);

/// File name of a plan: hash of topology (nodes, links, bandwidths), collective, algorithm and library version.
std::string plan_file_name(const topology::Topology& topology, schedule::Collective collective,
                           std::string_view algorithm, std::string_view version = LIBCOLL_VERSION);

}  // namespace libcoll
