// An InfiniBand subnet as a topology, and which ports each of its links stands for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/index.h"
#include "planner/base/result.h"
#include "planner/exchange/subnet.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// A port of a device.
struct PortId {
  DeviceId device = 0;
  std::int32_t port = 0;
  friend bool operator==(const PortId&, const PortId&) = default;
};

/// Precondition: the device has the port.
inline const SubnetPort& port_of(const Subnet& subnet, const PortId& id) {
  return *find_port(subnet.devices[at(id.device)], id.port);
}

/// What becomes of a switch to which exactly one host is cabled.
enum class HostSwitches : std::uint8_t {
  automatic,  ///< one node with its host where no host link is a bottleneck, otherwise a switch
  collapse,   ///< one node with its host; slower host links become the injection bandwidth
  keep,       ///< a switch
};
/// "auto", "collapse", "keep".
Result<HostSwitches> parse_host_switches(std::string_view text);

struct SubnetTopology {
  topology::Topology topology;
  /// By link: the ports by which it leaves its device, ascending; several are parallel cables, whose bandwidths add up.
  std::vector<std::vector<PortId>> egress;
  /// By node: the switch that forwards for it, or -1 (a host beside its switches).
  std::vector<DeviceId> forwarder;
  /// By host: the adapters' ports that are cabled.
  std::vector<std::vector<PortId>> host_ports;
  /// By host, for each of those: which port it is among the fabric's. Where some host has ports on several switches
  /// ports of one adapter name (what follows the host's in the description) and number are the same at all hosts, in
  /// the order of these; elsewhere they are counted.
  std::vector<std::vector<std::int32_t>> places;
};

/// Channel adapters are hosts, named by the first word of their node descriptions; several adapters of one host differ
/// in what follows ("node01 HCA-1", "node01 HCA-2"). Hosts are numbered in the order of their names, where digits count
/// as numbers. Devices without a cable are left out.
///
/// On a direct-connect fabric every host hangs on a switch of its own. Host and switch are one node of the topology, as
/// its nodes are routers too, where the host's cables carry as much as the other cables of its switch together: then
/// the host link never is the bottleneck. Where it may be one, `automatic` keeps the switch, and the topology stays
/// exact. `collapse` makes one node all the same; the slowest host link becomes the injection bandwidth of every host
/// (paper 003, Figure 2), which all-to-all plans obey and others do not. A switch with no host, with several, or with a
/// host that has cables elsewhere too, always stays a switch. `collapse` and `automatic` decide for all switches alike.
///
/// Errors: two adapters of one description, a host cabled to itself, fewer than two hosts.
Result<SubnetTopology> topology_of(const Subnet& subnet, const std::string& file,
                                   HostSwitches host_switches = HostSwitches::automatic);

/// The fabric with the topology of a plan in place of its own: nodes are matched by name (or the host name of the
/// plan's node), links of the fabric that the plan does not have are left out. Error where nodes or links of the plan
/// are not there, or nodes of the fabric are not in the plan.
Result<SubnetTopology> numbered_as(const SubnetTopology& fabric, const topology::Topology& plan);

}  // namespace libcoll::exchange
