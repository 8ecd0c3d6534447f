// A fabric whose topology file has changed, as those see it who were on it before.
#pragma once

#include <cstdint>
#include <span>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::recover {

enum class WiringChange : std::uint8_t {
  none,   ///< nothing but bandwidths, latencies and names of nodes without hosts
  more,   ///< links have come, and none has gone
  fewer,  ///< some link has gone
};

/// How the links of `now` differ from those of `start`. Hosts are the same that have the same name.
WiringChange wiring_change(const topology::Topology& start, const topology::Topology& now);

/// `now` as the hosts `hosts` of `start` see it: host i of the result is hosts[i]; otherwise as part_of(). Where those
/// are all hosts, in the order that they have there, that is `now` itself. Error when one of them is not there any
/// more, or does not reach the others.
Result<topology::Topology> fabric_of(const topology::Topology& now, const topology::Topology& start,
                                     std::span<const topology::NodeId> hosts);

}  // namespace libcoll::recover
