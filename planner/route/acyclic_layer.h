// One virtual lane's channel-dependency graph, kept acyclic while routes are added (Pearce and Kelly 2006).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::route {

/// By link: its place among the links that leave the same node.
std::vector<std::int32_t> places_of_links(const topology::Topology& topology);

/// Routes share a layer when no cycle of links waits for each other (Dally and Seitz 1987). The links are kept in an
/// order that every dependency follows, so that most routes are judged without a search. What a dependency was found to
/// be stays: one that is there helps every later route, one that would close a cycle will always do so, as nothing is
/// ever taken away.
class AcyclicLayer {
 public:
  /// `places` as places_of_links makes them; both arguments have to outlive this.
  AcyclicLayer(const topology::Topology& topology, const std::vector<std::int32_t>& places);

  /// Adds the dependencies of a route along `links` unless they would close a cycle; says whether it did.
  /// Precondition: the links follow each other and none is crossed twice.
  bool try_add(std::span<const topology::LinkId> links) { return try_add_all(std::array{links}); }
  /// The same for two routes, of which both are added or none.
  bool try_add(std::span<const topology::LinkId> first, std::span<const topology::LinkId> second) {
    return try_add_all(std::array{first, second});
  }

  /// By link: its place in an order that every dependency so far follows.
  [[nodiscard]] std::span<const std::int32_t> order() const { return order_; }

 private:
  enum class Dependency : std::uint8_t { unknown, present, closes_cycle };

  bool try_add_all(std::span<const std::span<const topology::LinkId>> routes);
  [[nodiscard]] Dependency known(topology::LinkId before, topology::LinkId after) const;
  void remember(topology::LinkId before, topology::LinkId after, Dependency what);
  bool insert(topology::LinkId before, topology::LinkId after);
  bool reaches(topology::LinkId from, topology::LinkId to);
  void collect_before(topology::LinkId link, std::int32_t least);
  void reorder();

  const topology::Topology& topology_;
  const std::vector<std::int32_t>& places_;
  std::vector<std::vector<Dependency>> known_;  ///< by link and place of the next; empty: all unknown
  std::vector<std::vector<topology::LinkId>> after_;
  std::vector<std::vector<topology::LinkId>> before_;
  std::vector<std::int32_t> order_;  ///< by link: all different, ascending along dependencies
  std::vector<std::int64_t> seen_;   ///< number of the last search that met the link
  std::int64_t search_ = 0;
  std::vector<topology::LinkId> forward_;   ///< met by the last search from the later link
  std::vector<topology::LinkId> backward_;  ///< met by the last search from the earlier link
};

}  // namespace libcoll::route
