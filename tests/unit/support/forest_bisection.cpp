#include "tests/unit/support/forest_bisection.h"

#include <algorithm>
#include <limits>

#include "planner/base/index.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/bound/max_flow.h"
#include "planner/topology/facts.h"

namespace libcoll::test {

using namespace broadcast::bound;
using namespace topology;

namespace {

constexpr std::int64_t widest = std::int64_t{1} << 24;

/// Least total width into a host: x*'s denominators are no larger (appendix C.1).
std::int64_t least_width_into_host(const Topology& topology, const LinkWidths& widths) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    std::int64_t width = 0;
    for (const LinkId link : topology.in_links(host)) width += widths.width[at(link)];
    least = std::min(least, width);
  }
  return least;
}

/// Whether every host can take in so much from each host over links of these capacities (Theorem 5).
template <class Capacity>
bool all_are_served(const Topology& topology, const LinkWidths& widths, Wide128 demand, const Capacity& capacity) {
  const std::int32_t source = topology.node_count();
  for (NodeId sink = 0; sink < topology.host_count(); ++sink) {
    WideMaxFlow network(topology.node_count() + 1);
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      network.add_arc(topology.link(id).from, topology.link(id).to, capacity(widths.width[at(id)]));
    }
    for (NodeId host = 0; host < topology.host_count(); ++host) network.add_arc(source, host, demand);
    if (network.run(source, sink) < demand * topology.host_count()) return false;
  }
  return true;
}

/// The fraction with the least denominator between the last k/grid that does not suffice and the first that does.
template <class Suffices>
Rational least_that(const Suffices& suffices, std::int64_t below, std::int64_t above, std::int64_t grid) {
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (suffices(middle) ? above : below) = middle;
  }
  return simplest_between(Rational(below, grid), Rational(above, grid));
}

}  // namespace

Rational simplest_between(const Rational& low, const Rational& high) {
  const std::int64_t whole = low.floor().value_or(0);
  if (low == Rational(whole)) return low;
  if (Rational(whole + 1) <= high) return Rational(whole + 1);
  const Rational rest = simplest_between(Rational(1) / (high - Rational(whole)), Rational(1) / (low - Rational(whole)));
  return Rational(whole) + Rational(1) / rest;
}

std::optional<Rational> forest_optimum_by_bisection(const Topology& topology) {
  if (!check_connected(topology)) return std::nullopt;
  const LinkWidths widths = link_widths(topology);
  const std::int64_t bound = least_width_into_host(topology, widths);
  if (bound > widest) return std::nullopt;
  // Candidates are multiples of 1/grid, closer together than two fractions with denominators up to the bound.
  const std::int64_t grid = 2 * bound * bound;
  const std::int64_t others = topology.host_count() - 1;
  const auto suffices = [&](std::int64_t candidate) {
    return all_are_served(topology, widths, grid, [&](std::int64_t width) { return Wide128{width} * candidate; });
  };
  // Too small, or just so; and large enough: every link that leaves a cut is at least 1 wide.
  return least_that(suffices, others * grid / bound - 1, others * grid, grid);
}

std::optional<Rational> tree_scale_by_bisection(const Topology& topology, std::int64_t trees) {
  if (!check_connected(topology)) return std::nullopt;
  const LinkWidths widths = link_widths(topology);
  // U·b is whole for some link (appendix C.4), so U's denominator is at most the largest width.
  const std::int64_t largest = *std::max_element(widths.width.begin(), widths.width.end());
  if (largest > widest) return std::nullopt;
  const std::int64_t grid = 2 * largest * largest;
  const auto suffices = [&](std::int64_t candidate) {
    return all_are_served(topology, widths, trees,
                          [&](std::int64_t width) { return Wide128{width} * candidate / grid; });
  };
  return least_that(suffices, 0, topology.host_count() * trees * grid, grid);
}

}  // namespace libcoll::test
