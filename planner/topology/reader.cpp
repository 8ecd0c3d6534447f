#include "planner/topology/reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/text_file.h"
#include "planner/base/toml_node.h"
#include "planner/base/toml_text.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {
namespace {

std::string listed(std::initializer_list<std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

/// The fabric as read so far, before removals. Lines say where each node and link came from.
struct TopologyDraft {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Line> node_lines;
  std::vector<Link> links;
  std::vector<Line> link_lines;
  std::map<std::string, NodeId, std::less<>> ids;
  std::map<std::pair<NodeId, NodeId>, std::size_t> link_index;
  std::vector<bool> node_removed;
  std::vector<bool> link_removed;
};

/// Reads one file. The first refusal is kept and ends the reading; what is read after it does not count.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}
  Result<Topology> read(const toml::table& root);

 private:
  void refuse(Line line, const std::string& what);
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  void only_keys(const toml::table& table, const std::string& where, std::initializer_list<std::string_view> keys);
  std::optional<std::string> text(const toml::table& table, std::string_view key, const std::string& expected);
  bool flag(const toml::table& table, std::string_view key, bool otherwise);
  std::int64_t bandwidth(const toml::table& table, std::string_view key, std::int64_t otherwise);
  double latency(const toml::table& table, double otherwise);
  std::vector<const toml::table*> tables(const toml::table& root, std::string_view key);
  std::optional<std::string> node_name(const toml::node& node);
  std::optional<std::string> link_end(const toml::table& table, std::string_view key, Line line);
  NodeId known_node(const std::string& name, Line line);

  void read_defaults(const toml::table& root);
  void read_fabric(const toml::table& root);
  void read_generated(const toml::node& specification);
  void read_nodes(const std::vector<const toml::table*>& tables);
  void read_node(const toml::table& table);
  void add_node(Node node, Line line);
  void number_hosts_first();
  void read_links(const std::vector<const toml::table*>& tables, bool nodes_are_listed);
  void read_link(const toml::table& table, bool nodes_are_listed);
  void add_link(const Link& link, Line line);
  void read_hosts(const toml::table& root);
  void read_host_list(const toml::node& node, std::vector<std::pair<std::string, Line>>& hosts);
  void assign_hosts(const std::vector<std::pair<std::string, Line>>& hosts, Line line);
  void claim_host(const std::string& host, Line line);
  void read_removed_nodes(const toml::table& root);
  void read_removed_links(const toml::table& root);
  void read_removed_link(const toml::node& node);
  void remove_links(NodeId from, NodeId to, bool oneway, Line line);
  [[nodiscard]] Line line_to_blame(const toml::table& root, const Topology& topology, bool whole) const;
  Result<Topology> finish(const toml::table& root);
  [[nodiscard]] std::pair<std::vector<Node>, std::vector<Link>> remaining() const;

  std::string file_;
  std::optional<Error> error_;
  std::int64_t default_bandwidth_ = default_bandwidth_bytes_per_second;
  double default_latency_ = default_latency_seconds;
  TopologyDraft draft_;
  std::map<std::string, Line, std::less<>> hosts_;
};

void Reader::refuse(Line line, const std::string& what) {
  if (!failed()) error_ = Error{file_ + ":" + std::to_string(line) + ": " + what};
}

void Reader::only_keys(const toml::table& table, const std::string& where,
                       std::initializer_list<std::string_view> keys) {
  const toml::key* first = nullptr;
  for (auto&& [key, value] : table) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    if (first == nullptr || key.source().begin.line < first->source().begin.line) first = &key;
  }
  if (first == nullptr) return;
  refuse(first->source().begin.line,
         "found unknown key '" + std::string(first->str()) + "' " + where + ", expected one of " + listed(keys));
}

std::optional<std::string> Reader::text(const toml::table& table, std::string_view key, const std::string& expected) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  if (node->is_string() && !node->as_string()->get().empty()) return node->as_string()->get();
  refuse(line_of(*node), std::string(key) + ": found " + shown(*node) + ", expected " + expected);
  return std::nullopt;
}

