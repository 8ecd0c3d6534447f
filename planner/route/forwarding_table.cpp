#include "planner/route/forwarding_table.h"

#include <algorithm>
#include <map>
#include <utility>

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

std::string quoted(const std::string& name) {
  if (name.find_first_of(",\"\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return text + "\"";
}

}  // namespace

std::int32_t egress_port(const Topology& topology, LinkId link) {
  const std::span<const LinkId> links = topology.out_links(topology.link(link).from);
  return static_cast<std::int32_t>(std::find(links.begin(), links.end(), link) - links.begin()) + 1;
}

std::string write_forwarding_table(const Topology& topology, std::span<const Route> routes) {
  std::string text = "source,destination,route,layer,egress_ports\n";
  std::map<std::pair<NodeId, NodeId>, std::int32_t> known;
  for (const Route& route : routes) {
    const std::int32_t number = ++known[{route.source, route.destination}];
    text += quoted(topology.node(route.source).name) + "," + quoted(topology.node(route.destination).name) + "," +
            std::to_string(route.route_class > 0 ? route.route_class : number) + "," + std::to_string(route.layer) +
            ",";
    for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
      if (hop > 0) text += " ";
      text += std::to_string(egress_port(topology, route.links[hop]));
    }
    text += "\n";
  }
  return text;
}

}  // namespace libcoll::route
