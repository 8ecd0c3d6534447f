#include "planner/exchange/named_graph.h"

#include <algorithm>
#include <cstddef>

#include "planner/base/index.h"
#include "planner/topology/generators.h"

namespace libcoll::exchange {

using namespace topology;

bool NamedGraph::add_node(const Node& node) {
  if (!places_.emplace(node.name, static_cast<NodeId>(nodes_.size())).second) return false;
  nodes_.push_back(node);
  return true;
}

void NamedGraph::add_link(std::string_view from, std::string_view to, std::int64_t bandwidth_bytes_per_second,
                          double latency_seconds) {
  links_.push_back({places_.find(from)->second, places_.find(to)->second, bandwidth_bytes_per_second, latency_seconds});
}

void NamedGraph::add_cable(std::string_view a, std::string_view b, std::int64_t bandwidth_bytes_per_second) {
  add_link(a, b, bandwidth_bytes_per_second);
  add_link(b, a, bandwidth_bytes_per_second);
}

Result<Topology> NamedGraph::topology(const std::string& name, const std::string& file) const {
  std::vector<NodeId> number(nodes_.size());
  std::vector<Node> ordered;
  for (const bool switches : {false, true}) {
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      if (nodes_[place].is_switch != switches) continue;
      number[place] = static_cast<NodeId>(ordered.size());
      ordered.push_back(nodes_[place]);
    }
  }
  const auto hosts = std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.is_switch; });
  if (hosts < 2) return Error{file + ": found " + std::to_string(hosts) + " hosts, expected two at least"};
  if (nodes_.size() > at(max_nodes)) {
    return Error{file + ": found " + std::to_string(nodes_.size()) + " nodes, expected at most " +
                 std::to_string(max_nodes)};
  }
  std::vector<Link> links = links_;
  for (Link& link : links) {
    link.from = number[at(link.from)];
    link.to = number[at(link.to)];
  }
  Result<Topology> made = Topology::make(name, std::move(ordered), std::move(links));
  if (!made) return Error{file + ": " + made.error().message};
  return made;
}

std::string file_stem(const std::string& file) {
  std::string text = file.substr(file.find_last_of('/') + 1);
  text = text.substr(0, text.find_last_of('.'));
  return text.empty() ? "fabric" : text;
}

}  // namespace libcoll::exchange
