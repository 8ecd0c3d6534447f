#include "planner/exchange/subnet_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/base/index.h"
#include "planner/exchange/ibsim.h"
#include "planner/plan/claims.h"
#include "planner/schedule/cost.h"

namespace libcoll {
namespace {

const SubnetPort& port_of(const Subnet& subnet, const PortId& id) {
  return *find_port(subnet.devices[at(id.device)], id.port);
}

Status check_host_ports(const Subnet& subnet, const SubnetTopology& fabric) {
  for (NodeId host = 0; host < fabric.topology.host_count(); ++host) {
    const std::vector<PortId>& ports = fabric.host_ports[at(host)];
    const DeviceId first = port_of(subnet, ports.front()).peer;
    for (const PortId& port : ports) {
      if (port_of(subnet, port).peer == first) continue;
      return Error{"found ports of host '" + fabric.topology.node(host).name +
                   "' on several devices, expected one switch for each host: a UCX context has one port"};
    }
    if (!subnet.devices[at(first)].is_switch) {
      return Error{"found host '" + fabric.topology.node(host).name + "' cabled to another host, expected a switch"};
    }
  }
  return {};
}

/// The largest LMC that leaves a LID for everything; -1 where there is none.
std::int32_t most_lmc(const Subnet& subnet, std::int32_t limit) {
  std::int32_t lmc = limit;
  while (lmc >= 0 && !assign_lids(subnet, lmc).ok()) --lmc;
  return lmc;
}

std::vector<std::int64_t> chunks_of_routes(const Schedule& schedule) {
  std::vector<std::int64_t> chunks(schedule.routes.size(), 0);
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.route != direct) chunks[at(transfer.route)] += transfer.chunk_count;
  }
  return chunks;
}

void renew_proof(Schedule& schedule) {
  schedule.proof.max_link_load = busiest_load(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  claim_what_is_reached(schedule);
}

/// Every route as the tables have it.
Status trace_routes(const Subnet& subnet, const SubnetPlan& plan, const Schedule& schedule) {
  std::vector<std::int32_t> path_bits{0};
  for (std::size_t k = 0; k < plan.classes.classes.size(); ++k) path_bits.push_back(static_cast<std::int32_t>(k));
  for (const RouteEnds& ends : route_ends(subnet, plan.fabric, plan.lids, schedule, path_bits)) {
    const Result<std::vector<PortId>> hops = trace(subnet, plan.tables, plan.lids, ends.source, ends.destination_lid);
    const Status status = hops ? check_hops(subnet, plan.fabric, schedule, ends, *hops) : Status(hops.error());
    if (!status) return Error{route_text(schedule, ends) + ": " + status.error().message};
  }
  return {};
}

/// The ports by which a route may leave each device on its way.
std::vector<std::vector<PortId>> expected_hops(const Subnet& subnet, const SubnetTopology& fabric, const Route& route) {
  std::vector<std::vector<PortId>> hops;
  if (fabric.forwarder[at(route.source)] >= 0) hops.push_back(fabric.host_ports[at(route.source)]);
  for (const LinkId link : route.links) hops.push_back(fabric.egress[at(link)]);
  if (const DeviceId last = fabric.forwarder[at(route.destination)]; last >= 0) {
    std::vector<PortId>& ports = hops.emplace_back();
    for (const PortId& port : fabric.host_ports[at(route.destination)]) {
      ports.push_back({last, port_of(subnet, port).peer_port});
    }
  }
  return hops;
}

std::string hop_text(const Subnet& subnet, const PortId& hop) {
  const SubnetPort* cable = find_port(subnet.devices[at(hop.device)], hop.port);
  const std::string to = cable == nullptr ? "" : " to '" + subnet.devices[at(cable->peer)].description + "'";
  return "port " + std::to_string(hop.port) + " of '" + subnet.devices[at(hop.device)].description + "'" + to;
}

}  // namespace