bool Reader::flag(const toml::table& table, std::string_view key, bool otherwise) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return otherwise;
  if (node->is_boolean()) return node->as_boolean()->get();
  refuse(line_of(*node), std::string(key) + ": found " + shown(*node) + ", expected true or false");
  return otherwise;
}

std::int64_t Reader::bandwidth(const toml::table& table, std::string_view key, std::int64_t otherwise) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return otherwise;
  const Line line = line_of(*node);
  if (!node->is_string() && !node->is_integer()) {
    refuse(line, std::string(key) + ": found " + shown(*node) +
                     ", expected a string such as \"25Gbps\" or a whole number of bytes per second");
    return otherwise;
  }
  const auto value =
      parse_bandwidth(node->is_string() ? node->as_string()->get() : std::to_string(node->as_integer()->get()));
  if (value.ok()) return *value;
  refuse(line, std::string(key) + ": " + value.error().message);
  return otherwise;
}

double Reader::latency(const toml::table& table, double otherwise) {
  const toml::node* node = table.get("latency");
  if (node == nullptr) return otherwise;
  if (const auto seconds = node->value_exact<double>(); seconds && std::isfinite(*seconds) && *seconds >= 0) {
    return *seconds;
  }
  if (const auto seconds = node->value_exact<std::int64_t>(); seconds && *seconds >= 0) {
    return static_cast<double>(*seconds);
  }
  if (node->is_string()) {
    const auto value = parse_latency(node->as_string()->get());
    if (value.ok()) return *value;
    refuse(line_of(*node), "latency: " + value.error().message);
    return otherwise;
  }
  const std::string found = node->is_floating_point() ? "a negative or infinite number" : shown(*node);
  refuse(line_of(*node),
         "latency: found " + found + ", expected a string such as \"1us\" or a number of seconds, zero or more");
  return otherwise;
}

/// The tables of [[key]]; empty when there are none.
std::vector<const toml::table*> Reader::tables(const toml::table& root, std::string_view key) {
  const toml::node* node = root.get(key);
  if (node == nullptr) return {};
  const std::string expected = ", expected tables headed [[" + std::string(key) + "]]";
  if (!node->is_array() || node->as_array()->empty()) {
    refuse(line_of(*node), std::string(key) + ": found " + shown(*node) + expected);
    return {};
  }
  std::vector<const toml::table*> result;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) refuse(line_of(element), std::string(key) + ": found " + shown(element) + expected);
    result.push_back(element.as_table());
  }
  return failed() ? std::vector<const toml::table*>{} : result;
}

/// A node is spoken of by its name; a whole number is the name written in digits.
std::optional<std::string> Reader::node_name(const toml::node& node) {
  if (node.is_string() && !node.as_string()->get().empty()) return node.as_string()->get();
  if (node.is_integer() && node.as_integer()->get() >= 0) return std::to_string(node.as_integer()->get());
  refuse(line_of(node), "found " + shown(node) + ", expected the name of a node");
  return std::nullopt;
}

std::optional<std::string> Reader::link_end(const toml::table& table, std::string_view key, Line line) {
  const toml::node* node = table.get(key);
  if (node != nullptr) return node_name(*node);
  refuse(line, "found a link without '" + std::string(key) + "', expected both 'from' and 'to'");
  return std::nullopt;
}

/// The id of a node, or -1 after a refusal.
NodeId Reader::known_node(const std::string& name, Line line) {
  const auto found = draft_.ids.find(name);
  if (found != draft_.ids.end()) return found->second;
  refuse(line, "found unknown node '" + name + "', expected the name of a node of this fabric");
  return -1;
}

