#include "planner/exchange/simgrid.h"

#include <array>
#include <cstdio>
#include <pugixml.hpp>
#include <sstream>

namespace libcoll::exchange {

using namespace topology;

namespace {

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9gs", seconds);
  return text.data();
}

}  // namespace

std::string write_simgrid(const Topology& topology, const std::string& host_speed) {
  pugi::xml_document document;
  document.append_child(pugi::node_doctype).set_value("platform SYSTEM \"https://simgrid.org/simgrid.dtd\"");
  pugi::xml_node platform = document.append_child("platform");
  platform.append_attribute("version") = "4.1";
  pugi::xml_node zone = platform.append_child("zone");
  zone.append_attribute("id") = topology.name().c_str();
  zone.append_attribute("routing") = "Floyd";
  for (const Node& node : topology.nodes()) {
    pugi::xml_node element = zone.append_child(node.is_switch ? "router" : "host");
    element.append_attribute("id") = node.name.c_str();
    if (!node.is_switch) element.append_attribute("speed") = host_speed.c_str();
  }
  const auto link_name = [&](const Link& link) {
    return topology.node(link.from).name + "->" + topology.node(link.to).name;
  };
  for (const Link& link : topology.links()) {
    pugi::xml_node element = zone.append_child("link");
    element.append_attribute("id") = link_name(link).c_str();
    element.append_attribute("bandwidth") = (std::to_string(link.bandwidth_bytes_per_second) + "Bps").c_str();
    element.append_attribute("latency") = seconds_text(link.latency_seconds).c_str();
  }
  for (const Link& link : topology.links()) {
    pugi::xml_node route = zone.append_child("route");
    route.append_attribute("src") = topology.node(link.from).name.c_str();
    route.append_attribute("dst") = topology.node(link.to).name.c_str();
    route.append_attribute("symmetrical") = "NO";
    route.append_child("link_ctn").append_attribute("id") = link_name(link).c_str();
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace libcoll::exchange
