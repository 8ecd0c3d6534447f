#include "planner/exchange/subnet_topology.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "planner/base/index.h"
#include "planner/exchange/named_graph.h"
#include "planner/exchange/natural_order.h"
#include "planner/topology/generators.h"

namespace libcoll::exchange {

using namespace topology;

namespace {

/// "node01 HCA-1" → "node01".
std::string host_name(const std::string& description) { return description.substr(0, description.find(' ')); }

struct Host {
  std::string name;
  std::vector<DeviceId> adapters;
};

/// The switch of its own that a host hangs on.
struct OwnSwitch {
  std::int32_t host = 0;
  DeviceId device = 0;
  std::int64_t host_bandwidth = 0;   ///< of the cables between the two
  std::int64_t other_bandwidth = 0;  ///< of the switch's other cables
};

class SubnetTopologyBuilder {
 public:
  SubnetTopologyBuilder(const Subnet& subnet, std::string file) : subnet_(subnet), file_(std::move(file)) {}

  Result<SubnetTopology> build(HostSwitches host_switches) {
    if (const Status status = find_hosts(); !status) return status.error();
    if (collapses(host_switches)) {
      for (const OwnSwitch& own : own_switches()) host_of_switch_.emplace(own.device, own.host);
    }
    number_nodes();
    if (const Status status = collect_links(); !status) return status.error();
    Result<Topology> topology = Topology::make(file_stem(file_), nodes_, links_);
    if (!topology) return Error{file_ + ": " + topology.error().message};
    topology->set_injection_bytes_per_second(injection_);
    result_.topology = std::move(topology).value();
    return std::move(result_);
  }

 private:
  const SubnetDevice& device(DeviceId id) const { return subnet_.devices[at(id)]; }

  Error error(DeviceId id, const std::string& what) const {
    return Error{file_ + ":" + std::to_string(device(id).line) + ": " + what};
  }

  Status find_hosts() {
    std::map<std::string, DeviceId> descriptions;
    std::map<std::string, Host> by_name;
    for (DeviceId id = 0; at(id) < subnet_.devices.size(); ++id) {
      if (device(id).is_switch || device(id).ports.empty()) continue;
      const auto [first, is_new] = descriptions.emplace(device(id).description, id);
      if (!is_new) {
        return error(id, "found a second adapter '" + device(id).description +
                             "', expected descriptions that differ (the first is in line " +
                             std::to_string(device(first->second).line) + "); --node-name-map gives names by GUID");
      }
      Host& host = by_name[host_name(device(id).description)];
      host.name = host_name(device(id).description);
      host.adapters.push_back(id);
    }
    for (auto& [name, host] : by_name) {
      // Ports of one place are those that jobs know by one name: not as a sweep happened to meet them.
      std::sort(host.adapters.begin(), host.adapters.end(),
                [this](DeviceId a, DeviceId b) { return natural_less(device(a).description, device(b).description); });
      hosts_.push_back(std::move(host));
    }
    std::sort(hosts_.begin(), hosts_.end(), [](const Host& a, const Host& b) { return natural_less(a.name, b.name); });
    if (hosts_.size() < 2) {
      return Error{file_ + ": found " + std::to_string(hosts_.size()) + " hosts with cables, expected two at least"};
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      for (const DeviceId id : hosts_[host].adapters) host_of_adapter_[id] = static_cast<std::int32_t>(host);
    }
    return {};
  }

  /// Hosts of which all cables lead to one switch that has no other host.
  std::vector<OwnSwitch> own_switches() const {
    std::vector<OwnSwitch> found;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      OwnSwitch own{static_cast<std::int32_t>(i), -1, 0, 0};
      bool alone = true;
      for (const DeviceId id : hosts_[i].adapters) {
        for (const SubnetPort& port : device(id).ports) {
          alone = alone && device(port.peer).is_switch && (own.device < 0 || own.device == port.peer);
          own.device = port.peer;
          own.host_bandwidth += port.bandwidth_bytes_per_second;
        }
      }
      if (!alone) continue;
      for (const SubnetPort& port : device(own.device).ports) {
        const auto host = host_of_adapter_.find(port.peer);
        if (host == host_of_adapter_.end()) {
          own.other_bandwidth += port.bandwidth_bytes_per_second;
        } else {
          alone = alone && host->second == own.host;
        }
      }
      if (alone && own.other_bandwidth > 0) found.push_back(own);
    }
    return found;
  }

