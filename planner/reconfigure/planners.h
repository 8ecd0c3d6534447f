// The planners for fabrics that can be rewired during a collective.
#pragma once

#include <span>

#include "planner/registry/planner.h"

namespace libcoll::reconfigure {

/// They need an LP solver, too.
std::span<const registry::Planner> reconfigure_planners();

}  // namespace libcoll::reconfigure
