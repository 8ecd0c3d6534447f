// Ways around a broken link, from host to host: which neighbours pass a message on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll {

/// Hosts that a message passes, both ends included.
using HostPath = std::vector<std::uint16_t>;

/// For every host the hosts it has a link to or from, or reaches through switches alone; ascending.
std::vector<std::vector<NodeId>> neighbouring_hosts(const Topology& topology);

/// Cheapest paths in the graph of neighbours, where hops that disappointed cost more.
class Detours {
 public:
  /// `neighbours` is symmetric.
  explicit Detours(std::vector<std::vector<NodeId>> neighbours);

  [[nodiscard]] NodeId hosts() const { return static_cast<NodeId>(neighbours_.size()); }
  [[nodiscard]] std::span<const NodeId> neighbours(NodeId host) const {
    return neighbours_[static_cast<std::size_t>(host)];
  }
  /// The cheapest path, among equal ones that through the lowest numbers; `indirect`: not the single hop. Empty when
  /// there is none.
  [[nodiscard]] HostPath find(NodeId from, NodeId to, bool indirect) const;
  /// Nothing came back over the path: every hop of it becomes dearer, in both directions.
  void blame(const HostPath& path);
  /// Something did: its hops cost what they did at first.
  void trust(const HostPath& path);
  /// There is no such hop, in either direction.
  void exclude(NodeId a, NodeId b);

 private:
  template <class Change>
  void for_hops(const HostPath& path, Change change);

  std::vector<std::vector<NodeId>> neighbours_;
  std::vector<std::vector<std::int64_t>> costs_;  ///< as neighbours_
};

}  // namespace libcoll
