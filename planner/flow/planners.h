// The planners of all-to-all.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "planner/registry/planner.h"

namespace libcoll::flow {

/// All-to-all planners; they need an LP solver and live in the `libcoll` command only.
std::span<const registry::Planner> flow_planners();

/// Whether the all-to-all planner of that name looks at PlanOptions::demand; all their names; and the one to take.
bool takes_demand(std::string_view algorithm);
std::string demand_planners();
inline constexpr const char* default_demand_planner = "mcf-decomposed";

}  // namespace libcoll::flow
