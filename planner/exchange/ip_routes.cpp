#include "planner/exchange/ip_routes.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

#include "planner/base/index.h"
#include "planner/route/table_completion.h"

namespace libcoll::exchange {

using namespace route;
using namespace schedule;
using namespace topology;

namespace {

// Marks our routes and rules, so that they can be flushed without listing them.
constexpr const char* mark = "78";
constexpr std::int32_t first_table = 7800;
constexpr std::int32_t first_preference = 7800;
constexpr std::uint32_t hosts_per_octet = 250;
constexpr std::int32_t roce_port = 4791;

std::string dotted(std::uint32_t address) {
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += (text.empty() ? "" : ".") + std::to_string((address >> shift) & 0xFFU);
  }
  return text;
}

std::uint32_t class_network(const IpScheme& scheme, std::int32_t route_class) {
  const std::int32_t shown = scheme.steering == IpSteering::port ? 0 : route_class;
  return scheme.network + (static_cast<std::uint32_t>(shown) << 16U);
}

/// `text` with every `{key}` replaced.
std::string filled(std::string text, const std::string& key, const std::string& value) {
  for (std::size_t place = text.find(key); place != std::string::npos; place = text.find(key, place + value.size())) {
    text.replace(place, key.size(), value);
  }
  return text;
}

std::string label(const Topology& topology, NodeId node) {
  return topology.node(node).host.empty() ? topology.node(node).name : topology.node(node).host;
}

std::string device_towards(const IpScheme& scheme, const Topology& topology, NodeId node, NodeId next) {
  const auto found = scheme.devices.find({topology.node(node).name, topology.node(next).name});
  if (found != scheme.devices.end()) return found->second;
  return filled(filled(scheme.link_device, "{number}", std::to_string(next)), "{name}", label(topology, next));
}

std::string device_of_class(const IpScheme& scheme, std::int32_t route_class) {
  return filled(scheme.class_device, "{class}", std::to_string(route_class));
}

/// The node that a table sends on to, -1 where it has no entry.
NodeId next_node(const Topology& topology, const DestinationClass& table, NodeId node, NodeId destination) {
  const LinkId link = table.next[at(destination)][at(node)];
  return link == no_entry ? -1 : topology.link(link).to;
}

/// What packets of a class have that no others have.
std::string rule_condition(const IpScheme& scheme, std::int32_t route_class) {
  if (scheme.steering == IpSteering::port) {
    return "ipproto udp sport " + std::to_string(first_udp_source_port + route_class) + " dport " +
           std::to_string(roce_port);
  }
  return "to " + dotted(class_network(scheme, route_class)) + "/16";
}

constexpr std::string_view spaces = " \t\r";

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(spaces);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.emplace_back(without_spaces(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<NodeId> named_node(const Topology& topology, const std::string& name) {
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (topology.node(node).name == name || topology.node(node).host == name) return node;
  }
  return std::nullopt;
}

}  // namespace

Result<IpSteering> parse_ip_steering(std::string_view name) {
  constexpr std::array<std::string_view, 3> names{"device", "gid", "port"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<IpSteering>(i);
  }
  return Error{"found '" + std::string(name) + "', expected device, gid or port"};
}

Result<LinkDevices> read_link_devices(std::string_view text, const std::string& file, const Topology& topology) {
  LinkDevices devices;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = without_spaces(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const std::string place = file + ":" + std::to_string(number) + ": found ";
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 3 || fields[2].empty()) {
      return Error{place + "'" + std::string(line) + "', expected FROM,TO,DEVICE"};
    }
    const std::optional<NodeId> from = named_node(topology, fields[0]);
    const std::optional<NodeId> to = named_node(topology, fields[1]);
    if (!from || !to) return Error{place + "node '" + fields[from ? 1 : 0] + "', expected one of the topology's"};
    if (topology.find_link(*from, *to) < 0) {
      return Error{place + "'" + fields[0] + "' and '" + fields[1] + "', expected two nodes with a link between them"};
    }
    const bool is_new =
        devices.emplace(std::pair(topology.node(*from).name, topology.node(*to).name), fields[2]).second;
    if (!is_new) return Error{place + "'" + fields[0] + "' and '" + fields[1] + "' again, expected each link once"};
  }
  return devices;
}

Result<std::uint32_t> parse_ipv4(std::string_view text) {
  const Error error{"found '" + std::string(text) + "', expected an address such as 10.0.0.0"};
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || value > 0xFFU) return error;
    address = (address << 8U) | value;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (part == 3) break;
    if (!text.starts_with('.')) return error;
    text.remove_prefix(1);
  }
  if (!text.empty()) return error;
  return address;
}

std::string ip_address(const IpScheme& scheme, std::int32_t route_class, NodeId host) {
  const auto number = static_cast<std::uint32_t>(host);
  return dotted(class_network(scheme, route_class) + (number / hosts_per_octet << 8U) + number % hosts_per_octet + 1);
}