  /// Whether some host has ports on several devices.
  bool on_several_switches() const {
    return std::any_of(hosts_.begin(), hosts_.end(), [this](const Host& host) {
      std::set<DeviceId> peers;
      for (const DeviceId id : host.adapters) {
        for (const SubnetPort& port : device(id).ports) peers.insert(port.peer);
      }
      return peers.size() > 1;
    });
  }

  /// All switches alike; slower host links become the injection bandwidth.
  bool collapses(HostSwitches host_switches) {
    if (host_switches == HostSwitches::keep) return false;
    const std::vector<OwnSwitch> all = own_switches();
    // Of hosts with ports on several switches none forwards, so there the others' switches stay, too.
    if (host_switches == HostSwitches::automatic && all.size() < hosts_.size() && on_several_switches()) return false;
    const bool bottleneck = std::any_of(all.begin(), all.end(),
                                        [](const OwnSwitch& own) { return own.host_bandwidth < own.other_bandwidth; });
    if (!bottleneck) return true;
    if (host_switches == HostSwitches::automatic) return false;
    injection_ = std::min_element(all.begin(), all.end(), [](const OwnSwitch& a, const OwnSwitch& b) {
                   return a.host_bandwidth < b.host_bandwidth;
                 })->host_bandwidth;
    return true;
  }

  void number_nodes() {
    node_of_.assign(subnet_.devices.size(), -1);
    result_.host_ports.resize(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      nodes_.push_back({hosts_[i].name, hosts_[i].name, false});
      taken_.insert(hosts_[i].name);
      for (const DeviceId id : hosts_[i].adapters) {
        node_of_[at(id)] = static_cast<NodeId>(i);
        const auto first = static_cast<std::ptrdiff_t>(result_.host_ports[i].size());
        for (const SubnetPort& port : device(id).ports) result_.host_ports[i].push_back({id, port.number});
        std::sort(result_.host_ports[i].begin() + first, result_.host_ports[i].end(),
                  [](const PortId& a, const PortId& b) { return a.port < b.port; });
      }
    }
    result_.forwarder.assign(nodes_.size(), -1);
    for (const auto& [id, host] : host_of_switch_) {
      node_of_[at(id)] = host;
      result_.forwarder[at(host)] = id;
    }
    number_places();
    number_switches();
  }

  void number_places() {
    const auto key = [this](const PortId& port) {
      const std::string& description = device(port.device).description;
      const std::size_t end = description.find(' ');
      return std::pair(end == std::string::npos ? std::string() : description.substr(end + 1), port.port);
    };
    std::vector<std::pair<std::string, std::int32_t>> keys;
    if (on_several_switches()) {
      for (const std::vector<PortId>& ports : result_.host_ports) {
        std::transform(ports.begin(), ports.end(), std::back_inserter(keys), key);
      }
      std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
        return a.first == b.first ? a.second < b.second : natural_less(a.first, b.first);
      });
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    for (const std::vector<PortId>& ports : result_.host_ports) {
      std::vector<std::int32_t>& places = result_.places.emplace_back();
      for (const PortId& port : ports) {
        const auto found = std::find(keys.begin(), keys.end(), key(port));
        places.push_back(static_cast<std::int32_t>(keys.empty() ? places.size() : found - keys.begin()));
      }
    }
  }

  void number_switches() {
    std::vector<DeviceId> switches;
    std::map<std::string, int> uses;
    for (DeviceId id = 0; at(id) < subnet_.devices.size(); ++id) {
      if (!device(id).is_switch || node_of_[at(id)] >= 0 || device(id).ports.empty()) continue;
      switches.push_back(id);
      ++uses[device(id).description];
    }
    std::sort(switches.begin(), switches.end(), [this](DeviceId a, DeviceId b) {
      if (device(a).description == device(b).description) return device(a).guid < device(b).guid;
      return natural_less(device(a).description, device(b).description);
    });
    for (const DeviceId id : switches) {
      std::string name = device(id).description;
      // Descriptions of switches are often those of their model.
      if (uses[name] > 1 || !taken_.insert(name).second) name += " " + guid_text(device(id).guid);
      taken_.insert(name);
      node_of_[at(id)] = static_cast<NodeId>(nodes_.size());
      nodes_.push_back({std::move(name), "", true});
      result_.forwarder.push_back(id);
    }
  }

