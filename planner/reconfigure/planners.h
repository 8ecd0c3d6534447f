// The planners for fabrics that can be rewired during a collective.
#pragma once

#include <span>

#include "planner/registry/planner.h"

namespace libcoll {

/// They need an LP solver, too.
std::span<const Planner> reconfigure_planners();

}  // namespace libcoll
