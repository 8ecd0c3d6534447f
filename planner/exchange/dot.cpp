#include "planner/exchange/dot.h"

#include <algorithm>
#include <cstdio>

namespace libcoll::exchange {

using namespace topology;

namespace {

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char letter : name) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + "\"";
}

std::string gbps(std::int64_t bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(bytes_per_second) * 8e-9);
  return text;
}

}  // namespace

std::string write_dot(const Topology& topology) {
  const auto unequal = [&](const Link& link) {
    return link.bandwidth_bytes_per_second != topology.unit_bandwidth_bytes_per_second();
  };
  const bool labels = std::any_of(topology.links().begin(), topology.links().end(), unequal);
  std::string text = "digraph " + quoted(topology.name()) + " {\n";
  for (const Node& node : topology.nodes()) {
    text += "  " + quoted(node.name) + (node.is_switch ? " [shape=box];\n" : ";\n");
  }
  for (const Link& link : topology.links()) {
    const LinkId back = topology.find_link(link.to, link.from);
    const bool cable = back >= 0 && topology.link(back).bandwidth_bytes_per_second == link.bandwidth_bytes_per_second;
    if (cable && link.from > link.to) continue;
    text += "  " + quoted(topology.node(link.from).name) + " -> " + quoted(topology.node(link.to).name);
    const std::string label = labels ? "label=\"" + gbps(link.bandwidth_bytes_per_second) + "\"" : "";
    if (cable) {
      text += " [dir=both" + (label.empty() ? "" : ", " + label) + "]";
    } else if (!label.empty()) {
      text += " [" + label + "]";
    }
    text += ";\n";
  }
  return text + "}\n";
}

}  // namespace libcoll::exchange
