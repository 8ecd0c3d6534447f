// The host-NIC bottleneck of paper 003 (§3.2.2, Fig. 2): hosts that inject less than their links carry.
#pragma once

#include <span>
#include <vector>

#include "planner/base/rational.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// Who passes on what is for others: NICs (path-based schedules; only a path's ends cross the host's own link), or
/// hosts (link-based schedules; every hop does).
enum class ForwardedBy : std::uint8_t { nics, hosts };

/// A fabric with its hosts' injection links made explicit. Hosts keep their ids 0..N-1 and links of the fabric theirs;
/// link `fabric_links + u` leads from host u to its NIC, `fabric_links + N + u` from the NIC to host u. NICs are
/// switches; where hosts forward, each is split in two so that nothing gets from its ingress to its egress but through
/// the host. Where injection is no bottleneck the topology is the fabric itself.
struct InjectionNetwork {
  topology::Topology topology;
  ForwardedBy forwarded_by = ForwardedBy::nics;
  bool bottleneck = false;
  topology::LinkId fabric_links = 0;
  /// Unit bandwidth of this topology over that of the fabric: F of the fabric = F of this × unit, U = U of this / unit.
  Rational unit = 1;
};

/// Precondition: hosts alone (no switches) where hosts forward.
InjectionNetwork with_injection(const topology::Topology& fabric, ForwardedBy forwarded_by);

/// A path of the fabric between two hosts as the network has it, and the other way round.
std::vector<topology::LinkId> network_path(const InjectionNetwork& network, const topology::Topology& fabric,
                                           std::span<const topology::LinkId> links);
std::vector<topology::LinkId> fabric_path(const InjectionNetwork& network, std::span<const topology::LinkId> links);

/// The rate on the fabric that one on the network is, rounded up: for upper bounds.
double upper_rate_on_fabric(const InjectionNetwork& network, double rate);

}  // namespace libcoll::flow::problem
