#include "planner/exchange/port_fabric.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "planner/base/index.h"
#include "planner/plan/claims.h"
#include "planner/schedule/cost.h"

namespace libcoll::exchange {

using namespace default_plan;
using namespace schedule;
using namespace topology;

namespace {

std::string port_text(std::int32_t place) { return "port " + std::to_string(place + 1); }

/// The places of ports that both hosts have, ascending.
std::vector<std::int32_t> common_places(const PortFabric& ports, NodeId a, NodeId b) {
  std::vector<std::int32_t> common;
  for (const NodeId one : ports.ports_of[at(a)]) {
    for (const NodeId other : ports.ports_of[at(b)]) {
      if (ports.port[at(one)].place == ports.port[at(other)].place) common.push_back(ports.port[at(one)].place);
    }
  }
  std::sort(common.begin(), common.end());
  return common;
}

/// The host's port of that place, which it has.
NodeId port_at(const PortFabric& ports, NodeId host, std::int32_t place) {
  const std::vector<NodeId>& all = ports.ports_of[at(host)];
  return *std::find_if(all.begin(), all.end(), [&](NodeId port) { return ports.port[at(port)].place == place; });
}

Status check_host(const Subnet& subnet, const SubnetTopology& fabric, NodeId host) {
  const std::string& name = fabric.topology.node(host).name;
  if (fabric.forwarder[at(host)] >= 0) {
    return Error{"found host '" + name +
                 "' as one node with its switch beside hosts on several switches, expected --host-switches keep"};
  }
  for (const PortId& port : fabric.host_ports[at(host)]) {
    if (subnet.devices[at(port_of(subnet, port).peer)].is_switch) continue;
    return Error{"found host '" + name + "' cabled to another host, expected a switch"};
  }
  return {};
}

class PortFabricBuilder {
 public:
  PortFabricBuilder(const Subnet& subnet, const SubnetTopology& fabric) : subnet_(subnet), from_(fabric) {}

  Result<PortFabric> build() {
    for (NodeId host = 0; host < from_.topology.host_count(); ++host) {
      if (const Status status = check_host(subnet_, from_, host); !status) return status.error();
    }
    number_nodes();
    result_.links_of.resize(from_.topology.links().size());
    for (LinkId link = 0; link < from_.topology.link_count(); ++link) add_link(link);
    Result<Topology> topology = Topology::make(from_.topology.name(), std::move(nodes_), std::move(links_));
    if (!topology) return topology.error();
    result_.fabric.topology = std::move(topology).value();
    if (const Status status = check_pairs(); !status) return status.error();
    return std::move(result_);
  }

 private:
  Status check_pairs() const {
    for (NodeId a = 0; a < from_.topology.host_count(); ++a) {
      for (NodeId b = 0; b < a; ++b) {
        if (!common_places(result_, a, b).empty()) continue;
        return Error{"found no port of one name at both '" + from_.topology.node(b).name + "' and '" +
                     from_.topology.node(a).name + "', expected one: a UCX context has one port"};
      }
    }
    return {};
  }

  void number_nodes() {
    const Topology& hosts = from_.topology;
    for (NodeId host = 0; host < hosts.host_count(); ++host) {
      std::vector<NodeId>& ports = result_.ports_of.emplace_back();
      for (std::size_t i = 0; i < from_.host_ports[at(host)].size(); ++i) {
        ports.push_back(static_cast<NodeId>(nodes_.size()));
        result_.port.push_back({host, from_.places[at(host)][i]});
        nodes_.push_back({hosts.node(host).name + " " + port_text(result_.port.back().place), "", false});
        result_.fabric.host_ports.push_back({from_.host_ports[at(host)][i]});
        result_.fabric.places.push_back({0});
        result_.fabric.forwarder.push_back(-1);
      }
    }
    switch_offset_ = static_cast<NodeId>(nodes_.size()) - hosts.host_count();
    for (NodeId node = hosts.host_count(); node < hosts.node_count(); ++node) {
      nodes_.push_back(hosts.node(node));
      result_.fabric.forwarder.push_back(from_.forwarder[at(node)]);
    }
  }

  void append(LinkId of, std::int32_t place, const Link& link, std::vector<PortId> egress) {
    result_.links_of[at(of)].emplace_back(place, static_cast<LinkId>(links_.size()));
    result_.link_of.push_back(of);
    links_.push_back(link);
    result_.fabric.egress.push_back(std::move(egress));
  }