Result<DestinationClasses> plan_ip_classes(Schedule& schedule) {
  if (schedule.routes.empty()) return Error{"found a schedule without routes, expected an all-to-all on routes"};
  ClassLimits limits;
  limits.classes = most_ip_classes;
  Result<DestinationClasses> classes = assign_destination_classes(schedule.topology, schedule.routes, limits);
  if (!classes) return classes;
  if (classes->rerouted > 0) {
    return Error{"found routes that take more classes than there are, expected " + std::to_string(most_ip_classes) +
                 " at most"};
  }
  return classes;
}

std::string ip_addresses_batch(const IpScheme& scheme, const DestinationClasses& classes, NodeId host) {
  std::string text;
  if (scheme.steering == IpSteering::port) return text;
  for (std::size_t k = 1; k <= classes.classes.size(); ++k) {
    const auto route_class = static_cast<std::int32_t>(k);
    const std::string address = ip_address(scheme, route_class, host) + "/16";
    const std::string device = device_of_class(scheme, route_class);
    if (scheme.steering == IpSteering::device) {
      text.append("link add name ").append(device).append(" type dummy\n");
      text.append("link set ").append(device).append(" up\n");
    }
    text.append("addr add ").append(address).append(" dev ").append(device).append(" noprefixroute\n");
  }
  return text;
}

std::string ip_routes_batch(const IpScheme& scheme, const Topology& topology, const DestinationClasses& classes,
                            NodeId host) {
  const std::string by_us = std::string(" proto ") + mark + "\n";
  std::string text = std::string("rule flush protocol ") + mark + "\nroute flush table all" + by_us;
  for (std::size_t k = 1; k <= classes.classes.size(); ++k) {
    const auto route_class = static_cast<std::int32_t>(k);
    const std::string table = std::to_string(first_table + route_class);
    text += "rule add " + rule_condition(scheme, route_class) + " lookup " + table + " pref " +
            std::to_string(first_preference + route_class) + " protocol " + mark + "\n";
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      const NodeId next = next_node(topology, classes.classes[k - 1], host, destination);
      if (next < 0) continue;
      text.append("route add ").append(ip_address(scheme, route_class, destination)).append("/32");
      // The neighbour answers for all its addresses; a switch has none, and the destination is on its link.
      const bool is_host = next < topology.host_count();
      if (is_host) text.append(" via ").append(ip_address(scheme, route_class, next));
      text.append(" dev ").append(device_towards(scheme, topology, host, next)).append(is_host ? " onlink" : "");
      text.append(" src ").append(ip_address(scheme, route_class, host)).append(" table ").append(table).append(by_us);
    }
  }
  return text;
}

std::string ip_switch_table(const IpScheme& scheme, const Topology& topology, const DestinationClasses& classes,
                            NodeId node) {
  std::string text = "destination,udp_source_port,class,port,next\n";
  for (std::size_t k = 1; k <= classes.classes.size(); ++k) {
    const auto route_class = static_cast<std::int32_t>(k);
    const std::string source_port =
        scheme.steering == IpSteering::port ? std::to_string(first_udp_source_port + route_class) : std::string();
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      const NodeId next = next_node(topology, classes.classes[k - 1], node, destination);
      if (next < 0) continue;
      text += ip_address(scheme, route_class, destination) + "/32," + source_port + "," + std::to_string(k) + "," +
              device_towards(scheme, topology, node, next) + "," + label(topology, next) + "\n";
    }
  }
  return text;
}

RouteBinding ip_binding(const IpScheme& scheme, const DestinationClasses& classes, const Schedule& schedule) {
  RouteBinding binding;
  binding.routes = route_set_digest(schedule.topology, schedule.routes);
  if (scheme.steering == IpSteering::port) binding.backend = SteeringBackend::uct;
  for (std::size_t k = 0; k <= classes.classes.size(); ++k) {
    RouteClassBinding& each = binding.classes.emplace_back();
    each.route_class = static_cast<std::int32_t>(k);
    if (scheme.steering == IpSteering::device) {
      each.settings.emplace_back("NET_DEVICES", device_of_class(scheme, each.route_class));
      continue;
    }
    if (!scheme.roce_device.empty()) each.settings.emplace_back("NET_DEVICES", scheme.roce_device);
    if (scheme.steering == IpSteering::gid) {
      each.settings.emplace_back("IB_GID_INDEX", std::to_string(scheme.first_gid_index + each.route_class));
    } else {
      each.path_index = each.route_class;
    }
    // Three bits of the DSCP choose the queue.
    const std::int32_t layer = k == 0 ? 0 : classes.classes[k - 1].layer;
    if (classes.layers > 1) each.settings.emplace_back("IB_TRAFFIC_CLASS", std::to_string(layer << 5));
  }
  return binding;
}

}  // namespace libcoll::exchange
