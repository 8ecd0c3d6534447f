#include "planner/exchange/ibsim.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace libcoll::exchange {

using namespace topology;

namespace {

constexpr std::size_t most_simulated_ports = 254;
constexpr const char* of_own_switch = "-switch";

/// Whether a host needs a switch of its own: adapters do not forward.
bool has_own_switch(const Topology& topology, NodeId node) {
  const std::span<const LinkId> links = topology.out_links(node);
  return !topology.node(node).is_switch && std::any_of(links.begin(), links.end(), [&](LinkId link) {
    return !topology.node(topology.link(link).to).is_switch;
  });
}

std::string device_of(const Topology& topology, NodeId node) {
  return topology.node(node).name + (has_own_switch(topology, node) ? of_own_switch : "");
}

/// Port 1 of a host's own switch leads to the host, the others follow in the order of the links.
std::size_t port_of(const Topology& topology, LinkId id) {
  const NodeId from = topology.link(id).from;
  const std::span<const LinkId> links = topology.out_links(from);
  const auto place = static_cast<std::size_t>(std::find(links.begin(), links.end(), id) - links.begin());
  return place + (has_own_switch(topology, from) ? 2 : 1);
}

int width_of(const Topology& topology, LinkId id) {
  constexpr int wide = 12;
  constexpr int usual = 4;
  const std::int64_t units = topology.link(id).bandwidth_bytes_per_second / topology.unit_bandwidth_bytes_per_second();
  if (units >= wide) return wide;
  return units >= usual ? usual : 1;
}

std::string cable_line(std::size_t port, const std::string& peer, std::size_t peer_port, int width) {
  return "[" + std::to_string(port) + "]\t\"" + peer + "\"[" + std::to_string(peer_port) +
         "] w=" + std::to_string(width) + "\n";
}

Status check_node(const Topology& topology, NodeId node) {
  const std::string& name = topology.node(node).name;
  if (name.empty() || name.find_first_of("\"\n") != std::string::npos) {
    return Error{"found a node named '" + name + "', expected a name that fits between quotes"};
  }
  if (topology.out_links(node).size() >= most_simulated_ports) {
    return Error{"found " + std::to_string(topology.out_links(node).size()) + " links of '" + name +
                 "', expected fewer than 254: InfiniBand devices have no more ports"};
  }
  return {};
}

}  // namespace

Status check_cables(const Topology& topology) {
  for (const Link& link : topology.links()) {
    if (topology.find_link(link.to, link.from) >= 0) continue;
    return Error{"found a link from '" + topology.node(link.from).name + "' to '" + topology.node(link.to).name +
                 "' and none back, expected both: InfiniBand has no one-way cables"};
  }
  return {};
}

Result<std::string> write_ibsim(const Topology& topology) {
  if (const Status status = check_cables(topology); !status) return status.error();
  constexpr int host_width = 12;
  std::string switches;
  std::string hosts;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (const Status status = check_node(topology, node); !status) return status.error();
    std::string cables;
    for (const LinkId link : topology.out_links(node)) {
      const NodeId peer = topology.link(link).to;
      cables += cable_line(port_of(topology, link), device_of(topology, peer),
                           port_of(topology, topology.find_link(peer, node)), width_of(topology, link));
    }
    const std::string& name = topology.node(node).name;
    const bool own_switch = has_own_switch(topology, node);
    const std::size_t ports = topology.out_links(node).size() + (own_switch ? 1 : 0);
    if (own_switch || topology.node(node).is_switch) {
      switches += "Switch\t" + std::to_string(ports) + " \"" + device_of(topology, node) + "\"\n";
      if (own_switch) switches += cable_line(1, name, 1, host_width);
      switches += cables + "\n";
    }
    if (own_switch) {
      hosts += "Hca\t1 \"" + name + "\"\n" + cable_line(1, device_of(topology, node), 1, host_width) + "\n";
    } else if (!topology.node(node).is_switch) {
      hosts.append("Hca\t").append(std::to_string(ports)).append(" \"").append(name).append("\"\n");
      hosts.append(cables).append("\n");
    }
  }
  return switches + hosts;
}

}  // namespace libcoll::exchange
