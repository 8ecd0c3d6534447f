// Names and addresses on the emulated fabric: devices, IPv4 addresses, MAC addresses, route tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "planner/topology/topology.h"

namespace libcoll::fabric {

/// What the scheme has room for: 10.<class>.<node / 250>.<node % 250 + 1>, with 10.100 taken by class 0.
inline constexpr std::int32_t max_route_classes = 99;
inline constexpr std::int32_t max_fabric_nodes = 250 * 250;

inline constexpr std::string_view default_class_network = "10.100.0.0/16";  ///< class 0, the default routing
inline constexpr std::string_view management_network = "172.31.0.0/16";
inline constexpr std::string_view management_bridge = "mgmt";
inline constexpr std::string_view management_device = "m0";  ///< in every node

/// "L2": the device that holds a node's address of a class.
std::string class_device(std::int32_t route_class);
/// "10.2.0.4" for class 2 of node 3; class 0 lives in 10.100.
std::string class_address(std::int32_t route_class, topology::NodeId node);
/// "172.31.0.4" for node 3.
std::string management_address(topology::NodeId node);
/// The control namespace's own address on the management network.
std::string control_address();
/// "t5": the device whose cable leads to node 5.
std::string link_device(topology::NodeId peer);
/// The MAC address of link_device(to) in node `from`.
std::string link_mac(topology::NodeId from, topology::NodeId to);
/// Port of the management bridge for a node.
std::string management_port(topology::NodeId node);
/// Number of the kernel's route table for packets of a class from a source.
std::int64_t source_table(std::int32_t route_class, topology::NodeId source);

}  // namespace libcoll::fabric
