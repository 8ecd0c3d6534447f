// The fabric as a directed graph: nodes, links, bandwidths. Knows nothing of schedules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"

namespace libcoll::topology {

using NodeId = std::int32_t;
using LinkId = std::int32_t;

inline constexpr std::int64_t default_bandwidth_bytes_per_second = 3'125'000'000;  // 25 Gbps, paper 003 §5.1
inline constexpr double default_latency_seconds = 1e-6;
/// What files and specifications may ask for: the links of 32768 nodes add up to less than 2^63.
inline constexpr std::int64_t max_bandwidth_bytes_per_second = 100'000'000'000'000;

/// A host of the fabric (which is also a router), or a switch.
struct Node {
  std::string name;        ///< label in the user's file; the decimal id for generated topologies
  std::string host;        ///< host name as the MPI processor name gives it; empty when unknown
  bool is_switch = false;  ///< forwards, neither sends nor receives
  friend bool operator==(const Node&, const Node&) = default;
};

/// One directed edge from→to. A cable is two links.
struct Link {
  NodeId from = 0;
  NodeId to = 0;
  std::int64_t bandwidth_bytes_per_second = default_bandwidth_bytes_per_second;
  double latency_seconds = default_latency_seconds;
  friend bool operator==(const Link&, const Link&) = default;
};

/// A simple digraph (no self-links, at most one link u→v). Hosts have the ids 0..host_count()-1,
/// switches the ids after them.
class Topology {
 public:
  Topology() = default;
  /// Refuses self-links, doubled links, ids out of range, bandwidths <= 0, latencies that are negative or not
  /// finite, and switches numbered before hosts. Connectivity is not asked for here (see facts.h).
  static Result<Topology> make(std::string name, std::vector<Node> nodes, std::vector<Link> links);

  [[nodiscard]] const std::string& name() const { return name_; }  ///< "torus:3x3x3" or the file's name key
  [[nodiscard]] std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
  [[nodiscard]] std::int32_t host_count() const { return host_count_; }  ///< N: the nodes that send and receive
  [[nodiscard]] std::int32_t link_count() const { return static_cast<std::int32_t>(links_.size()); }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] std::span<const LinkId> out_links(NodeId id) const { return out_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const LinkId> in_links(NodeId id) const { return in_[static_cast<std::size_t>(id)]; }
  /// The link from→to, or -1.
  [[nodiscard]] LinkId find_link(NodeId from, NodeId to) const;

  /// b: the smallest link bandwidth; capacities are multiples of it.
  [[nodiscard]] std::int64_t unit_bandwidth_bytes_per_second() const { return unit_bandwidth_; }
  /// cap_e = bandwidth of the link / b, exactly.
  [[nodiscard]] Rational capacity(LinkId id) const;

  [[nodiscard]] bool nics_forward() const { return nics_forward_; }  ///< NICs cut through: path-based schedules pay
  void set_nics_forward(bool value) { nics_forward_ = value; }
  /// Injection bandwidth of a host, 0 when it is not a bottleneck.
  [[nodiscard]] std::int64_t injection_bytes_per_second() const { return injection_; }
  void set_injection_bytes_per_second(std::int64_t value) { injection_ = value; }
  void set_name(std::string name) { name_ = std::move(name); }

  friend bool operator==(const Topology&, const Topology&) = default;
  friend Topology transpose(const Topology& topology);

 private:
  void index_links();  ///< fills what follows from links_: in_, out_ and the unit bandwidth

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::vector<LinkId>> out_;
  std::vector<std::vector<LinkId>> in_;
  std::int32_t host_count_ = 0;
  std::int64_t unit_bandwidth_ = default_bandwidth_bytes_per_second;
  std::int64_t injection_ = 0;
  bool nics_forward_ = true;
};

/// The graph with every link turned around; link k of the result is link k of the argument reversed. Name,
/// nodes and settings stay, so that the transpose of the transpose equals the argument.
Topology transpose(const Topology& topology);

}  // namespace libcoll::topology