void Reader::read_defaults(const toml::table& root) {
  const toml::node* node = root.get("defaults");
  if (node == nullptr) return;
  if (!node->is_table()) {
    refuse(line_of(*node), "defaults: found " + shown(*node) + ", expected a table headed [defaults]");
    return;
  }
  const toml::table& defaults = *node->as_table();
  only_keys(defaults, "in [defaults]", {"bandwidth", "latency"});
  default_bandwidth_ = bandwidth(defaults, "bandwidth", default_bandwidth_);
  default_latency_ = latency(defaults, default_latency_);
}

void Reader::read_fabric(const toml::table& root) {
  const toml::node* generator = root.get("generator");
  const std::vector<const toml::table*> nodes = tables(root, "node");
  const std::vector<const toml::table*> links = tables(root, "link");
  if (generator != nullptr && !(nodes.empty() && links.empty())) {
    const toml::table& other = nodes.empty() ? *links.front() : *nodes.front();
    refuse(line_of(other), std::string("found [[") + (nodes.empty() ? "link" : "node") +
                               "]] beside the generator of line " + std::to_string(line_of(*generator)) +
                               ", expected one or the other");
  }
  if (generator == nullptr && links.empty()) {
    refuse(1, "found neither a generator nor a [[link]], expected one of them");
  }
  if (failed()) return;
  if (generator != nullptr) {
    read_generated(*generator);
    return;
  }
  read_nodes(nodes);
  read_links(links, !nodes.empty());
}

void Reader::read_generated(const toml::node& specification) {
  const Line line = line_of(specification);
  if (!specification.is_string()) {
    refuse(line, "generator: found " + shown(specification) + ", expected a string such as \"torus:3x3x3\"");
    return;
  }
  const Result<Topology> topology = generate(specification.as_string()->get());
  if (!topology.ok()) {
    refuse(line, "generator: " + topology.error().message);
    return;
  }
  draft_.name = topology->name();
  for (const Node& node : topology->nodes()) add_node(node, line);
  for (Link link : topology->links()) {
    // Trunks stay as many times wider than a single link as the generator made them.
    link.bandwidth_bytes_per_second =
        link.bandwidth_bytes_per_second / default_bandwidth_bytes_per_second * default_bandwidth_;
    link.latency_seconds = default_latency_;
    add_link(link, line);
  }
}

void Reader::read_nodes(const std::vector<const toml::table*>& tables) {
  for (const toml::table* table : tables) read_node(*table);
  number_hosts_first();
}

void Reader::read_node(const toml::table& table) {
  only_keys(table, "in [[node]]", {"name", "host", "switch"});
  const toml::node* name = table.get("name");
  if (name == nullptr) {
    refuse(line_of(table), "found a [[node]] without a name, expected name = \"...\"");
    return;
  }
  Node node;
  node.name = node_name(*name).value_or("");
  node.is_switch = flag(table, "switch", false);
  if (const toml::node* host = table.get("host")) {
    if (node.is_switch) refuse(line_of(*host), "found a host name on a switch, expected one on hosts only");
    node.host = text(table, "host", "a host name").value_or("");
    const auto names = expand_hostlist(node.host);
    if (!names.ok() || names->front() != node.host) {
      refuse(line_of(*host), "host: found '" + node.host + "', expected one host name");
    }
    claim_host(node.host, line_of(*host));
  }
  add_node(std::move(node), line_of(*name));
}

void Reader::add_node(Node node, Line line) {
  const auto [place, is_new] = draft_.ids.emplace(node.name, static_cast<NodeId>(draft_.nodes.size()));
  if (!is_new) {
    refuse(line, "found a second node '" + node.name + "', expected names that differ (the first is in line " +
                     std::to_string(draft_.node_lines[at(place->second)]) + ")");
    return;
  }
  if (draft_.nodes.size() == at(max_nodes)) {
    refuse(line, "found one more node, expected at most " + std::to_string(max_nodes));
    return;
  }
  draft_.nodes.push_back(std::move(node));
  draft_.node_lines.push_back(line);
}

