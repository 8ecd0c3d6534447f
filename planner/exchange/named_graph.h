// A topology in the making: nodes and links by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// Collects what a file says in any order. Hosts come before switches in the topology, each in the order they were
/// added.
class NamedGraph {
 public:
  /// False where there is one of that name.
  bool add_node(const topology::Node& node);
  [[nodiscard]] bool contains(std::string_view name) const { return places_.contains(name); }

  /// A link between nodes that are there.
  void add_link(std::string_view from, std::string_view to, std::int64_t bandwidth_bytes_per_second,
                double latency_seconds = topology::default_latency_seconds);
  /// Both ways.
  void add_cable(std::string_view a, std::string_view b,
                 std::int64_t bandwidth_bytes_per_second = topology::default_bandwidth_bytes_per_second);

  /// Errors start with "FILE: ": fewer than two hosts, more nodes than max_nodes, links that Topology::make refuses.
  [[nodiscard]] Result<topology::Topology> topology(const std::string& name, const std::string& file) const;

 private:
  std::vector<topology::Node> nodes_;
  std::vector<topology::Link> links_;  ///< ends are places in nodes_
  std::map<std::string, topology::NodeId, std::less<>> places_;
};

/// A file's name without folder and ending.
std::string file_stem(const std::string& file);

}  // namespace libcoll::exchange
