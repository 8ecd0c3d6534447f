// Ways around a broken link, from host to host: which neighbours pass a message on.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::transport {

/// Hosts that a message passes, both ends included.
using HostPath = std::vector<std::uint16_t>;

/// For every host the hosts it has a link to or from, or reaches through switches alone; ascending.
std::vector<std::vector<topology::NodeId>> neighbouring_hosts(const topology::Topology& topology);

/// The same without switches: the hosts it has a link to or from.
std::vector<std::vector<topology::NodeId>> linked_hosts(const topology::Topology& topology);

/// Cheapest paths in the graph of neighbours, where hops that disappointed cost more. A hop without a link costs more
/// as well: the fabric's own routes take it over several links, which may be others in each direction, and one of them
/// may be what is broken.
class Detours {
 public:
  /// `neighbours` is symmetric. `linked` as linked_hosts(); empty: all neighbours have links.
  explicit Detours(std::vector<std::vector<topology::NodeId>> neighbours,
                   const std::vector<std::vector<topology::NodeId>>& linked = {});

  [[nodiscard]] topology::NodeId hosts() const { return static_cast<topology::NodeId>(neighbours_.size()); }
  [[nodiscard]] std::span<const topology::NodeId> neighbours(topology::NodeId host) const {
    return neighbours_[static_cast<std::size_t>(host)];
  }
  /// The cheapest path, among equal ones that through the lowest numbers; `indirect`: not the single hop. Empty when
  /// there is none.
  [[nodiscard]] HostPath find(topology::NodeId from, topology::NodeId to, bool indirect) const;
  /// The same after so many paths that disappointed. Costs vary at random then: a path that shares hops with all of
  /// these must get its turn, too.
  [[nodiscard]] HostPath search(topology::NodeId from, topology::NodeId to, bool indirect, std::int64_t in_vain);
  /// Nothing came back over the path: every hop of it becomes dearer, in both directions.
  void blame(const HostPath& path);
  /// Something came over it: its hops cost what they did at first; those without a link in this direction only.
  void trust(const HostPath& path);
  /// There is no such hop, in either direction.
  void exclude(topology::NodeId a, topology::NodeId b);

 private:
  struct Cost {
    std::int64_t usual = 0;
    std::int64_t now = 0;
  };
  using Weights = std::vector<std::vector<std::int64_t>>;
  [[nodiscard]] HostPath cheapest(topology::NodeId from, topology::NodeId to, bool indirect,
                                  const Weights& weights) const;
  [[nodiscard]] Cost* cost_of(topology::NodeId from, topology::NodeId to);

  std::vector<std::vector<topology::NodeId>> neighbours_;
  std::vector<std::vector<Cost>> costs_;  ///< as neighbours_
  std::minstd_rand random_;               ///< the same in every run
};

}  // namespace libcoll::transport
