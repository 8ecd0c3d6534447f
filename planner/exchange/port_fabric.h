// Hosts whose ports are cabled to several switches: every port as a host of its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/base/result.h"
#include "planner/exchange/subnet.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/schedule/schedule.h"

namespace libcoll::exchange {

/// A port of an adapter, and which it is among the fabric's (SubnetTopology::places).
struct HostPort {
  topology::NodeId host = 0;
  std::int32_t place = 0;
};

/// A fabric in which ports stand for hosts. Adapters do not forward, a context of UCX has one port, and it takes the
/// port of that name at every host: what leaves a host by its port i enters another by its port i. So an all-to-all of
/// the hosts is one of the ports, between ports of the same place.
struct PortFabric {
  SubnetTopology fabric;                                ///< its hosts are the ports
  std::vector<HostPort> port;                           ///< by port
  std::vector<std::vector<topology::NodeId>> ports_of;  ///< by host, in the order of host_ports
  std::vector<topology::LinkId> link_of;                ///< by link: that of the hosts' topology
  std::vector<std::vector<std::pair<std::int32_t, topology::LinkId>>>
      links_of;  ///< by link of that: (place, link) of each port
};

/// Whether the ports of some host lead to several devices.
bool has_port_fabric(const Subnet& subnet, const SubnetTopology& fabric);

/// Error where a host is cabled to another host, or is one node with its switch, or two hosts have no port of one
/// place.
Result<PortFabric> port_fabric(const Subnet& subnet, const SubnetTopology& fabric);

/// What each port sends to each port (PlanOptions::demand of an all-to-all of ports) so that every host sends each
/// other host one block, in equal parts over the ports that both have.
std::vector<double> demand_of_ports(const PortFabric& ports);

/// The all-to-all of hosts that one of ports for that demand is, and the way back. Routes of the first are the second's
/// in the same order; what ports of different places send each other has none. The way back gives every route the port
/// that both ends have, of several the one that carries least.
/// Errors: a route through a host; a route that leaves a host by one port and enters the other by another.
schedule::Schedule schedule_of_hosts(const PortFabric& ports, const topology::Topology& hosts,
                                     const schedule::Schedule& schedule);
Result<schedule::Schedule> schedule_of_ports(const PortFabric& ports, const schedule::Schedule& schedule);

}  // namespace libcoll::exchange
