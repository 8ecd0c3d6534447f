// Fabrics whose links have bandwidths as they are measured, and T_B of a schedule computed without Rational.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/reader.h"
#include "planner/topology/topology.h"
#include "tests/unit/random_regular.h"

namespace libcoll::test {

/// A whole number from the environment.
inline std::int32_t setting(const char* name, std::int32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// How many decimals of Gbps a bandwidth has, and how many orders of magnitude lie between the least and the largest
/// (0: 20 to 25 Gbps).
struct Measured {
  std::int32_t decimals = 4;
  std::int32_t orders = 0;
};

/// A ring of `nodes` with nodes/2 random chords, every cable with a bandwidth of its own.
inline topology::Topology measured_ring(std::int32_t nodes, Measured how, std::uint32_t seed) {
  std::mt19937 random(seed * 1000003U + static_cast<std::uint32_t>(nodes * 101 + how.decimals * 11 + how.orders));
  std::set<std::pair<topology::NodeId, topology::NodeId>> cables;
  const auto add = [&](topology::NodeId a, topology::NodeId b) {
    if (a != b) cables.emplace(std::min(a, b), std::max(a, b));
  };
  for (topology::NodeId node = 0; node < nodes; ++node) add(node, (node + 1) % nodes);
  const std::size_t wanted = at(nodes) + at(nodes) / 2;
  std::uniform_int_distribution<topology::NodeId> any(0, nodes - 1);
  while (cables.size() < wanted) add(any(random), any(random));
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<topology::Link> links;
  for (const auto& [a, b] : cables) {
    const double gbps = how.orders > 0 ? 25 * std::pow(10, -how.orders * share(random)) : 20 + 5 * share(random);
    char text[64];
    std::snprintf(text, sizeof text, "%.*fGbps", static_cast<int>(how.decimals + how.orders), gbps);
    const std::int64_t bandwidth = topology::parse_bandwidth(text).value();
    links.push_back({a, b, bandwidth});
    links.push_back({b, a, bandwidth});
  }
  return topology::Topology::make("measured-" + std::to_string(nodes), numbered_nodes(nodes), std::move(links)).value();
}

/// T_B in M/B as Proof::bandwidth_time defines it, with 64 bits of mantissa: what a link carries over its bandwidth.
inline long double time_of_transfers(const schedule::Schedule& schedule) {
  const topology::Topology& topology = schedule.topology;
  std::map<std::pair<std::int32_t, topology::LinkId>, std::int64_t>
      chunks;  // by what separates loads in time, and by link
  for (const schedule::Transfer& transfer : schedule.transfers) {
    const bool apart = schedule.collective != schedule::Collective::alltoall && !schedule.pipelined;
    const std::int32_t phase = apart ? transfer.step : transfer.kind == schedule::TransferKind::reduce ? -1 : -2;
    if (transfer.route == schedule::direct) {
      chunks[{phase, topology.find_link(transfer.from, transfer.to)}] += transfer.chunk_count;
    } else {
      for (const topology::LinkId link : schedule.routes[at(transfer.route)].links)
        chunks[{phase, link}] += transfer.chunk_count;
    }
  }
  std::map<std::int32_t, long double> seconds;  // for a shard of one byte
  std::int64_t slowest = topology.link(0).bandwidth_bytes_per_second;
  std::vector<std::int32_t> out(at(topology.node_count()), 0);
  std::vector<std::int32_t> in(at(topology.node_count()), 0);
  for (const topology::Link& link : topology.links()) {
    slowest = std::min(slowest, link.bandwidth_bytes_per_second);
    ++out[at(link.from)];
    ++in[at(link.to)];
  }
  for (const auto& [key, count] : chunks) {
    long double& most = seconds[key.first];
    most = std::max(most, static_cast<long double>(count) / schedule.chunks_per_shard /
                              static_cast<long double>(topology.link(key.second).bandwidth_bytes_per_second));
  }
  long double total = 0;
  for (const auto& [phase, most] : seconds) total += most;
  const std::int32_t degree = std::max(*std::max_element(out.begin(), out.begin() + topology.host_count()),
                                       *std::max_element(in.begin(), in.begin() + topology.host_count()));
  const bool rooted = schedule::is_rooted(schedule.collective);
  return total * static_cast<long double>(slowest) * degree / (rooted ? 1 : topology.host_count());
}

/// What a fraction of any length comes to: "26/27".
inline long double value_of(const std::string& fraction) {
  const std::size_t slash = fraction.find('/');
  const long double numerator = std::strtold(fraction.substr(0, slash).c_str(), nullptr);
  return slash == std::string::npos ? numerator : numerator / std::strtold(fraction.substr(slash + 1).c_str(), nullptr);
}

}  // namespace libcoll::test
