// Native schedule file, reading. xml_write.cpp lists the elements and attributes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <pugixml.hpp>

#include "planner/schedule/xml.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

// A file beyond these is absurd; shard ids N² stay within 32 bits.
constexpr std::int64_t max_nodes = 32768;
constexpr std::int64_t max_length = 1'000'000'000;
constexpr std::int64_t max_int32 = std::numeric_limits<std::int32_t>::max();

using Names = std::initializer_list<std::string_view>;

std::string joined(Names required, Names optional) {
  std::string text;
  for (const std::string_view name : required) text += (text.empty() ? "" : ", ") + std::string(name);
  for (const std::string_view name : optional) text += (text.empty() ? "[" : ", [") + std::string(name) + "]";
  return text;
}

std::string range(std::int64_t low, std::int64_t high) {
  if (high < low) return "nothing, there is none to name";
  if (high == low) return std::to_string(low);
  return "an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

bool contains(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Rational> parse_rational(std::string_view text) {
  const std::optional<Rational> value = Rational::parse(text);
  return value && *value >= Rational(0) ? value : std::nullopt;
}

/// Reads one file. The first fault is kept and makes every later read a no-op that returns a harmless value,
/// so that callers need to look once per element only.
class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Schedule> read() {
    pugi::xml_document document;
    const std::size_t nul = text_.find('\0');
    if (nul != std::string_view::npos) return at(static_cast<std::ptrdiff_t>(nul), "found a NUL, expected text (XML)");
    // Everything that is not white space or a comment becomes a node, so that it can be refused.
    // No end-of-line or white-space conversion: names must come back as they were written.
    const pugi::xml_parse_result parsed = document.load_buffer(
        text_.data(), text_.size(),
        pugi::parse_minimal | pugi::parse_escapes | pugi::parse_cdata | pugi::parse_fragment, pugi::encoding_utf8);
    if (!parsed) return at(parsed.offset, std::string(parsed.description()) + ", expected a schedule file (XML)");
    const pugi::xml_node root = document.first_child();
    if (std::string_view(root.name()) != "libcoll_schedule") {
      fail(root, found(root.name()) + ", expected <libcoll_schedule>");
      return *error_;
    }
    if (root.next_sibling()) fail(root.next_sibling(), "expected nothing after </libcoll_schedule>");
    read_root(root);
    if (error_) return *error_;
    return std::move(schedule_);
  }

 private:
  // --- Faults. ---

  [[nodiscard]] Error at(std::ptrdiff_t offset, const std::string& message) const {
    const auto end = static_cast<std::ptrdiff_t>(text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + std::clamp<std::ptrdiff_t>(offset, 0, end), '\n');
    return Error{file_ + ":" + std::to_string(line) + ": " + message};
  }
  static std::string found(std::string_view name) {
    return name.empty() ? "found text" : "found <" + std::string(name) + ">";
  }
  void fail(pugi::xml_node node, const std::string& message) {
    if (error_) return;
    // A text starts with the white space before it, often on an earlier line.
    const std::size_t blank = std::string_view(node.value()).find_first_not_of(" \t\r\n");
    error_ =
        at(node.offset_debug() + static_cast<std::ptrdiff_t>(blank == std::string_view::npos ? 0 : blank), message);
  }
  void fail_value(pugi::xml_node node, const char* name, const std::string& expected) {
    fail(node, std::string("<") + node.name() + "> has " + name + "=\"" + node.attribute(name).value() +
                   "\", expected " + expected);
  }

  // --- Attributes. ---

  void check_attributes(pugi::xml_node node, Names required, Names optional = {}) {
    for (pugi::xml_attribute a = node.first_attribute(); a; a = a.next_attribute()) {
      const std::string_view name = a.name();
      if (!contains(required, name) && !contains(optional, name)) {
        fail(node, std::string("<") + node.name() + "> has the unknown attribute '" + a.name() + "', expected " +
                       joined(required, optional));
      }
      if (node.attribute(a.name()) != a) {
        fail(node, std::string("<") + node.name() + "> has the attribute '" + a.name() + "' twice");
      }
    }
    for (const std::string_view name : required) {
      if (!node.attribute(name.data())) {
        fail(node, std::string("<") + node.name() + "> lacks the attribute '" + std::string(name) + "'");
      }
    }
  }

  /// For elements that carry attributes only.
  void check_leaf(pugi::xml_node node, Names required, Names optional = {}) {
    check_attributes(node, required, optional);
    if (node.first_child()) {
      fail(node.first_child(), found(node.first_child().name()) + " inside <" + node.name() + ">, expected nothing");
    }
  }

  std::int64_t integer(pugi::xml_node node, const char* name, std::int64_t low, std::int64_t high) {
    if (error_) return low;
    const auto value = parse_number<std::int64_t>(node.attribute(name).value());
    if (value && *value >= low && *value <= high) return *value;
    fail_value(node, name, range(low, high));
    return low;
  }
  std::int32_t integer32(pugi::xml_node node, const char* name, std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(integer(node, name, low, high));
  }
  double number(pugi::xml_node node, const char* name) {
    if (error_) return 0;
    const auto value = parse_number<double>(node.attribute(name).value());
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    fail_value(node, name, "a number >= 0");
    return 0;
  }
  Rational rational(pugi::xml_node node, const char* name) {
    if (error_) return 0;
    const auto value = parse_rational(node.attribute(name).value());
    if (value) return *value;
    fail_value(node, name, "a fraction such as 26/27");
    return 0;
  }

  // --- Elements. ---

  void read_root(pugi::xml_node root) {
    check_attributes(root, {"version", "collective", "algorithm", "nodes", "chunks_per_shard", "steps"},
                     {"root", "pipelined"});
    integer(root, "version", 1, 1);
    if (error_) return;
    const Result<Collective> collective = parse_collective(root.attribute("collective").value());
    if (!collective.ok()) return fail(root, collective.error().message);
    schedule_.collective = *collective;
    schedule_.algorithm = root.attribute("algorithm").value();
    hosts_ = integer(root, "nodes", 1, max_nodes);
    if (is_rooted(schedule_.collective)) {
      if (!root.attribute("root")) return fail(root, "<libcoll_schedule> lacks the attribute 'root'");
      schedule_.root = integer32(root, "root", 0, hosts_ - 1);
    } else if (root.attribute("root")) {
      return fail(root, std::string(to_string(schedule_.collective)) + " has no root");
    }
    schedule_.chunks_per_shard = integer32(root, "chunks_per_shard", 1, max_int32);
    schedule_.steps = integer32(root, "steps", 0, max_steps);
    schedule_.pipelined = root.attribute("pipelined") && integer(root, "pipelined", 0, 1) == 1;
    for (const pugi::xml_node child : root.children()) {
      if (error_) return;
      read_part(child);
    }
    if (!has_topology_) fail(root, "<libcoll_schedule> lacks a <topology>");
    if (!has_proof_) fail(root, "<libcoll_schedule> lacks a <proof>");
  }

  void read_part(pugi::xml_node node) {
    const std::string_view name = node.name();
    if (name == "topology" && !has_topology_) return read_topology(node);
    if (!has_topology_) return fail(node, found(name) + ", expected <topology> first");
    if (name == "proof" && !has_proof_) return read_proof(node);
    if (name == "rewiring") return read_wiring_event(node);
    if (name == "route") return read_route(node);
    if (name == "step") return read_step(node);
    fail(node, found(name) + ", expected <proof> (once), <rewiring>, <route> or <step>");
  }

  void read_topology(pugi::xml_node node) {
    has_topology_ = true;
    check_attributes(node, {"name", "nics_forward", "injection"});
    const bool nics_forward = integer(node, "nics_forward", 0, 1) == 1;
    const std::int64_t injection = integer(node, "injection", 0, max_bandwidth_bytes_per_second);
    std::vector<Node> nodes;
    std::vector<Link> links;
    for (const pugi::xml_node child : node.children()) {
      if (error_) return;
      read_wiring(child, nodes, links);
    }
    if (error_) return;
    Result<Topology> topology = Topology::make(node.attribute("name").value(), std::move(nodes), std::move(links));
    if (!topology.ok()) return fail(node, "bad <topology>: " + topology.error().message);
    schedule_.topology = std::move(*topology);
    schedule_.topology.set_nics_forward(nics_forward);
    schedule_.topology.set_injection_bytes_per_second(injection);
    if (schedule_.topology.host_count() != hosts_) {
      fail(node, "<topology> has " + std::to_string(schedule_.topology.host_count()) + " hosts, the schedule says " +
                     std::to_string(hosts_));
    }
  }

  void read_wiring(pugi::xml_node node, std::vector<Node>& nodes, std::vector<Link>& links) {
    const std::string_view name = node.name();
    if (name == "node" && links.empty()) {
      check_leaf(node, {"name"}, {"host", "switch"});
      const bool is_switch = node.attribute("switch") && integer(node, "switch", 0, 1) == 1;
      nodes.push_back({node.attribute("name").value(), node.attribute("host").value(), is_switch});
      if (static_cast<std::int64_t>(nodes.size()) > max_nodes) {
        fail(node, "more than " + std::to_string(max_nodes) + " nodes");
      }
      return;
    }
    if (name != "link") return fail(node, found(name) + ", expected <node>s and then <link>s");
    check_leaf(node, {"from", "to", "bandwidth", "latency"});
    const auto last = static_cast<std::int64_t>(nodes.size()) - 1;
    Link link;
    link.from = integer32(node, "from", 0, last);
    link.to = integer32(node, "to", 0, last);
    link.bandwidth_bytes_per_second = integer(node, "bandwidth", 1, max_bandwidth_bytes_per_second);
    link.latency_seconds = number(node, "latency");
    links.push_back(link);
  }

  void read_proof(pugi::xml_node node) {
    has_proof_ = true;
    check_leaf(node, {"bandwidth_time", "bandwidth_bound", "max_link_load", "flow", "flow_upper_bound"}, {"lengths"});
    Proof& proof = schedule_.proof;
    proof.bandwidth_time = rational(node, "bandwidth_time");
    proof.bandwidth_bound = rational(node, "bandwidth_bound");
    proof.max_link_load = rational(node, "max_link_load");
    proof.flow = number(node, "flow");
    proof.flow_upper_bound = number(node, "flow_upper_bound");
    if (node.attribute("lengths")) read_lengths(node);
  }

  void read_lengths(pugi::xml_node node) {
    std::string_view rest = node.attribute("lengths").value();
    for (;;) {
      const std::size_t space = rest.find(' ');
      const auto length = parse_number<std::int64_t>(rest.substr(0, space));
      if (!length || *length < 0 || *length > max_length) {
        return fail_value(node, "lengths",
                          "integers from 0 to " + std::to_string(max_length) + " with one space between them");
      }
      schedule_.proof.lengths.push_back(*length);
      if (space == std::string_view::npos) return;
      rest.remove_prefix(space + 1);
    }
  }

  void read_wiring_event(pugi::xml_node node) {
    check_leaf(node, {"s", "name", "seconds", "links"}, {"bandwidths"});
    Wiring wiring;
    wiring.step = integer32(node, "s", 1, std::max(schedule_.steps, 1));
    wiring.name = node.attribute("name").value();
    wiring.seconds = number(node, "seconds");
    for (const LinkId link : link_list(node)) {
      wiring.links.push_back({link, schedule_.topology.link(link).bandwidth_bytes_per_second});
    }
    if (node.attribute("bandwidths")) read_bandwidths(node, wiring);
    schedule_.wirings.push_back(std::move(wiring));
  }

  void read_bandwidths(pugi::xml_node node, Wiring& wiring) {
    std::string_view rest = node.attribute("bandwidths").value();
    for (LiveLink& live : wiring.links) {
      const std::size_t space = rest.find(' ');
      const auto bandwidth = parse_number<std::int64_t>(rest.substr(0, space));
      const bool last = &live == &wiring.links.back();
      const bool sound = bandwidth && *bandwidth >= 1 && *bandwidth <= max_bandwidth_bytes_per_second;
      if (!sound || last != (space == std::string_view::npos)) {
        return fail_value(node, "bandwidths", "one whole number of bytes/s for each link, one space between them");
      }
      live.bandwidth_bytes_per_second = *bandwidth;
      rest = last ? "" : rest.substr(space + 1);
    }
    if (!rest.empty()) fail_value(node, "bandwidths", "nothing, there is no link");
  }

  void read_route(pugi::xml_node node) {
    check_leaf(node, {"u", "v", "layer", "links"}, {"class"});
    Route route;
    route.source = integer32(node, "u", 0, hosts_ - 1);
    route.destination = integer32(node, "v", 0, hosts_ - 1);
    route.layer = integer32(node, "layer", 0, max_layers - 1);
    if (node.attribute("class")) route.route_class = integer32(node, "class", 0, max_classes - 1);
    route.links = link_list(node);
    schedule_.routes.push_back(std::move(route));
  }

  std::vector<LinkId> link_list(pugi::xml_node node) {
    std::vector<LinkId> links;
    std::string_view rest = node.attribute("links").value();
    while (!rest.empty() && !error_) {
      const std::size_t space = rest.find(' ');
      const auto link = parse_number<LinkId>(rest.substr(0, space));
      if (!link || *link < 0 || *link >= schedule_.topology.link_count() || space + 1 == rest.size()) {
        fail_value(
            node, "links",
            "link ids 0.." + std::to_string(schedule_.topology.link_count() - 1) + " with one space between them");
        break;
      }
      links.push_back(*link);
      rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
    }
    return links;
  }

  void read_step(pugi::xml_node node) {
    check_attributes(node, {"s"});
    const std::int32_t step = integer32(node, "s", 1, schedule_.steps);
    for (const pugi::xml_node child : node.children()) {
      if (error_) return;
      if (std::string_view(child.name()) != "t") return fail(child, found(child.name()) + " in <step>, expected <t>");
      read_transfer(child, step);
    }
  }

  void read_transfer(pugi::xml_node node, std::int32_t step) {
    check_leaf(node, {"u", "v", "s", "c", "cnt"}, {"r", "type"});
    const std::int64_t shards = schedule_.collective == Collective::alltoall ? hosts_ * hosts_ : hosts_;
    Transfer transfer;
    transfer.step = step;
    transfer.from = integer32(node, "u", 0, hosts_ - 1);
    transfer.to = integer32(node, "v", 0, hosts_ - 1);
    transfer.shard = integer32(node, "s", 0, shards - 1);
    transfer.chunk_begin = integer32(node, "c", 0, schedule_.chunks_per_shard - 1);
    transfer.chunk_count = integer32(node, "cnt", 1, schedule_.chunks_per_shard - transfer.chunk_begin);
    if (node.attribute("r")) {
      transfer.route = integer32(node, "r", 0, static_cast<std::int64_t>(schedule_.routes.size()) - 1);
    }
    if (node.attribute("type")) {
      if (std::string_view(node.attribute("type").value()) != "rrc") fail_value(node, "type", "rrc");
      transfer.kind = TransferKind::reduce;
    }
    schedule_.transfers.push_back(transfer);
  }

  std::string_view text_;
  const std::string& file_;
  std::optional<Error> error_;
  Schedule schedule_;
  std::int64_t hosts_ = 0;
  bool has_topology_ = false;
  bool has_proof_ = false;
};

}  // namespace

Result<Schedule> read_schedule(std::string_view text, const std::string& file) { return XmlReader(text, file).read(); }

}  // namespace libcoll::schedule
