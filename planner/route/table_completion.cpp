#include "planner/route/table_completion.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::route {

using namespace topology;

namespace {

constexpr std::int32_t beyond_all = std::numeric_limits<std::int32_t>::max();

/// Nodes that have a path, and the place of the link by which it goes on from them: links to them have to come before.
class Resolved {
 public:
  Resolved(const Topology& topology, NodeId destination) : before_(at(topology.node_count()), unresolved) {
    before_[at(destination)] = beyond_all;
  }
  [[nodiscard]] bool contains(NodeId node) const { return before_[at(node)] != unresolved; }
  [[nodiscard]] bool allows(NodeId node, std::int32_t place) const {
    return contains(node) && place < before_[at(node)];
  }
  [[nodiscard]] std::int32_t place(NodeId node) const { return before_[at(node)]; }
  void add(NodeId node, std::int32_t place) { before_[at(node)] = place; }

 private:
  static constexpr std::int32_t unresolved = std::numeric_limits<std::int32_t>::min();
  std::vector<std::int32_t> before_;
};

}  // namespace

bool TableCompletion::passes(NodeId node, NodeId destination) const {
  return node == destination || forwards_[at(node)];
}

/// Breadth first; of links equally near, the one of the latest place, which leaves most to those behind it.
std::vector<LinkId> TableCompletion::shortest(NodeId destination, const std::vector<LinkId>& given,
                                              std::span<const std::int32_t> order) const {
  std::vector<LinkId> next = given;
  Resolved resolved(topology_, destination);
  std::vector<std::vector<NodeId>> at_distance{{destination}};
  const auto reach = [&](std::size_t hops, NodeId node) {
    if (at_distance.size() <= hops) at_distance.resize(hops + 1);
    at_distance[hops].push_back(node);
  };
  std::vector<std::int32_t> distance(at(topology_.node_count()), -1);
  distance[at(destination)] = 0;
  for (std::size_t hops = 0; hops < at_distance.size(); ++hops) {
    for (std::size_t taken = 0; taken < at_distance[hops].size(); ++taken) {
      const NodeId node = at_distance[hops][taken];
      if (!passes(node, destination)) continue;
      for (const LinkId link : topology_.in_links(node)) {
        const NodeId from = topology_.link(link).from;
        const std::int32_t place = order[at(link)];
        if (from == destination || !resolved.allows(node, place)) continue;
        if (given[at(from)] != no_entry) {
          if (given[at(from)] != link || resolved.contains(from)) continue;
        } else if (resolved.contains(from) && (at(distance[at(from)]) != hops + 1 || place <= resolved.place(from))) {
          continue;
        }
        if (!resolved.contains(from)) reach(hops + 1, from);
        next[at(from)] = link;
        distance[at(from)] = static_cast<std::int32_t>(hops) + 1;
        resolved.add(from, place);
      }
    }
  }
  return next;
}

/// By every node the link of the latest place from which an ascending path leads on: whoever has one has it so.
std::vector<LinkId> TableCompletion::latest(NodeId destination, const std::vector<LinkId>& given,
                                            std::span<const std::int32_t> order) const {
  std::vector<LinkId> next = given;
  Resolved resolved(topology_, destination);
  std::vector<LinkId> links(at(topology_.link_count()));
  std::iota(links.begin(), links.end(), 0);
  std::stable_sort(links.begin(), links.end(), [&](LinkId a, LinkId b) { return order[at(a)] > order[at(b)]; });
  for (const LinkId id : links) {
    const Link& link = topology_.link(id);
    if (link.from == destination || resolved.contains(link.from) || !passes(link.to, destination)) continue;
    if (!resolved.allows(link.to, order[at(id)])) continue;
    if (given[at(link.from)] != no_entry && given[at(link.from)] != id) continue;
    next[at(link.from)] = id;
    resolved.add(link.from, order[at(id)]);
  }
  return next;
}

std::vector<LinkId> TableCompletion::fill(NodeId destination, std::span<const std::int32_t> order) const {
  const std::vector<LinkId> none(at(topology_.node_count()), no_entry);
  std::optional<std::vector<LinkId>> whole = complete(destination, none, order);
  return whole ? std::move(*whole) : latest(destination, none, order);
}

std::optional<std::vector<LinkId>> TableCompletion::complete(NodeId destination, std::vector<LinkId> given,
                                                             std::span<const std::int32_t> order) const {
  const auto open = [&](const std::vector<LinkId>& next) {
    for (NodeId host = 0; host < topology_.host_count(); ++host) {
      if (host != destination && next[at(host)] == no_entry) return host;
    }
    return NodeId{-1};
  };
  std::vector<LinkId> next = shortest(destination, given, order);
  if (open(next) < 0) return next;
  const std::vector<LinkId> whole = latest(destination, given, order);
  if (open(whole) >= 0) return std::nullopt;
  // Short ways of some keep others from having any: those get theirs first.
  for (NodeId node = open(next); node >= 0; node = open(next)) {
    for (; node != destination; node = topology_.link(given[at(node)]).to) given[at(node)] = whole[at(node)];
    next = shortest(destination, given, order);
  }
  return next;
}

}  // namespace libcoll::route
