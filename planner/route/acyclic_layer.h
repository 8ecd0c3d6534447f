// One virtual lane's channel-dependency graph, kept acyclic while routes are added (Pearce and Kelly 2006).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll {

/// By link: its place among the links that leave the same node.
std::vector<std::int32_t> places_of_links(const Topology& topology);

/// Routes share a layer when no cycle of links waits for each other (Dally and Seitz 1987). The links are kept in an
/// order that every dependency follows, so that most routes are judged without a search. What a dependency was found to
/// be stays: one that is there helps every later route, one that would close a cycle will always do so, as nothing is
/// ever taken away.
class AcyclicLayer {
 public:
  /// `places` as places_of_links makes them; both arguments have to outlive this.
  AcyclicLayer(const Topology& topology, const std::vector<std::int32_t>& places);

  /// Adds the dependencies of a route along `links` unless they would close a cycle; says whether it did.
  /// Precondition: the links follow each other and none is crossed twice.
  bool try_add(std::span<const LinkId> links) { return try_add_all(std::array{links}); }
  /// The same for two routes, of which both are added or none.
  bool try_add(std::span<const LinkId> first, std::span<const LinkId> second) {
    return try_add_all(std::array{first, second});
  }

  /// By link: its place in an order that every dependency so far follows.
  [[nodiscard]] std::span<const std::int32_t> order() const { return order_; }

 private:
  enum class Dependency : std::uint8_t { unknown, present, closes_cycle };

  bool try_add_all(std::span<const std::span<const LinkId>> routes);
  [[nodiscard]] Dependency known(LinkId before, LinkId after) const;
  void remember(LinkId before, LinkId after, Dependency what);
  bool insert(LinkId before, LinkId after);
  bool reaches(LinkId from, LinkId to);
  void collect_before(LinkId link, std::int32_t least);
  void reorder();

  const Topology& topology_;
  const std::vector<std::int32_t>& places_;
  std::vector<std::vector<Dependency>> known_;  ///< by link and place of the next; empty: all unknown
  std::vector<std::vector<LinkId>> after_;
  std::vector<std::vector<LinkId>> before_;
  std::vector<std::int32_t> order_;  ///< by link: all different, ascending along dependencies
  std::vector<std::int64_t> seen_;   ///< number of the last search that met the link
  std::int64_t search_ = 0;
  std::vector<LinkId> forward_;   ///< met by the last search from the later link
  std::vector<LinkId> backward_;  ///< met by the last search from the earlier link
};

}  // namespace libcoll