  void add_link(LinkId id) {
    Link link = from_.topology.link(id);
    const NodeId hosts = from_.topology.host_count();
    if (link.from >= hosts && link.to >= hosts) {
      link.from += switch_offset_;
      link.to += switch_offset_;
      append(id, 0, link, from_.egress[at(id)]);
      return;
    }
    const bool out = link.from < hosts;
    const NodeId host = out ? link.from : link.to;
    const DeviceId device = from_.forwarder[at(out ? link.to : link.from)];
    const std::vector<PortId>& ports = from_.host_ports[at(host)];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const SubnetPort& cable = port_of(subnet_, ports[i]);
      if (cable.peer != device) continue;
      Link made = link;
      (out ? made.from : made.to) = result_.ports_of[at(host)][i];
      (out ? made.to : made.from) += switch_offset_;
      made.bandwidth_bytes_per_second = cable.bandwidth_bytes_per_second;
      append(id, from_.places[at(host)][i], made, {out ? ports[i] : PortId{device, cable.peer_port}});
    }
  }

  const Subnet& subnet_;
  const SubnetTopology& from_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  NodeId switch_offset_ = 0;
  PortFabric result_;
};

/// Takes routes of hosts as routes of ports.
class ToPorts {
 public:
  ToPorts(const PortFabric& ports, const Schedule& schedule) : ports_(ports), schedule_(schedule) {
    carried_.resize(ports.port.size(), 0);
    amount_.resize(schedule.routes.size(), 0);
    for (const Transfer& transfer : schedule.transfers) {
      if (transfer.route != direct) amount_[at(transfer.route)] += transfer.chunk_count;
    }
  }

  Result<Route> route(std::size_t number) {
    const Route& route = schedule_.routes[number];
    if (const Status status = check_hops(route, number); !status) return status.error();
    const auto& first = ports_.links_of[at(route.links.front())];
    const auto& last = ports_.links_of[at(route.links.back())];
    std::optional<std::tuple<std::int64_t, std::int32_t, LinkId, LinkId>> best;
    for (const auto& [place, out] : first) {
      const NodeId port = port_at(ports_, route.source, place);
      for (const auto& [other, in] : last) {
        const std::tuple candidate(carried_[at(port)], place, out, in);
        if (place == other && (!best || candidate < *best)) best = candidate;
      }
    }
    if (!best) {
      return Error{text(route, number) + " that leaves by " + port_text(first.front().first) + " and enters by " +
                   port_text(last.front().first) +
                   ", expected the same port at both ends: a UCX context has one port; a plan made here, of a topology "
                   "or without PLAN, is so"};
    }
    const auto& [load, place, out, in] = *best;
    const NodeId source = port_at(ports_, route.source, place);
    Route result{source, port_at(ports_, route.destination, place), {}, 0, 0};
    result.links.push_back(out);
    for (std::size_t hop = 1; hop + 1 < route.links.size(); ++hop) {
      result.links.push_back(ports_.links_of[at(route.links[hop])].front().second);
    }
    result.links.push_back(in);
    result.layer = route.layer;
    result.route_class = route.route_class;
    carried_[at(source)] += amount_[number];
    return result;
  }

 private:
  std::string text(const Route& route, std::size_t number) const {
    const Topology& topology = schedule_.topology;
    return "found route " + std::to_string(number) + " from '" + topology.node(route.source).name + "' to '" +
           topology.node(route.destination).name + "'";
  }

  Status check_hops(const Route& route, std::size_t number) const {
    const Topology& topology = schedule_.topology;
    for (std::size_t hop = 0; hop + 1 < route.links.size(); ++hop) {
      const Node& through = topology.node(topology.link(route.links[hop]).to);
      if (through.is_switch) continue;
      return Error{text(route, number) + " through '" + through.name +
                   "', expected none through a host, which does not forward; a plan made here, of a topology or "
                   "without PLAN, is so"};
    }
    return {};
  }

  const PortFabric& ports_;
  const Schedule& schedule_;
  std::vector<std::int64_t> carried_;  ///< by port: chunks that leave by it
  std::vector<std::int64_t> amount_;   ///< by route: its chunks
};

/// Classes of ports of different places can be one: those of one layer are numbered anew at each place.
void share_classes(const PortFabric& ports, std::vector<Route>& routes) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<std::int32_t, std::int32_t>> ranks;
  const auto key = [&](const Route& route) { return std::pair(route.layer, ports.port[at(route.source)].place); };
  for (const Route& route : routes) ranks[key(route)][route.route_class] = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> numbers;  // by layer and rank
  for (auto& [layer_and_place, of_place] : ranks) {
    std::int32_t rank = 0;
    for (auto& [route_class, number] : of_place) {
      number = rank;
      numbers[{layer_and_place.first, rank++}] = 0;
    }
  }
  std::int32_t next = 1;
  for (auto& [layer_and_rank, number] : numbers) number = next++;
  for (Route& route : routes) route.route_class = numbers[{route.layer, ranks[key(route)][route.route_class]}];
}

}  // namespace