void Reader::number_hosts_first() {
  TopologyDraft ordered;
  ordered.name = draft_.name;
  for (const bool switches : {false, true}) {
    for (std::size_t i = 0; i < draft_.nodes.size(); ++i) {
      if (draft_.nodes[i].is_switch != switches) continue;
      ordered.ids.emplace(draft_.nodes[i].name, static_cast<NodeId>(ordered.nodes.size()));
      ordered.nodes.push_back(draft_.nodes[i]);
      ordered.node_lines.push_back(draft_.node_lines[i]);
    }
  }
  draft_ = std::move(ordered);
}

void Reader::read_links(const std::vector<const toml::table*>& tables, bool nodes_are_listed) {
  for (const toml::table* table : tables) {
    read_link(*table, nodes_are_listed);
    if (failed()) return;
  }
}

void Reader::read_link(const toml::table& table, bool nodes_are_listed) {
  only_keys(table, "in [[link]]", {"from", "to", "bandwidth", "latency", "oneway"});
  const Line line = line_of(table);
  const auto from = link_end(table, "from", line);
  const auto to = link_end(table, "to", line);
  const bool oneway = flag(table, "oneway", false);
  Link link;
  link.bandwidth_bytes_per_second = bandwidth(table, "bandwidth", default_bandwidth_);
  link.latency_seconds = latency(table, default_latency_);
  if (failed()) return;
  for (const std::string& end : {*from, *to}) {
    if (!nodes_are_listed && draft_.ids.find(end) == draft_.ids.end()) add_node({end, "", false}, line);
  }
  link.from = known_node(*from, line_of(*table.get("from")));
  link.to = known_node(*to, line_of(*table.get("to")));
  if (failed()) return;
  add_link(link, line);
  std::swap(link.from, link.to);
  if (!oneway) add_link(link, line);
}

void Reader::add_link(const Link& link, Line line) {
  if (failed()) return;
  const std::string ends = "'" + draft_.nodes[at(link.from)].name + "' to '" + draft_.nodes[at(link.to)].name + "'";
  if (link.from == link.to) {
    refuse(line, "found a link from " + ends + ", expected two different nodes");
    return;
  }
  const auto [place, is_new] = draft_.link_index.emplace(std::pair{link.from, link.to}, draft_.links.size());
  if (!is_new) {
    refuse(line, "found a second link from " + ends + ", expected at most one (the first is in line " +
                     std::to_string(draft_.link_lines[place->second]) + ")");
    return;
  }
  draft_.links.push_back(link);
  draft_.link_lines.push_back(line);
}

void Reader::read_hosts(const toml::table& root) {
  const toml::node* node = root.get("hosts");
  if (node == nullptr || failed()) return;
  if (!hosts_.empty()) {
    refuse(line_of(*node), "found hosts beside the host of a [[node]] in line " +
                               std::to_string(hosts_.begin()->second) + ", expected one or the other");
    return;
  }
  std::vector<std::pair<std::string, Line>> hosts;
  if (const toml::array* list = node->as_array()) {
    for (const toml::node& element : *list) read_host_list(element, hosts);
  } else {
    read_host_list(*node, hosts);
  }
  if (!failed()) assign_hosts(hosts, line_of(*node));
}

void Reader::read_host_list(const toml::node& node, std::vector<std::pair<std::string, Line>>& hosts) {
  if (!node.is_string()) {
    refuse(line_of(node), "hosts: found " + shown(node) + ", expected a host list such as \"c[101-103]-[001-009]\"");
    return;
  }
  const auto names = expand_hostlist(node.as_string()->get());
  if (!names.ok()) {
    refuse(line_of(node), "hosts: " + names.error().message);
    return;
  }
  for (const std::string& name : *names) hosts.emplace_back(name, line_of(node));
}

