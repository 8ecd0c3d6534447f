// Planned routes on plain IP and RoCE fabrics: what hosts give to `ip -batch`, and tables for those who configure
// switches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "planner/base/result.h"
#include "planner/route/destination_classes.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// What routers tell classes apart by.
enum class IpSteering : std::uint8_t {
  device,  ///< an address for each class, on a device of its own
  gid,     ///< an address for each class, on one RoCE port: its GID index
  port,    ///< one address; the UDP source port of RoCE v2
};

Result<IpSteering> parse_ip_steering(std::string_view name);

/// The device (or switch port) from one node to another, by their names.
using LinkDevices = std::map<std::pair<std::string, std::string>, std::string>;

/// Lines "FROM,TO,DEVICE"; '#' starts a comment. Names are hosts' or nodes'. Errors name `file`, the line, what was
/// found and what was expected.
Result<LinkDevices> read_link_devices(std::string_view text, const std::string& file,
                                      const topology::Topology& topology);

/// Addresses and names of a fabric.
struct IpScheme {
  IpSteering steering = IpSteering::device;
  /// Host i has network + 65536 · class + 256 · (i / 250) + i % 250 + 1; with IpSteering::port the class is 0 there.
  std::uint32_t network = 10U << 24U;
  std::string link_device = "t{number}";  ///< towards a neighbour: {number} is its number, {name} its name
  std::string class_device = "L{class}";  ///< that has the class's address
  LinkDevices devices;                    ///< before link_device
  std::string roce_device;                ///< "mlx5_0:1" in the route binding; empty: UCX chooses
  std::int32_t first_gid_index = 0;       ///< of class 0; class k has the k-th after it
};

/// What UCX's path index k is on the wire (ROCE_PATH_FACTOR 1): UDP source port 0xC000 + k.
inline constexpr std::int32_t first_udp_source_port = 0xC000;
inline constexpr std::int32_t most_ip_classes = 99;

/// Dotted quad → number.
Result<std::uint32_t> parse_ipv4(std::string_view text);

/// Address of a host in a class.
std::string ip_address(const IpScheme& scheme, std::int32_t route_class, topology::NodeId host);

/// Classes by destination for the routes of a schedule, which get their route_class (1, 2, …) and layer. Errors: no
/// routes, more classes than most_ip_classes.
Result<route::DestinationClasses> plan_ip_classes(schedule::Schedule& schedule);

/// For `ip -batch` on a host: its devices and addresses of all classes. Empty with IpSteering::port.
std::string ip_addresses_batch(const IpScheme& scheme, const route::DestinationClasses& classes, topology::NodeId host);

/// For `ip -batch` on a host: a table for each class, and rules that choose it, in place of what an earlier one made
/// (protocol 78).
std::string ip_routes_batch(const IpScheme& scheme, const topology::Topology& topology,
                            const route::DestinationClasses& classes, topology::NodeId host);

/// Of a switch, as CSV: destination,udp_source_port,class,port,next. The port is the device towards `next`; any UDP
/// source port is empty.
std::string ip_switch_table(const IpScheme& scheme, const topology::Topology& topology,
                            const route::DestinationClasses& classes, topology::NodeId node);

/// Devices, GID indices or path indices of the classes; where there are several layers, a traffic class for each.
schedule::RouteBinding ip_binding(const IpScheme& scheme, const route::DestinationClasses& classes,
                                  const schedule::Schedule& schedule);

}  // namespace libcoll::exchange
