// What `ip` and `tc` are told: the fabric's settings as batch text, one text per network namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcoll/fabric/forwarding.h"
#include "planner/topology/topology.h"

namespace libcoll::fabric {

/// Two nodes joined by a veth pair; a < b. A link without its reverse is a cable, too.
struct ShapedCable {
  topology::NodeId a = 0;
  topology::NodeId b = 0;
  friend bool operator==(const ShapedCable&, const ShapedCable&) = default;
};
std::vector<ShapedCable> cables(const topology::Topology& topology);

/// For `ip -batch` in the control namespace: the management bridge and all cables, made directly in the network
/// namespaces of the holders (pids by node).
std::string wiring_batch(const topology::Topology& topology, std::span<const pid_t> holders);

/// For `ip -batch` in a node: devices up, addresses of the classes 0..classes, permanent neighbours.
std::string device_batch(const topology::Topology& topology, topology::NodeId node, std::int32_t classes);

/// For `ip -batch` in a node: routes and rules, in place of all that an earlier one of these made.
std::string route_batch(const ForwardingTables& tables, const topology::Topology& topology, topology::NodeId node);

/// For `tc -batch`: what shapes the egress of one link, or swallows its packets when it is cut.
std::string shaping_line(const topology::Topology& topology, topology::LinkId link, bool cut);
/// The same for all links that leave a node; `cut` by link.
std::string shaping_batch(const topology::Topology& topology, topology::NodeId node, const std::vector<bool>& cut);

/// A file below /proc/sys and what is written to it.
struct KernelSetting {
  std::string path;
  std::string value;
  bool required = false;  ///< the fabric does not work without it; others only decide how well it measures
};
/// How much longer TCP's windows have to be than where every link has its reverse. Where one has none, what
/// acknowledges its packets goes through the queues of others, and a sender waits for that before it may go on.
std::int64_t tcp_window_factor(const topology::Topology& topology);
/// For every network namespace of the fabric.
std::vector<KernelSetting> kernel_settings(std::int64_t window_factor);

/// The private /etc/hosts: node names → management addresses.
std::string hosts_file(const topology::Topology& topology);

}  // namespace libcoll::fabric