/// Hosts keep their nodes when other nodes are removed: the list counts the whole fabric.
void Reader::assign_hosts(const std::vector<std::pair<std::string, Line>>& hosts, Line line) {
  const auto host_count = static_cast<std::size_t>(
      std::count_if(draft_.nodes.begin(), draft_.nodes.end(), [](const Node& node) { return !node.is_switch; }));
  if (hosts.size() != host_count) {
    refuse(line, "hosts: found " + std::to_string(hosts.size()) + " host names, expected " +
                     std::to_string(host_count) + ", one for every host of the fabric before any are removed");
    return;
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    claim_host(hosts[i].first, hosts[i].second);
    draft_.nodes[i].host = hosts[i].first;
  }
}

void Reader::claim_host(const std::string& host, Line line) {
  const auto [place, is_new] = hosts_.emplace(host, line);
  if (is_new) return;
  refuse(line, "found host '" + host + "' a second time, expected every host once (the first is in line " +
                   std::to_string(place->second) + ")");
}

void Reader::read_removed_nodes(const toml::table& root) {
  const toml::node* node = root.get("removed_nodes");
  if (node == nullptr || failed()) return;
  if (!node->is_array()) {
    refuse(line_of(*node), "removed_nodes: found " + shown(*node) + ", expected an array of node names");
    return;
  }
  for (const toml::node& element : *node->as_array()) {
    const auto name = node_name(element);
    const NodeId id = name ? known_node(*name, line_of(element)) : -1;
    if (failed()) return;
    if (draft_.node_removed[at(id)]) {
      refuse(line_of(element), "found removed node '" + *name + "' a second time, expected it once");
    }
    draft_.node_removed[at(id)] = true;
  }
}

void Reader::read_removed_links(const toml::table& root) {
  const toml::node* node = root.get("removed_links");
  if (node == nullptr || failed()) return;
  if (!node->is_array()) {
    refuse(line_of(*node), "removed_links: found " + shown(*node) + ", expected an array such as [[\"0\", \"1\"]]");
    return;
  }
  for (const toml::node& element : *node->as_array()) {
    read_removed_link(element);
    if (failed()) return;
  }
}

void Reader::read_removed_link(const toml::node& node) {
  const Line line = line_of(node);
  std::optional<std::string> from;
  std::optional<std::string> to;
  bool oneway = false;
  if (const toml::array* pair = node.as_array(); pair != nullptr && pair->size() == 2) {
    from = node_name((*pair)[0]);
    to = node_name((*pair)[1]);
  } else if (const toml::table* table = node.as_table()) {
    only_keys(*table, "in removed_links", {"from", "to", "oneway"});
    from = link_end(*table, "from", line);
    to = link_end(*table, "to", line);
    oneway = flag(*table, "oneway", false);
  } else {
    refuse(line, "removed_links: found " + shown(node) + R"(, expected ["0", "1"] or {from = "0", to = "1"})");
  }
  if (failed()) return;
  remove_links(known_node(*from, line), known_node(*to, line), oneway, line);
}

/// A cable goes with all its links, of which there may be one only; at least one has to be there still.
void Reader::remove_links(NodeId from, NodeId to, bool oneway, Line line) {
  if (failed()) return;
  bool removed = false;
  for (const auto& ends : {std::pair{from, to}, std::pair{to, from}}) {
    if (oneway && ends.first != from) continue;
    const auto found = draft_.link_index.find(ends);
    if (found == draft_.link_index.end() || draft_.link_removed[found->second]) continue;
    draft_.link_removed[found->second] = true;
    removed = true;
  }
  if (!removed) {
    refuse(line, "removed_links: found no link from '" + draft_.nodes[at(from)].name + "' to '" +
                     draft_.nodes[at(to)].name + "' to remove, expected one that is there, named once");
  }
}

