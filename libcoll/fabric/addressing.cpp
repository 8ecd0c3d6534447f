#include "libcoll/fabric/addressing.h"

#include <cstdio>

namespace libcoll::fabric {

using namespace topology;

namespace {

constexpr std::int32_t per_octet = 250;
constexpr std::int32_t default_class_octet = 100;
constexpr std::int64_t first_table = 1000;  // beyond the kernel's own 253 to 255

std::string host_part(NodeId node) {
  return std::to_string(node / per_octet) + "." + std::to_string(node % per_octet + 1);
}

}  // namespace

std::string class_device(std::int32_t route_class) { return "L" + std::to_string(route_class); }

std::string class_address(std::int32_t route_class, NodeId node) {
  const std::int32_t octet = route_class == 0 ? default_class_octet : route_class;
  return "10." + std::to_string(octet) + "." + host_part(node);
}

std::string management_address(NodeId node) { return "172.31." + host_part(node); }

std::string control_address() { return "172.31.255.254"; }

std::string link_device(NodeId peer) { return "t" + std::to_string(peer); }

std::string link_mac(NodeId from, NodeId to) {
  const auto a = static_cast<unsigned>(from);
  const auto b = static_cast<unsigned>(to);
  char text[18];
  std::snprintf(text, sizeof text, "02:00:%02x:%02x:%02x:%02x", (a >> 8U) & 0xFFU, a & 0xFFU, (b >> 8U) & 0xFFU,
                b & 0xFFU);
  return text;
}

std::string management_port(NodeId node) { return "p" + std::to_string(node); }

std::int64_t source_table(std::int32_t route_class, NodeId source) {
  return first_table + static_cast<std::int64_t>(route_class) * max_fabric_nodes + source;
}

}  // namespace libcoll::fabric