bool has_port_fabric(const Subnet& subnet, const SubnetTopology& fabric) {
  return std::any_of(fabric.host_ports.begin(), fabric.host_ports.end(), [&](const std::vector<PortId>& ports) {
    return std::any_of(ports.begin(), ports.end(), [&](const PortId& port) {
      return port_of(subnet, port).peer != port_of(subnet, ports.front()).peer;
    });
  });
}

Result<PortFabric> port_fabric(const Subnet& subnet, const SubnetTopology& fabric) {
  return PortFabricBuilder(subnet, fabric).build();
}

std::vector<double> demand_of_ports(const PortFabric& ports) {
  const std::size_t count = ports.port.size();
  std::vector<double> demand(count * count, 0);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      const HostPort& source = ports.port[from];
      const HostPort& destination = ports.port[to];
      if (source.host == destination.host || source.place != destination.place) continue;
      const auto common = common_places(ports, source.host, destination.host).size();
      demand[from * count + to] = 1.0 / static_cast<double>(common);
    }
  }
  return demand;
}

Schedule schedule_of_hosts(const PortFabric& ports, const Topology& hosts, const Schedule& schedule) {
  const NodeId count = hosts.host_count();
  std::int32_t parts = 1;  // of a block, so that every number of ports shares it equally
  for (NodeId a = 0; a < count; ++a) {
    for (NodeId b = 0; b < a; ++b)
      parts = std::lcm(parts, static_cast<std::int32_t>(common_places(ports, a, b).size()));
  }
  Schedule result;
  result.collective = schedule.collective;
  result.algorithm = schedule.algorithm;
  result.topology = hosts;
  result.steps = schedule.steps;
  result.chunks_per_shard = schedule.chunks_per_shard * parts;
  std::int32_t classes = 1;
  for (const Route& route : schedule.routes) classes = std::max(classes, route.route_class);
  std::vector<std::int32_t> number(schedule.routes.size(), -1);
  for (const Transfer& transfer : schedule.transfers) {
    const HostPort& from = ports.port[at(transfer.from)];
    const HostPort& to = ports.port[at(transfer.to)];
    if (from.host == to.host || from.place != to.place) continue;
    std::int32_t& route = number[at(transfer.route)];
    if (route < 0) {
      route = static_cast<std::int32_t>(result.routes.size());
      Route& made = result.routes.emplace_back(schedule.routes[at(transfer.route)]);
      made.source = from.host;
      made.destination = to.host;
      made.route_class += from.place * classes;
      for (LinkId& link : made.links) link = ports.link_of[at(link)];
    }
    const std::vector<std::int32_t> common = common_places(ports, from.host, to.host);
    const auto part = static_cast<std::int32_t>(std::find(common.begin(), common.end(), from.place) - common.begin());
    const std::int32_t scale = parts / static_cast<std::int32_t>(common.size());
    Transfer& made = result.transfers.emplace_back(transfer);
    made.shard = from.host * count + to.host;
    made.from = from.host;
    made.to = to.host;
    made.chunk_begin = (part * schedule.chunks_per_shard + transfer.chunk_begin) * scale;
    made.chunk_count = transfer.chunk_count * scale;
    made.route = route;
  }
  sort_transfers(result);
  result.proof.max_link_load = busiest_load(result);
  result.proof.bandwidth_time = bandwidth_time(result);
  claim_what_is_reached(result);
  return result;
}

Result<Schedule> schedule_of_ports(const PortFabric& ports, const Schedule& schedule) {
  Schedule result = schedule;
  result.topology = ports.fabric.topology;
  result.routes.clear();
  ToPorts to_ports(ports, schedule);
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    Result<Route> route = to_ports.route(i);
    if (!route) return route.error();
    result.routes.push_back(std::move(route).value());
  }
  share_classes(ports, result.routes);
  for (Transfer& transfer : result.transfers) {
    if (transfer.route == direct) return Error{"found a transfer without a route, expected routes alone"};
    const Route& route = result.routes[at(transfer.route)];
    transfer.from = route.source;
    transfer.to = route.destination;
    transfer.shard = route.source * result.topology.host_count() + route.destination;
  }
  return result;
}

}  // namespace libcoll::exchange