/// Nodes and links without the removed ones; nodes keep their names and order and are numbered anew.
std::pair<std::vector<Node>, std::vector<Link>> Reader::remaining() const {
  std::pair<std::vector<Node>, std::vector<Link>> result;
  std::vector<NodeId> renumbered(draft_.nodes.size(), -1);
  for (std::size_t i = 0; i < draft_.nodes.size(); ++i) {
    if (draft_.node_removed[i]) continue;
    renumbered[i] = static_cast<NodeId>(result.first.size());
    result.first.push_back(draft_.nodes[i]);
  }
  for (std::size_t i = 0; i < draft_.links.size(); ++i) {
    Link link = draft_.links[i];
    link.from = renumbered[at(link.from)];
    link.to = renumbered[at(link.to)];
    if (!draft_.link_removed[i] && link.from >= 0 && link.to >= 0) result.second.push_back(link);
  }
  return result;
}

/// Where a fabric came apart: at its removals, or else at the node that is cut off.
Line Reader::line_to_blame(const toml::table& root, const Topology& topology, bool whole) const {
  for (const std::string_view key : {"removed_links", "removed_nodes"}) {
    if (!whole && root.get(key) != nullptr) return line_of(*root.get(key));
  }
  const auto pair = unreachable_pair(topology);
  return draft_.node_lines[pair ? at(std::max(pair->first, pair->second)) : 0];
}

Result<Topology> Reader::finish(const toml::table& root) {
  auto [nodes, links] = remaining();
  const bool whole = nodes.size() == draft_.nodes.size() && links.size() == draft_.links.size();
  // A name such as "torus:3x3" promises the whole torus to whoever reads it.
  if (!whole && root.get("name") == nullptr) draft_.name += " with removals";
  Result<Topology> topology = Topology::make(draft_.name, std::move(nodes), std::move(links));
  if (!topology.ok()) return Error{file_ + ":1: " + topology.error().message};
  topology->set_nics_forward(flag(root, "nics_forward", topology->nics_forward()));
  topology->set_injection_bytes_per_second(bandwidth(root, "injection_bandwidth", 0));
  if (const Status status = check_connected(*topology); !status) {
    refuse(line_to_blame(root, *topology, whole), status.error().message);
  }
  if (failed()) return *error_;
  return topology;
}

Result<Topology> Reader::read(const toml::table& root) {
  only_keys(root, "at the top level",
            {"name", "generator", "defaults", "node", "link", "hosts", "injection_bandwidth", "nics_forward",
             "removed_nodes", "removed_links"});
  draft_.name = std::filesystem::path(file_).stem().string();
  read_defaults(root);
  if (!failed()) read_fabric(root);
  if (const auto name = text(root, "name", "a name of at least one letter")) draft_.name = *name;
  read_hosts(root);
  draft_.node_removed.assign(draft_.nodes.size(), false);
  draft_.link_removed.assign(draft_.links.size(), false);
  read_removed_links(root);
  read_removed_nodes(root);
  if (failed()) return *error_;
  return finish(root);
}

bool names_a_family(std::string_view text) {
  const auto parts = split_specification(text);
  return parts && std::any_of(generators().begin(), generators().end(),
                              [&](const Generator& generator) { return generator.name == parts->family; });
}

/// Whether a text that names no file was more likely meant as a specification.
bool looks_like_specification(std::string_view text) {
  return text.find('/') == std::string_view::npos && text.find(".toml") == std::string_view::npos;
}

}  // namespace

Result<Topology> read_topology(std::string_view text, const std::string& file) {
  const Result<toml::table> table = read_toml(text, file);
  return table ? Reader(file).read(*table) : table.error();
}

Result<Topology> load_topology(const std::string& specification_or_path) {
  if (names_a_family(specification_or_path)) return generate(specification_or_path);
  std::error_code ignored;
  if (!std::filesystem::exists(specification_or_path, ignored) && looks_like_specification(specification_or_path)) {
    return Error{generate(specification_or_path).error().message + ", or a topology file that exists"};
  }
  const Result<std::string> text = read_text_file(specification_or_path, most_text_bytes);
  if (text) return read_topology(*text, specification_or_path);
  return Error{"found no topology file '" + specification_or_path + "' (" + text.error().message +
               "), expected one, or a specification such as torus:3x3x3"};
}

}  // namespace libcoll::topology
