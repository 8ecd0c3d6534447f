#include "planner/exchange/subnet_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "planner/base/index.h"
#include "planner/exchange/ibsim.h"
#include "planner/exchange/port_fabric.h"
#include "planner/plan/claims.h"
#include "planner/schedule/cost.h"

namespace libcoll::exchange {

using namespace default_plan;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

Status check_host_ports(const Subnet& subnet, const SubnetTopology& fabric) {
  for (NodeId host = 0; host < fabric.topology.host_count(); ++host) {
    if (subnet.devices[at(port_of(subnet, fabric.host_ports[at(host)].front()).peer)].is_switch) continue;
    return Error{"found host '" + fabric.topology.node(host).name + "' cabled to another host, expected a switch"};
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
  const std::vector<RouteEnds> all = route_ends(subnet, plan.fabric, plan.lids, schedule, plan.addresses);
  if (Status status = check_ends(schedule, all); !status) return status;
  for (const RouteEnds& ends : all) {
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

/// `fabric` has the schedule's topology.
Result<SubnetPlan> plan_numbered(const Subnet& subnet, SubnetTopology fabric, Schedule& schedule,
                                 const SubnetLimits& limits) {
  SubnetPlan plan;
  plan.fabric = std::move(fabric);
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
  for (const DestinationClass& each : plan.classes.classes) {
    plan.addresses.push_back({static_cast<std::int32_t>(plan.addresses.size()), each.layer, any_port});
    plan.service_levels.push_back(each.layer);
  }
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

/// The same where ports stand for hosts: a class is one of a port's classes and the port's place.
Result<SubnetPlan> plan_on_ports(const Subnet& subnet, SubnetTopology fabric, Schedule& schedule,
                                 const SubnetLimits& limits) {
  const Result<PortFabric> ports = port_fabric(subnet, fabric);
  if (!ports) return ports.error();
  Result<Schedule> of_ports = schedule_of_ports(*ports, schedule);
  if (!of_ports) return of_ports.error();
  Result<SubnetPlan> plan = plan_numbered(subnet, ports->fabric, *of_ports, limits);
  if (!plan) return plan;
  const auto key = [&](const Route& route) {
    return std::pair(ports->port[at(route.source)].place, route.route_class);
  };
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> numbers;
  for (const Route& route : of_ports->routes) numbers.emplace(key(route), 0);
  plan->addresses.clear();
  for (auto& [place_and_class, number] : numbers) {
    const auto [place, of_port] = place_and_class;
    plan->addresses.push_back({of_port - 1, plan->service_levels[at(of_port) - 1], place});
    number = static_cast<std::int32_t>(plan->addresses.size());
  }
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    const Route& of_port = of_ports->routes[i];
    Route& route = schedule.routes[i];
    route.layer = of_port.layer;
    route.route_class = numbers[key(of_port)];
    route.links.clear();
    for (const LinkId link : of_port.links) route.links.push_back(ports->link_of[at(link)]);
  }
  if (plan->classes.rerouted > 0) renew_proof(schedule);
  for (const std::vector<std::int32_t>& of_host : fabric.places) {
    for (const std::int32_t place : of_host) plan->places = std::max(plan->places, place + 1);
  }
  plan->fabric = std::move(fabric);
  if (const Status status = trace_routes(subnet, *plan, schedule); !status) return status.error();
  return plan;
}

std::vector<std::string> devices_of(const std::string& list) {
  std::vector<std::string> devices;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    devices.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return devices;
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
  const auto plan = has_port_fabric(subnet, *numbered) ? &plan_on_ports : &plan_numbered;
  return plan(subnet, std::move(numbered).value(), schedule, limits);
}

Status check_devices(const SubnetPlan& plan, const std::string& device) {
  if (plan.places == 1) return {};
  const std::vector<std::string> devices = devices_of(device);
  const bool all = std::none_of(devices.begin(), devices.end(), [](const std::string& each) { return each.empty(); });
  if (all && devices.size() == at(plan.places)) return {};
  return Error{"found '" + device + "' as the devices of ports on several switches, expected " +
               std::to_string(plan.places) +
               " with commas between them, in the order of the hosts' adapters and ports"};
}

RouteBinding subnet_binding(const SubnetPlan& plan, const Schedule& schedule, const std::string& device) {
  RouteBinding binding;
  binding.routes = route_set_digest(schedule.topology, schedule.routes);
  const std::vector<std::string> devices = plan.places == 1 ? std::vector{device} : devices_of(device);
  for (std::size_t number = 0; number <= plan.addresses.size(); ++number) {
    const ClassAddress& address = plan.addresses[number == 0 ? 0 : number - 1];
    RouteClassBinding& each = binding.classes.emplace_back();
    each.route_class = static_cast<std::int32_t>(number);
    const std::string& of_class = devices[address.place == any_port ? 0 : at(address.place)];
    if (!of_class.empty()) each.settings.emplace_back("NET_DEVICES", of_class);
    each.settings.emplace_back("IB_LID_PATH_BITS", std::to_string(address.path_bits));
    each.settings.emplace_back("IB_SL", std::to_string(address.service_level));
  }
  return binding;
}

std::vector<RouteEnds> route_ends(const Subnet& subnet, const SubnetTopology& fabric, const SubnetLids& lids,
                                  const Schedule& schedule, const std::vector<ClassAddress>& addresses) {
  // Whether a host's port is one by which the route may leave it, or be left at its end.
  const auto leads = [&](NodeId host, const PortId& port, LinkId link, bool out) {
    if (fabric.forwarder[at(host)] >= 0) return true;
    const std::vector<PortId>& egress = fabric.egress[at(link)];
    const SubnetPort& cable = port_of(subnet, port);
    return std::find(egress.begin(), egress.end(), out ? port : PortId{cable.peer, cable.peer_port}) != egress.end();
  };
  std::vector<RouteEnds> all;
  std::vector<RouteEnds> ends;
  for (std::size_t route_number = 0; route_number < schedule.routes.size(); ++route_number) {
    const Route& route = schedule.routes[route_number];
    ends.clear();
    const ClassAddress& address = addresses[at(route.route_class) - 1];
    const std::vector<PortId>& sources = fabric.host_ports[at(route.source)];
    const std::vector<PortId>& destinations = fabric.host_ports[at(route.destination)];
    const std::vector<std::int32_t>& places = fabric.places[at(route.destination)];
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::int32_t place = fabric.places[at(route.source)][i];
      const auto other = std::find(places.begin(), places.end(), place);
      if (other == places.end() || !leads(route.source, sources[i], route.links.front(), true)) continue;
      const PortId& destination = destinations[static_cast<std::size_t>(other - places.begin())];
      if (!leads(route.destination, destination, route.links.back(), false)) continue;
      ends.push_back({route_number, sources[i], base_lid(subnet, lids, sources[i]),
                      base_lid(subnet, lids, destination) + address.path_bits});
      if (address.place == any_port || place != address.place) continue;
      ends.erase(ends.begin(), ends.end() - 1);
      break;
    }
    all.insert(all.end(), ends.begin(), ends.end());
  }
  return all;
}

Status check_ends(const Schedule& schedule, const std::vector<RouteEnds>& ends) {
  std::vector<bool> has_ends(schedule.routes.size(), false);
  for (const RouteEnds& each : ends) has_ends[each.route] = true;
  const auto without = std::find(has_ends.begin(), has_ends.end(), false);
  if (without == has_ends.end()) return {};
  const Route& route = schedule.routes[static_cast<std::size_t>(without - has_ends.begin())];
  return Error{"found no port of both '" + schedule.topology.node(route.source).name + "' and '" +
               schedule.topology.node(route.destination).name + "' on their route's switches, expected one"};
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

}  // namespace libcoll::exchange
