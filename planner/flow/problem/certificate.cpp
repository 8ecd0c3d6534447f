#include "planner/flow/problem/certificate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/problem/block_distances.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t largest_length = 1'000'000'000;
constexpr std::int64_t largest_small_length = 1000;
constexpr double near_multiple = 1e-3;
constexpr std::int64_t finest_denominator = 1'000'000'000;

/// U ≥ distances/capacity, both exact.
struct Bound {
  Wide distances = 0;
  Wide capacity = 0;
  [[nodiscard]] long double load() const {
    return static_cast<long double>(distances) / static_cast<long double>(capacity);
  }
};

/// Σ_s size_s Σ_d dist_ℓ(s, d) over one host s for every orbit and all hosts d.
Wide sum_of_distances(const Topology& topology, const SourceOrbits& orbits, std::span<const std::int64_t> lengths) {
  std::vector<std::int32_t> begin{0};
  std::vector<std::int32_t> from;
  std::vector<std::int64_t> in_order;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    for (const LinkId link : topology.in_links(node)) {
      from.push_back(topology.link(link).from);
      in_order.push_back(lengths[at(link)]);
    }
    begin.push_back(static_cast<std::int32_t>(from.size()));
  }
  Wide sum = 0;
  std::vector<std::int64_t> distance;
  for (std::size_t first = 0; first < orbits.sources.size(); first += integer_lanes) {
    const std::size_t count = std::min<std::size_t>(integer_lanes, orbits.sources.size() - first);
    block_distances({begin, from}, in_order, std::span(orbits.sources).subspan(first, count), distance);
    for (std::size_t i = 0; i < count; ++i) {
      Wide of_source = 0;
      for (NodeId host = 0; host < topology.host_count(); ++host) of_source += distance[at(host) * integer_lanes + i];
      sum += of_source * orbits.sizes[first + i];
    }
  }
  return sum;
}

Bound bound_by(const Topology& topology, const SourceOrbits& orbits, std::span<const std::int64_t> lengths) {
  // Bandwidths over their greatest common divisor keep the sums far from 128 bits.
  const std::int64_t unit = topology.unit_bandwidth_bytes_per_second();
  std::int64_t divisor = unit;
  for (const Link& link : topology.links()) divisor = std::gcd(divisor, link.bandwidth_bytes_per_second);
  Bound bound;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    bound.capacity += Wide{topology.link(link).bandwidth_bytes_per_second / divisor} * lengths[at(link)];
  }
  bound.distances = sum_of_distances(topology, orbits, lengths);
  bound.distances *= unit / divisor;
  return bound;
}

std::vector<std::int64_t> scaled(std::span<const double> prices, double scale, std::int64_t least) {
  std::vector<std::int64_t> lengths;
  for (const double price : prices) lengths.push_back(std::max<std::int64_t>(least, std::llround(price * scale)));
  return lengths;
}

/// The smallest integers that the prices are proportional to, within rounding; empty when there are none.
std::vector<std::int64_t> small_lengths(std::span<const double> prices, double largest) {
  for (std::int64_t length = 1; length <= largest_small_length; ++length) {
    const double scale = static_cast<double>(length) / largest;
    const auto close = [&](double price) {
      return std::abs(price * scale - std::round(price * scale)) < near_multiple;
    };
    if (std::all_of(prices.begin(), prices.end(), close)) return scaled(prices, scale, 0);
  }
  return {};
}

/// The quotient as a double that is not below it.
double rounded_up(const Bound& bound) {
  const long double exact = static_cast<long double>(bound.capacity) / static_cast<long double>(bound.distances);
  return std::nextafter(static_cast<double>(exact), std::numeric_limits<double>::infinity());
}

Rational rounded_down(const Bound& bound) {
  Rational exact = Rational::quotient(bound.distances, bound.capacity);
  if (exact.is_narrow() && exact.denominator() <= finest_denominator) return exact;
  return {exact.floor(finest_denominator).value_or(0), finest_denominator};
}

}  // namespace

FlowCertificate certify_flow(const Topology& topology, std::span<const double> prices) {
  return certify_flow(topology, source_orbits(topology, {}), prices);
}

FlowCertificate certify_flow(const Topology& topology, const SourceOrbits& orbits, std::span<const double> prices) {
  const double largest = *std::max_element(prices.begin(), prices.end());
  std::vector<double> by_link;
  for (const std::int32_t link_class : orbits.link_class) by_link.push_back(prices[at(link_class)]);
  std::vector<std::int64_t> lengths(by_link.size(), 1);
  if (largest > 0) lengths = scaled(by_link, static_cast<double>(largest_length) / largest, 1);
  Bound bound = bound_by(topology, orbits, lengths);
  if (largest > 0) {
    std::vector<std::int64_t> small = small_lengths(by_link, largest);
    const Bound better = small.empty() ? bound : bound_by(topology, orbits, small);
    if (!small.empty() && better.distances > 0 && better.load() >= bound.load()) {
      lengths = std::move(small);
      bound = better;
    }
  }
  return {std::move(lengths), rounded_up(bound), rounded_down(bound)};
}

}  // namespace libcoll::flow::problem