Result<SubnetPlan> plan_subnet(const Subnet& subnet, const SubnetTopology& fabric, Schedule& schedule,
                               const SubnetLimits& limits) {
  if (schedule.routes.empty()) {
    return Error{"found a schedule without routes, expected an all-to-all on routes"};
  }
  if (const Status status = check_cables(schedule.topology); !status) return status.error();
  Result<SubnetTopology> numbered = numbered_as(fabric, schedule.topology);
  if (!numbered) return numbered.error();
  SubnetPlan plan;
  plan.fabric = std::move(numbered).value();
  if (const Status status = check_host_ports(subnet, plan.fabric); !status) return status.error();
  const std::int32_t lmc = most_lmc(subnet, limits.lmc);
  if (lmc < 0) return assign_lids(subnet, 0).error();
  ClassLimits class_limits;
  class_limits.classes = std::int32_t{1} << static_cast<unsigned>(lmc);
  class_limits.layers = limits.service_levels;
  class_limits.amount = chunks_of_routes(schedule);
  for (const DeviceId forwarder : plan.fabric.forwarder) class_limits.forwards.push_back(forwarder >= 0);
  Result<DestinationClasses> classes = assign_destination_classes(schedule.topology, schedule.routes, class_limits);
  if (!classes) return classes.error();
  plan.classes = std::move(classes).value();
  if (plan.classes.rerouted > 0) renew_proof(schedule);
  for (const DestinationClass& each : plan.classes.classes) plan.service_levels.push_back(each.layer);
  Result<SubnetLids> lids = assign_lids(subnet, lmc_for(plan.classes.classes.size()));
  if (!lids) return lids.error();
  plan.lids = std::move(lids).value();
  plan.tables = subnet_tables(subnet, plan.fabric, plan.classes, plan.lids);
  if (const Status status = check_tables(subnet, plan.tables, plan.lids, plan.service_levels); !status) {
    return status.error();
  }
  if (const Status status = trace_routes(subnet, plan, schedule); !status) return status.error();
  return plan;
}

RouteBinding subnet_binding(const SubnetPlan& plan, const Schedule& schedule, const std::string& device) {
  RouteBinding binding;
  binding.routes = route_set_digest(schedule.topology, schedule.routes);
  for (std::size_t number = 0; number <= plan.service_levels.size(); ++number) {
    const std::size_t bits = number == 0 ? 0 : number - 1;
    RouteClassBinding& each = binding.classes.emplace_back();
    each.route_class = static_cast<std::int32_t>(number);
    if (!device.empty()) each.settings.emplace_back("NET_DEVICES", device);
    each.settings.emplace_back("IB_LID_PATH_BITS", std::to_string(bits));
    each.settings.emplace_back("IB_SL", std::to_string(plan.service_levels[bits]));
  }
  return binding;
}

std::vector<RouteEnds> route_ends(const Subnet& subnet, const SubnetTopology& fabric, const SubnetLids& lids,
                                  const Schedule& schedule, const std::vector<std::int32_t>& path_bits) {
  std::vector<RouteEnds> all;
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    const Route& route = schedule.routes[i];
    const std::vector<PortId>& sources = fabric.host_ports[at(route.source)];
    const std::vector<PortId>& destinations = fabric.host_ports[at(route.destination)];
    for (std::size_t rail = 0; rail < std::min(sources.size(), destinations.size()); ++rail) {
      all.push_back({i, sources[rail], base_lid(subnet, lids, sources[rail]),
                     base_lid(subnet, lids, destinations[rail]) + path_bits[at(route.route_class)]});
    }
  }
  return all;
}

Status check_hops(const Subnet& subnet, const SubnetTopology& fabric, const Schedule& schedule, const RouteEnds& ends,
                  const std::vector<PortId>& hops) {
  const std::vector<std::vector<PortId>> expected = expected_hops(subnet, fabric, schedule.routes[ends.route]);
  for (std::size_t hop = 0; hop < expected.size(); ++hop) {
    const std::string wanted = hop_text(subnet, expected[hop].front());
    if (hop == hops.size()) return Error{"found an end after " + std::to_string(hop) + " hops, expected " + wanted};
    if (std::find(expected[hop].begin(), expected[hop].end(), hops[hop]) != expected[hop].end()) continue;
    return Error{"found " + hop_text(subnet, hops[hop]) + ", expected " + wanted};
  }
  if (hops.size() > expected.size()) {
    return Error{"found " + hop_text(subnet, hops[expected.size()]) + ", expected the end of the route"};
  }
  return {};
}

std::string route_text(const Schedule& schedule, const RouteEnds& ends) {
  const Route& route = schedule.routes[ends.route];
  return "route " + std::to_string(ends.route) + " from '" + schedule.topology.node(route.source).name + "' to '" +
         schedule.topology.node(route.destination).name + "' in class " + std::to_string(route.route_class) + " (LID " +
         std::to_string(ends.destination_lid) + ")";
}

}  // namespace libcoll
