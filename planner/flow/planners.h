// The planners of all-to-all.
#pragma once

#include <span>

#include "planner/registry/planner.h"

namespace libcoll::flow {

/// All-to-all planners; they need an LP solver and live in the `libcoll` command only.
std::span<const registry::Planner> flow_planners();

}  // namespace libcoll::flow
