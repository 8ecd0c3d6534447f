#include "planner/flow/problem/injection.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

/// Whether some host could send or receive more over its links than it can inject.
bool is_bottleneck(const Topology& fabric) {
  if (fabric.injection_bytes_per_second() <= 0) return false;
  const auto exceeds = [&](std::span<const LinkId> links) {
    std::int64_t total = 0;
    for (const LinkId link : links) total += fabric.link(link).bandwidth_bytes_per_second;
    return total > fabric.injection_bytes_per_second();
  };
  for (NodeId host = 0; host < fabric.host_count(); ++host) {
    if (exceeds(fabric.out_links(host)) || exceeds(fabric.in_links(host))) return true;
  }
  return false;
}

Node nic_of(const Node& node, const char* which) { return {node.name + which, "", true}; }

}  // namespace

InjectionNetwork with_injection(const Topology& fabric, ForwardedBy forwarded_by) {
  InjectionNetwork network;
  network.forwarded_by = forwarded_by;
  network.fabric_links = fabric.link_count();
  network.bottleneck = is_bottleneck(fabric);
  if (!network.bottleneck) {
    network.topology = fabric;
    return network;
  }
  const std::int32_t hosts = fabric.host_count();
  const std::int32_t count = fabric.node_count();
  const NodeId ingress = hosts;  // of node u: ingress + u
  const NodeId egress = forwarded_by == ForwardedBy::hosts ? hosts + count : hosts;
  std::vector<Node> nodes(fabric.nodes().begin(), fabric.nodes().begin() + hosts);
  for (const Node& node : fabric.nodes()) nodes.push_back(nic_of(node, egress == ingress ? "/nic" : "/in"));
  if (egress != ingress) {
    for (const Node& node : fabric.nodes()) nodes.push_back(nic_of(node, "/out"));
  }
  std::vector<Link> links;
  for (Link link : fabric.links()) {
    link.from += egress;
    link.to += ingress;
    links.push_back(link);
  }
  for (NodeId host = 0; host < hosts; ++host) {
    links.push_back({host, egress + host, fabric.injection_bytes_per_second(), 0});
  }
  for (NodeId host = 0; host < hosts; ++host) {
    links.push_back({ingress + host, host, fabric.injection_bytes_per_second(), 0});
  }
  network.topology = Topology::make(fabric.name(), std::move(nodes), std::move(links)).value();
  network.unit = {network.topology.unit_bandwidth_bytes_per_second(), fabric.unit_bandwidth_bytes_per_second()};
  return network;
}

std::vector<LinkId> network_path(const InjectionNetwork& network, const Topology& fabric,
                                 std::span<const LinkId> links) {
  if (!network.bottleneck) return {links.begin(), links.end()};
  std::vector<LinkId> result;
  for (std::size_t hop = 0; hop < links.size(); ++hop) {
    const Link& link = fabric.link(links[hop]);
    const bool every_hop = network.forwarded_by == ForwardedBy::hosts;
    if (hop == 0 || every_hop) result.push_back(network.fabric_links + link.from);
    result.push_back(links[hop]);
    if (hop + 1 == links.size() || every_hop) {
      result.push_back(network.fabric_links + fabric.host_count() + link.to);
    }
  }
  return result;
}

std::vector<LinkId> fabric_path(const InjectionNetwork& network, std::span<const LinkId> links) {
  std::vector<LinkId> result;
  result.reserve(links.size());
  std::copy_if(links.begin(), links.end(), std::back_inserter(result),
               [&](LinkId link) { return link < network.fabric_links; });
  return result;
}

double upper_rate_on_fabric(const InjectionNetwork& network, double rate) {
  if (network.unit == Rational(1)) return rate;
  return std::nextafter(rate * network.unit.to_double(), std::numeric_limits<double>::infinity());
}

}  // namespace libcoll::flow::problem
