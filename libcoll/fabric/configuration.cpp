#include "libcoll/fabric/configuration.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libcoll/fabric/addressing.h"
#include "planner/base/index.h"

namespace libcoll::fabric {

using namespace topology;

namespace {

// Marks our routes and rules, so that they can be flushed without listing them.
constexpr const char* mark = "77";

// Fewer bytes per packet cost throughput (1500: a fifth), more make the hops of a message coarse.
constexpr const char* mtu = "9000";

// Queueing in a shaped link must not be taken for loss.
constexpr const char* patience = " rto_min 3s";

/// `via` only names the neighbour whose MAC address is used, so its class-0 address does for every class.
std::string way(NodeId next) { return " via " + class_address(0, next) + " dev " + link_device(next) + " onlink"; }

std::string network(std::int32_t route_class, NodeId node) { return class_address(route_class, node) + "/16"; }

std::vector<NodeId> neighbours(const Topology& topology, NodeId node) {
  std::vector<NodeId> result;
  for (const LinkId id : topology.out_links(node)) result.push_back(topology.link(id).to);
  for (const LinkId id : topology.in_links(node)) result.push_back(topology.link(id).from);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

std::vector<ShapedCable> cables(const Topology& topology) {
  std::vector<ShapedCable> result;
  for (NodeId a = 0; a < topology.node_count(); ++a) {
    for (const NodeId b : neighbours(topology, a)) {
      if (a < b) result.push_back({a, b});
    }
  }
  return result;
}

std::string wiring_batch(const Topology& topology, std::span<const pid_t> holders) {
  const std::string bridge(management_bridge);
  const std::string managed(management_device);
  std::string text = "link set lo up\nlink add name " + bridge + " type bridge\naddr add " + control_address() +
                     "/16 dev " + bridge + "\nlink set " + bridge + " up\n";
  const auto in_node = [&](NodeId node) { return " netns " + std::to_string(holders[at(node)]); };
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    text += "link add name " + management_port(node) + " type veth peer name " + managed + in_node(node) + "\n";
    text += "link set " + management_port(node) + " master " + bridge + " up\n";
  }
  for (const ShapedCable& cable : cables(topology)) {
    text += "link add name " + link_device(cable.b) + " address " + link_mac(cable.a, cable.b) + " mtu " + mtu +
            in_node(cable.a) + " type veth peer name " + link_device(cable.a) + " address " +
            link_mac(cable.b, cable.a) + " mtu " + mtu + in_node(cable.b) + "\n";
  }
  return text;
}

std::string device_batch(const Topology& topology, NodeId node, std::int32_t classes) {
  std::string text = "link set lo up\naddr add " + management_address(node) + "/16 dev " +
                     std::string(management_device) + "\nlink set " + std::string(management_device) + " up\n";
  // The kernel may lack `dummy`; an ifb device holds an address as well, and communication libraries see it as active.
  for (std::int32_t k = 0; k <= classes && !topology.node(node).is_switch; ++k) {
    text += "link add name " + class_device(k) + " mtu " + mtu + " type ifb\n";
    text += "addr add " + network(k, node) + " dev " + class_device(k) + " noprefixroute\n";
    text += "link set " + class_device(k) + " up\n";
  }
  for (const NodeId peer : neighbours(topology, node)) {
    text += "link set " + link_device(peer) + " up\n";
    text += "neigh replace " + class_address(0, peer) + " lladdr " + link_mac(peer, node) + " nud permanent dev " +
            link_device(peer) + "\n";
  }
  return text;
}

std::string route_batch(const ForwardingTables& tables, const Topology& topology, NodeId node) {
  const std::string by_us = std::string(" proto ") + mark;
  std::string text = std::string("rule flush protocol ") + mark + "\nroute flush table all" + by_us + "\n";
  // `src` lets a socket that is not bound choose its class by the address it connects to.
  const bool is_host = !topology.node(node).is_switch;
  for (std::int32_t k = 0; k <= tables.classes; ++k) {
    const std::string source = is_host ? " src " + class_address(k, node) : "";
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      const NodeId next = tables.by_destination[at(node)][at(host)];
      if (next < 0) continue;
      text += "route add " + class_address(k, host) + way(next);
      text.append(source).append(patience).append(by_us).append("\n");
    }
  }
  std::int64_t last_table = -1;
  for (const SourceHop& hop : tables.by_source[at(node)]) {
    const std::int64_t table = source_table(hop.route_class, hop.source);
    if (table != last_table) {
      text += "rule add from " + class_address(hop.route_class, hop.source) + " lookup " + std::to_string(table) +
              " protocol " + mark + "\n";
    }
    last_table = table;
    text += "route add " + class_address(hop.route_class, hop.destination) + way(hop.next) + patience + " table " +
            std::to_string(table) + by_us + "\n";
  }
  return text;
}

std::string shaping_line(const Topology& topology, LinkId id, bool cut) {
  const Link& link = topology.link(id);
  const std::string place = "qdisc replace dev " + link_device(link.to) + " root ";
  if (cut) return place + "blackhole\n";
  // A smaller burst costs processor time in timers, a larger one lets short runs exceed the rate; the limit is far
  // above what bounded TCP windows can queue, so that nothing is dropped.
  return place + "tbf rate " + std::to_string(link.bandwidth_bytes_per_second * 8) + "bit burst 128kb limit 8mb\n";
}

std::string shaping_batch(const Topology& topology, NodeId node, const std::vector<bool>& cut) {
  std::string text;
  for (const LinkId id : topology.out_links(node)) text += shaping_line(topology, id, cut[at(id)]);
  return text;
}

std::int64_t tcp_window_factor(const Topology& topology) {
  constexpr std::int64_t for_detours = 4;  // three hops with their queues, and the way there
  std::set<std::pair<NodeId, NodeId>> links;
  for (const Link& link : topology.links()) links.emplace(link.from, link.to);
  const bool both_ways = std::all_of(links.begin(), links.end(), [&](const auto& link) {
    return links.contains({link.second, link.first});
  });
  return both_ways ? 1 : for_detours;
}

std::vector<KernelSetting> kernel_settings(std::int64_t window_factor) {
  // The largest is two bursts of a link, the usual one that a socket begins with half of it.
  const auto window = [window_factor](std::int64_t bytes) {
    return "4096 " + std::to_string(window_factor * bytes / 2) + " " + std::to_string(window_factor * bytes);
  };
  return {
      {"net/ipv4/ip_forward", "1", true},
      {"net/ipv4/conf/all/rp_filter", "0", true},
      {"net/ipv4/conf/default/rp_filter", "0", true},
      {"net/ipv4/conf/all/send_redirects", "0"},
      {"net/ipv4/conf/default/send_redirects", "0"},
      {"net/ipv6/conf/all/disable_ipv6", "1"},
      {"net/ipv6/conf/default/disable_ipv6", "1"},
      // Fair and lossless sharing of shaped links; cubic and bbr leave some of them idle.
      {"net/ipv4/tcp_congestion_control", "reno"},
      {"net/ipv4/tcp_rmem", window(262144)},
      {"net/ipv4/tcp_wmem", window(131072)},
      {"net/ipv4/tcp_slow_start_after_idle", "0"},
      {"net/ipv4/tcp_no_metrics_save", "1"},
      {"net/ipv4/tcp_early_retrans", "0"},
  };
}

std::string hosts_file(const Topology& topology) {
  std::string text = "127.0.0.1 localhost\n" + control_address() + " fabric-control\n";
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    text += management_address(node) + " " + topology.node(node).host + "\n";
  }
  return text;
}

}  // namespace libcoll::fabric
