// The loads of BFB alone, fast: what its LP (1) comes to per step (paper 000 §6.1), without the flows behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::bfb {

/// For every node the nodes it has a link from, in one array.
class InNeighbours {
 public:
  explicit InNeighbours(const topology::Topology& topology);
  /// The generalized Kautz graph x → −d·x − a mod n, a = 1..d, without self-links. Preconditions: d < n.
  static InNeighbours generalized_kautz(std::int32_t n, std::int32_t d);

  [[nodiscard]] std::int32_t node_count() const { return static_cast<std::int32_t>(begin_.size()) - 1; }
  [[nodiscard]] std::span<const topology::NodeId> of(topology::NodeId node) const {
    const auto first = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node)]);
    const auto last = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node) + 1]);
    return std::span(nodes_).subspan(first, last - first);
  }
  [[nodiscard]] std::int32_t degree_max() const;

 private:
  InNeighbours() = default;
  std::vector<std::int32_t> begin_;
  std::vector<topology::NodeId> nodes_;
};

/// Most in-links a node may have in the functions below: they look at every set of links.
inline constexpr std::int32_t max_balanced_links = 12;

/// The least possible largest load when each source is spread over the links of its mask (bit i: link i): Theorem 19's
/// max over sets S of links of |{masks within S}|/|S|. Preconditions: every mask has a bit below `links`, links from 1
/// to max_balanced_links.
Rational balanced_load(std::span<const std::uint32_t> masks, std::int32_t links);

/// max_u U_{u,t} of LP (1) for t = 1..diameter in shards per link, links all alike, the maximum over the nodes below
/// `evaluated` only (for graphs whose symmetry makes these enough). Empty when some node cannot reach another. The same
/// on any number of threads. Precondition: degree_max() <= max_balanced_links.
std::vector<Rational> bfb_step_loads(const InNeighbours& graph, topology::NodeId evaluated, std::int32_t threads = 1);

/// The same by one breadth-first search from each of these nodes and its in-neighbours: for few nodes that stand for
/// all of their orbits. Precondition as above.
std::vector<Rational> bfb_step_loads(const InNeighbours& graph, std::span<const topology::NodeId> representatives);

/// The same for any topology BFB can plan, in shards per unit capacity; takes the general way of bfb_loads() where
/// bandwidths differ, degrees are large, or sets of all nodes for every node would not fit. With `symmetry` one node
/// for each orbit of the topology's family is looked at where that is quicker (family_automorphisms; each was checked);
/// `images`, when not null, receives the nodes that one stands for. Errors as for bfb_loads().
Result<std::vector<Rational>> bfb_step_loads(const topology::Topology& topology, bool symmetry = true,
                                             std::int64_t* images = nullptr, std::int32_t threads = 1);

}  // namespace libcoll::broadcast::bfb
