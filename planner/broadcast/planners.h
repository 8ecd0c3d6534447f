// The planners of the allgather family.
#pragma once

#include <span>

#include "planner/registry/planner.h"

namespace libcoll::broadcast {

/// Combinatorial planners, fit to run inside a user's process: BFB for allgather, reduce_scatter, allreduce.
/// The first entry of a collective is its default.
std::span<const registry::Planner> broadcast_planners();

}  // namespace libcoll::broadcast
