// From a planned all-to-all to what a subnet manager installs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/subnet_tables.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/route/destination_classes.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/schedule.h"

namespace libcoll::exchange {

inline constexpr std::int32_t any_port = -1;

/// What packets of a route class are sent by.
struct ClassAddress {
  std::int32_t path_bits = 0;
  std::int32_t service_level = 0;
  std::int32_t place = any_port;  ///< of the port among those of its host, at both ends
};

/// Forwarding of a whole subnet for the routes of one schedule.
struct SubnetPlan {
  SubnetTopology fabric;  ///< numbered as the schedule's topology
  route::DestinationClasses classes;
  SubnetLids lids;
  SubnetTables tables;
  std::vector<std::int32_t> service_levels;  ///< by path bits
  std::vector<ClassAddress> addresses;       ///< by route class − 1; with one port for each host path bits are that
  std::int32_t places = 1;  ///< ports of a host that classes have to tell apart, as they lead to several switches
};

struct SubnetLimits {
  std::int32_t lmc = largest_lmc;
  std::int32_t service_levels = 8;
};

/// Classes, LIDs and tables for the schedule's routes, which get their route_class (1, 2, …) and their layer (the
/// service level). Where ports of a host lead to several switches a class has one of them, the same at every host
/// (port_fabric.h). LMC is as small as the classes allow. Where the limits, or the number of LIDs, leave fewer classes
/// than the routes take, some change their path, and the schedule's proof is brought up to date. The tables are checked
/// before they are returned: every route is traced in them, and check_tables finds no deadlock.
///
/// Errors: a schedule without routes, links without their reverse, a host that is cabled to another host, too many
/// ports for the unicast LIDs; where hosts have ports on several switches those of schedule_of_ports().
Result<SubnetPlan> plan_subnet(const Subnet& subnet, const SubnetTopology& fabric, schedule::Schedule& schedule,
                               const SubnetLimits& limits);

/// Whether `device` names as many ports as classes tell apart.
Status check_devices(const SubnetPlan& plan, const std::string& device);

/// The route binding: for each class its path bits and service level, class 0 as class 1. `device` ("mlx5_0:1") is the
/// port of every host, empty: UCX chooses. With several places it names all, in their order ("mlx5_0:1,mlx5_1:1").
schedule::RouteBinding subnet_binding(const SubnetPlan& plan, const schedule::Schedule& schedule,
                                      const std::string& device);

/// Where a route's packets go from and to.
struct RouteEnds {
  std::size_t route = 0;  ///< index into the schedule's routes
  PortId source;
  std::int32_t source_lid = 0;
  std::int32_t destination_lid = 0;  ///< path bits included
};

/// For every route of the schedule its ends, once for each adapter port that both hosts have on its first and its last
/// switch, or only for the port of its class where that is among them. `addresses` by class − 1.
std::vector<RouteEnds> route_ends(const Subnet& subnet, const SubnetTopology& fabric, const SubnetLids& lids,
                                  const schedule::Schedule& schedule, const std::vector<ClassAddress>& addresses);

/// Whether every route has ends.
Status check_ends(const schedule::Schedule& schedule, const std::vector<RouteEnds>& ends);

/// Whether egress ports are those of a route; the error names the first that is not.
Status check_hops(const Subnet& subnet, const SubnetTopology& fabric, const schedule::Schedule& schedule,
                  const RouteEnds& ends, const std::vector<PortId>& hops);

/// "route 3 from 'a' to 'b' in class 2 (LID 39)"
std::string route_text(const schedule::Schedule& schedule, const RouteEnds& ends);

}  // namespace libcoll::exchange