  static std::string guid_text(std::uint64_t guid) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(guid >> static_cast<unsigned>(shift)) & 0xFU];
    return text;
  }

  Status collect_links() {
    std::map<std::pair<NodeId, NodeId>, std::pair<std::int64_t, std::vector<PortId>>> found;
    for (DeviceId id = 0; at(id) < subnet_.devices.size(); ++id) {
      for (const SubnetPort& port : device(id).ports) {
        const NodeId from = node_of_[at(id)];
        const NodeId to = node_of_[at(port.peer)];
        if (from == to && device(id).is_switch == device(port.peer).is_switch) {
          return error(id, "found a cable from '" + device(id).description + "' to itself, expected two devices");
        }
        if (from == to) continue;
        auto& [bandwidth, ports] = found[{from, to}];
        bandwidth += port.bandwidth_bytes_per_second;
        ports.push_back({id, port.number});
      }
    }
    for (auto& [ends, link] : found) {
      Link made{ends.first, ends.second};
      made.bandwidth_bytes_per_second = link.first;
      std::sort(link.second.begin(), link.second.end(), [](const PortId& a, const PortId& b) {
        return std::pair(a.device, a.port) < std::pair(b.device, b.port);
      });
      links_.push_back(made);
      result_.egress.push_back(std::move(link.second));
    }
    return {};
  }

  const Subnet& subnet_;
  std::string file_;
  std::vector<Host> hosts_;
  std::map<DeviceId, std::int32_t> host_of_adapter_;
  std::map<DeviceId, std::int32_t> host_of_switch_;  ///< of switches that are one node with their host
  std::vector<NodeId> node_of_;                      ///< by device
  std::set<std::string> taken_;                      ///< names of nodes
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::int64_t injection_ = 0;
  SubnetTopology result_;
};

}  // namespace

Result<HostSwitches> parse_host_switches(std::string_view text) {
  if (text == "auto") return HostSwitches::automatic;
  if (text == "collapse") return HostSwitches::collapse;
  if (text == "keep") return HostSwitches::keep;
  return Error{"found '" + std::string(text) + "', expected auto, collapse or keep"};
}

Result<SubnetTopology> numbered_as(const SubnetTopology& fabric, const Topology& plan) {
  std::map<std::string, NodeId> known;
  for (NodeId node = 0; node < fabric.topology.node_count(); ++node) known[fabric.topology.node(node).name] = node;
  if (plan.node_count() != fabric.topology.node_count()) {
    return Error{"found " + std::to_string(fabric.topology.host_count()) + " hosts and " +
                 std::to_string(fabric.topology.node_count() - fabric.topology.host_count()) +
                 " switches in the fabric, expected those of the plan: " + std::to_string(plan.host_count()) + " and " +
                 std::to_string(plan.node_count() - plan.host_count())};
  }
  std::vector<NodeId> image;
  SubnetTopology result;
  result.topology = plan;
  for (const Node& node : plan.nodes()) {
    auto found = known.find(node.name);
    if (found == known.end() && !node.host.empty()) found = known.find(node.host);
    if (found == known.end() || fabric.topology.node(found->second).is_switch != node.is_switch) {
      return Error{"found no " + std::string(node.is_switch ? "switch" : "host") + " named '" + node.name +
                   "' in the fabric, expected every node of the plan"};
    }
    image.push_back(found->second);
    result.forwarder.push_back(fabric.forwarder[at(found->second)]);
    if (!node.is_switch) {
      result.host_ports.push_back(fabric.host_ports[at(found->second)]);
      result.places.push_back(fabric.places[at(found->second)]);
    }
    known.erase(found);
  }
  for (const Link& link : plan.links()) {
    const LinkId found = fabric.topology.find_link(image[at(link.from)], image[at(link.to)]);
    if (found < 0) {
      return Error{"found no cable from '" + plan.node(link.from).name + "' to '" + plan.node(link.to).name +
                   "' in the fabric, expected every link of the plan"};
    }
    result.egress.push_back(fabric.egress[at(found)]);
  }
  return result;
}

Result<SubnetTopology> topology_of(const Subnet& subnet, const std::string& file, HostSwitches host_switches) {
  return SubnetTopologyBuilder(subnet, file).build(host_switches);
}

}  // namespace libcoll::exchange
