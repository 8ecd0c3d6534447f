// ForestColl's optimum as paper 004 finds it, by bisection: the reference for the planner's Newton method.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/base/rational.h"
#include "planner/topology/topology.h"

namespace libcoll::test {

/// The fraction of least denominator in [low, high], by continued fractions. Precondition: 0 <= low <= high.
Rational simplest_between(const Rational& low, const Rational& high);

/// 1/x* of paper 004 (1), in 1/LinkWidths::unit, by Algorithm 1: binary search down to an interval with one fraction of
/// small denominator (Proposition 2). Nothing where hosts do not reach each other, or links are wider than 2^24 units.
std::optional<Rational> forest_optimum_by_bisection(const topology::Topology& topology);

/// The least U with which so many trees per root fit into the capacities ⌊U·b⌋ (Theorem 14), by Algorithm 3. Nothing as
/// above.
std::optional<Rational> tree_scale_by_bisection(const topology::Topology& topology, std::int64_t trees);

}  // namespace libcoll::test
