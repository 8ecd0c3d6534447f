#include "planner/broadcast/classic/hdrm.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::broadcast::classic {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

struct BiGraph {
  std::int32_t hosts_per_switch = 0;
  std::int32_t side = 0;  ///< upper switches, and as many lower ones
};

Result<BiGraph> bigraph_of(const Topology& topology) {
  const auto parts = split_specification(topology.name());
  if (!parts || parts->family != "bigraph") {
    return Error{"the rank mapping is for topologies named bigraph:HxS, found '" + topology.name() + "'"};
  }
  const auto numbers = parse_numbers(parts->arguments, 'x', 1, max_nodes);
  if (!numbers || numbers->size() != 2) return Error{"found '" + topology.name() + "', expected bigraph:HxS"};
  const BiGraph shape{(*numbers)[0], (*numbers)[1] / 2};
  if (topology.host_count() != 2 * shape.hosts_per_switch * shape.side) {
    return Error{"'" + topology.name() + "' has " + std::to_string(topology.host_count()) + " hosts"};
  }
  for (const std::int32_t number : *numbers) {
    if (!std::has_single_bit(static_cast<std::uint32_t>(number))) {
      return Error{"found " + std::to_string(number) + ", expected powers of two"};
    }
  }
  return shape;
}

/// Ranks that share a switch differ in the bits that choose the switch of their partners, and the other way round.
std::vector<NodeId> host_of_rank(const BiGraph& shape, std::int32_t hosts) {
  std::vector<std::int32_t> taken(static_cast<std::size_t>(2 * shape.side), 0);
  std::vector<NodeId> result;
  for (std::int32_t rank = 0; rank < hosts; ++rank) {
    const bool upper = std::popcount(static_cast<std::uint32_t>(rank)) % 2 == 0;
    const std::int32_t place = upper ? rank / (hosts / shape.side) : shape.side + rank % shape.side;
    result.push_back(place * shape.hosts_per_switch + taken[static_cast<std::size_t>(place)]++);
  }
  return result;
}

Result<Pattern> hdrm_pattern(const Topology& topology, const PlanOptions& /*options*/) {
  const Result<BiGraph> shape = bigraph_of(topology);
  if (!shape) return shape.error();
  const std::int32_t hosts = topology.host_count();
  const std::vector<NodeId> host_of = host_of_rank(*shape, hosts);
  Gathering gathering(hosts);
  for (std::int32_t distance = hosts / 2; distance > 0; distance /= 2) {
    std::vector<NodeId> partners(host_of.size());
    for (std::int32_t rank = 0; rank < hosts; ++rank) {
      partners[static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)])] =
          host_of[static_cast<std::size_t>(rank ^ distance)];
    }
    if (const Status status = gathering.exchange(partners); !status) return status.error();
  }
  return gathering.finish();
}

}  // namespace

Result<Schedule> plan_hdrm(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_by_pattern(hdrm_pattern, collective, "hdrm", topology, options);
}

}  // namespace libcoll::broadcast::classic
