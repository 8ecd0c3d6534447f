#include "planner/topology/writer.h"

#include <cstdio>

namespace libcoll::topology {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
      result += code;
    } else {
      if (letter == '"' || letter == '\\') result += '\\';
      result += letter;
    }
  }
  return result + "\"";
}

/// With a point or an exponent, so that TOML takes it for a number with a fraction.
std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17e", number);
  return text;
}

}  // namespace

std::string write_topology(const Topology& topology) {
  std::string text = "name = " + quoted(topology.name()) + "\n";
  text += std::string("nics_forward = ") + (topology.nics_forward() ? "true" : "false") + "\n";
  if (topology.injection_bytes_per_second() > 0) {
    text += "injection_bandwidth = " + std::to_string(topology.injection_bytes_per_second()) + "\n";
  }
  for (const Node& node : topology.nodes()) {
    text += "\n[[node]]\nname = " + quoted(node.name) + "\n";
    if (node.is_switch) text += "switch = true\n";
    if (!node.is_switch && !node.host.empty()) text += "host = " + quoted(node.host) + "\n";
  }
  // One way each: this keeps the order of the links.
  for (const Link& link : topology.links()) {
    text += "\n[[link]]\nfrom = " + quoted(topology.node(link.from).name) +
            "\nto = " + quoted(topology.node(link.to).name) +
            "\nbandwidth = " + std::to_string(link.bandwidth_bytes_per_second) +
            "\nlatency = " + exact(link.latency_seconds) + "\noneway = true\n";
  }
  return text;
}

}  // namespace libcoll::topology
