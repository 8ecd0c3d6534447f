// LIDs and linear forwarding tables of an InfiniBand subnet, and what packets do by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/exchange/subnet.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/route/destination_classes.h"

namespace libcoll::exchange {

/// Which LIDs ports have: 2^lmc each for ports of adapters, one for a switch.
struct SubnetLids {
  std::int32_t lmc = 0;
  /// base[device]: the first LID of each port of an adapter, in the order of SubnetDevice::ports; of a switch one
  /// entry.
  std::vector<std::vector<std::int32_t>> base;
};

/// LIDs as they are where they fit: multiples of 2^lmc that nothing else has; others get the lowest that are free.
/// Error where InfiniBand has too few (unicast LIDs end at 0xBFFF).
Result<SubnetLids> assign_lids(const Subnet& subnet, std::int32_t lmc);

/// As the subnet says; 0 where a port has none. lmc is the largest of a port.
SubnetLids present_lids(const Subnet& subnet);

/// The first LID of an adapter's port.
std::int32_t base_lid(const Subnet& subnet, const SubnetLids& lids, const PortId& port);

inline constexpr std::uint8_t no_port = 0xFF;

/// port[device][lid]: by which port a switch sends on; 0 for itself, no_port where it has no entry. Empty for adapters
/// and switches of which nothing is known.
struct SubnetTables {
  std::vector<std::vector<std::uint8_t>> port;
};

/// Tables in which path bits k lead along class k + 1, and path bits beyond the classes along class 1, as do the LIDs
/// of switches. Of parallel cables each destination takes one, in turn.
SubnetTables subnet_tables(const Subnet& subnet, const SubnetTopology& fabric, const route::DestinationClasses& classes,
                           const SubnetLids& lids);

/// The egress ports of a packet that leaves an adapter's port for a LID: of the adapter, then of every switch on the
/// way. The error says where it ends instead: no entry, a port that is not cabled, a loop, another adapter.
Result<std::vector<PortId>> trace(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                                  const PortId& source, std::int32_t lid);

/// Refuses tables by which packets could wait for each other in a circle (Dally and Seitz 1987), or that leave an
/// adapter without a way to any LID. `service_levels` by path bits: the lane of packets to base LID + path bits; what
/// any adapter may send to any other is looked at, so answers too, and what switches send, in the lane of path bits 0.
/// Packets to switches have to arrive only: they are management datagrams, most of them in lane 15, and up*/down*
/// orders do not have ways from all switches to all. Knows nothing of how the tables came about.
Status check_tables(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                    std::span<const std::int32_t> service_levels);

}  // namespace libcoll::exchange
