#include "planner/exchange/graphml.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <locale>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "planner/exchange/named_graph.h"
#include "planner/topology/reader.h"

namespace libcoll::exchange {

using namespace topology;

namespace {

constexpr const char* bandwidth_key = "bandwidth";
constexpr const char* latency_key = "latency";
constexpr const char* switch_key = "switch";
constexpr const char* host_key = "host";
constexpr const char* injection_key = "injection_bandwidth";
constexpr const char* forward_key = "nics_forward";

class GraphmlReader {
 public:
  GraphmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Topology> read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed)
      return error_at(parsed.offset, std::string("found no XML (") + parsed.description() + "), expected GraphML");
    const pugi::xml_node root = document.child("graphml");
    const pugi::xml_node graph = root.child("graph");
    if (graph.empty()) return error_at(0, "found no <graph> in <graphml>, expected one");
    for (const pugi::xml_node key : root.children("key"))
      names_[key.attribute("id").value()] = key.attribute("attr.name").value();
    for (const pugi::xml_node node : graph.children("node")) {
      if (const Status status = read_node(node); !status) return status.error();
    }
    const bool both_ways = std::string_view(graph.attribute("edgedefault").value()) == "undirected";
    for (const pugi::xml_node edge : graph.children("edge")) {
      if (const Status status = read_edge(edge, both_ways); !status) return status.error();
    }
    const std::string id = graph.attribute("id").value();
    Result<Topology> topology = graph_.topology(id.empty() ? file_stem(file_) : id, file_);
    if (!topology) return topology;
    if (const Status status = read_settings(graph, *topology); !status) return status.error();
    return topology;
  }

 private:
  Error error_at(std::ptrdiff_t offset, const std::string& what) const {
    const auto end = std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    const auto line = 1 + std::count(text_.begin(), text_.begin() + end, '\n');
    return Error{file_ + ":" + std::to_string(line) + ": " + what};
  }

  /// The <data> of an element under an attribute's name; the key itself where no <key> names it.
  std::optional<std::string> data(pugi::xml_node element, std::string_view name) const {
    for (const pugi::xml_node each : element.children("data")) {
      const std::string key = each.attribute("key").value();
      const auto named = names_.find(key);
      if ((named == names_.end() ? key : named->second) == name) return each.text().get();
    }
    return std::nullopt;
  }

  Result<bool> flag(pugi::xml_node element, const char* name, bool otherwise) const {
    const std::optional<std::string> text = data(element, name);
    if (!text) return otherwise;
    if (*text == "true" || *text == "True" || *text == "1") return true;
    if (*text == "false" || *text == "False" || *text == "0") return false;
    return error_at(element.offset_debug(), std::string(name) + ": found '" + *text + "', expected true or false");
  }

  Status read_node(pugi::xml_node element) {
    Node node;
    node.name = element.attribute("id").value();
    const Result<bool> is_switch = flag(element, switch_key, false);
    if (!is_switch) return is_switch.error();
    node.is_switch = *is_switch;
    if (!node.is_switch) node.host = data(element, host_key).value_or("");
    if (node.name.empty() || !graph_.add_node(node)) {
      return error_at(element.offset_debug(), "found '" + node.name + "' as a node's id, expected ids that differ");
    }
    return {};
  }

  Status read_edge(pugi::xml_node element, bool both_ways) {
    const std::string from = element.attribute("source").value();
    const std::string to = element.attribute("target").value();
    for (const std::string& end : {from, to}) {
      if (graph_.contains(end)) continue;
      return error_at(element.offset_debug(), "found an edge to '" + end + "', expected the id of a node");
    }
    Result<std::int64_t> bandwidth = default_bandwidth_bytes_per_second;
    if (const auto text = data(element, bandwidth_key)) bandwidth = parse_bandwidth(*text);
    if (!bandwidth) return error_at(element.offset_debug(), bandwidth.error().message);
    Result<double> latency = default_latency_seconds;
    if (const auto text = data(element, latency_key)) latency = read_seconds(*text);
    if (!latency) return error_at(element.offset_debug(), latency.error().message);
    graph_.add_link(from, to, *bandwidth, *latency);
    if (both_ways) graph_.add_link(to, from, *bandwidth, *latency);
    return {};
  }

  /// With an exponent, as write_graphml has it, or as topology files have it.
  static Result<double> read_seconds(const std::string& text) {
    std::istringstream stream(text);
    stream.imbue(std::locale::classic());
    double value = 0;
    stream >> value;
    return stream && stream.peek() == std::istringstream::traits_type::eof() && value >= 0 ? Result<double>(value)
                                                                                           : parse_latency(text);
  }

  Status read_settings(pugi::xml_node element, Topology& topology) const {
    if (const auto text = data(element, injection_key)) {
      const Result<std::int64_t> injection = parse_bandwidth(*text);
      if (!injection) return error_at(element.offset_debug(), injection.error().message);
      topology.set_injection_bytes_per_second(*injection);
    }
    const Result<bool> forward = flag(element, forward_key, true);
    if (!forward) return forward.error();
    topology.set_nics_forward(*forward);
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  std::map<std::string, std::string> names_;  ///< of data, by key
  NamedGraph graph_;
};

void add_key(pugi::xml_node root, const char* of, const char* name, const char* type) {
  pugi::xml_node key = root.append_child("key");
  key.append_attribute("id") = name;
  key.append_attribute("for") = of;
  key.append_attribute("attr.name") = name;
  key.append_attribute("attr.type") = type;
}

void add_data(pugi::xml_node element, const char* key, const std::string& value) {
  pugi::xml_node data = element.append_child("data");
  data.append_attribute("key") = key;
  data.text() = value.c_str();
}

std::string exact(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17e", number);
  return text.data();
}

}  // namespace

Result<Topology> read_graphml(std::string_view text, const std::string& file) {
  return GraphmlReader(text, file).read();
}

std::string write_graphml(const Topology& topology) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("graphml");
  root.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
  add_key(root, "node", switch_key, "boolean");
  add_key(root, "node", host_key, "string");
  add_key(root, "edge", bandwidth_key, "long");
  add_key(root, "edge", latency_key, "double");
  add_key(root, "graph", injection_key, "long");
  add_key(root, "graph", forward_key, "boolean");
  pugi::xml_node graph = root.append_child("graph");
  graph.append_attribute("id") = topology.name().c_str();
  graph.append_attribute("edgedefault") = "directed";
  if (topology.injection_bytes_per_second() > 0) {
    add_data(graph, injection_key, std::to_string(topology.injection_bytes_per_second()));
  }
  if (!topology.nics_forward()) add_data(graph, forward_key, "false");
  for (const Node& node : topology.nodes()) {
    pugi::xml_node element = graph.append_child("node");
    element.append_attribute("id") = node.name.c_str();
    if (node.is_switch) add_data(element, switch_key, "true");
    if (!node.is_switch && !node.host.empty()) add_data(element, host_key, node.host);
  }
  for (const Link& link : topology.links()) {
    pugi::xml_node element = graph.append_child("edge");
    element.append_attribute("source") = topology.node(link.from).name.c_str();
    element.append_attribute("target") = topology.node(link.to).name.c_str();
    add_data(element, bandwidth_key, std::to_string(link.bandwidth_bytes_per_second));
    add_data(element, latency_key, exact(link.latency_seconds));
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace libcoll::exchange
