#include "planner/flow/problem/demand.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "planner/base/index.h"
#include "planner/flow/problem/length_tree.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t largest_demand_length = 1'000'000'000;
constexpr std::int64_t unit_of_demand = std::int64_t{1} << 30;
constexpr std::int64_t finest_demand_denominator = 1'000'000'000;

std::vector<std::int64_t> integer_lengths(std::span<const double> prices) {
  const double largest = *std::max_element(prices.begin(), prices.end());
  std::vector<std::int64_t> lengths(prices.size(), 1);
  if (largest <= 0) return lengths;
  const double scale = static_cast<double>(largest_demand_length) / largest;
  // Never 0, so that every pair is at a distance.
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = std::max<std::int64_t>(1, std::llround(prices[i] * scale));
  }
  return lengths;
}

}  // namespace

Status check_demand(const Topology& topology, std::span<const double> demand) {
  if (demand.empty()) return {};
  const auto hosts = at(topology.host_count());
  if (demand.size() != hosts * hosts) {
    return Error{"found a demand of " + std::to_string(demand.size()) + " pairs, expected " +
                 std::to_string(hosts * hosts) + " for the " + std::to_string(hosts) + " hosts of " + topology.name()};
  }
  bool asks = false;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const std::size_t source = i / hosts;
    const std::size_t destination = i % hosts;
    if (!(demand[i] >= 0 && demand[i] <= 1)) {
      return Error{"found a demand of " + std::to_string(demand[i]) + " from host " + std::to_string(source) + " to " +
                   std::to_string(destination) + ", expected a share from 0 to 1"};
    }
    asks = asks || (source != destination && demand[i] * static_cast<double>(unit_of_demand) >= 1);
  }
  if (!asks) return Error{"found a demand of nothing, expected a pair of hosts that exchanges data"};
  return {};
}

FlowCertificate certify_demand_flow(const Topology& topology, std::span<const double> prices,
                                    std::span<const double> demand) {
  FlowCertificate certificate;
  certificate.lengths = integer_lengths(prices);
  const std::int64_t unit = topology.unit_bandwidth_bytes_per_second();
  std::int64_t divisor = unit;
  for (const Link& link : topology.links()) divisor = std::gcd(divisor, link.bandwidth_bytes_per_second);
  Wide capacity = 0;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    capacity += Wide{topology.link(link).bandwidth_bytes_per_second / divisor} * certificate.lengths[at(link)];
  }
  Wide distances = 0;
  for (NodeId source = 0; source < topology.host_count(); ++source) {
    const auto tree = length_tree<std::int64_t>(topology, certificate.lengths, source);
    for (NodeId to = 0; to < topology.host_count(); ++to) {
      if (to == source) continue;
      const double asked = share(demand, topology.host_count(), source, to) * static_cast<double>(unit_of_demand);
      distances += Wide{static_cast<std::int64_t>(std::floor(asked))} * tree.distance[at(to)];
    }
  }
  // Both sides in units of capacity·demand; long double holds 64 bits, the steps away make up for what it drops.
  const long double above = static_cast<long double>(capacity) * unit_of_demand;
  const std::int64_t unit_capacity = unit / divisor;
  const long double below = static_cast<long double>(distances) * static_cast<long double>(unit_capacity);
  certificate.flow_upper_bound =
      std::nextafter(static_cast<double>(above / below), std::numeric_limits<double>::infinity());
  const auto load = static_cast<double>(below / above * static_cast<long double>(finest_demand_denominator));
  certificate.load_lower_bound = {std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(load)) - 1),
                                  finest_demand_denominator};
  return certificate;
}

}  // namespace libcoll::flow::problem
