#include "planner/route/route_classes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace libcoll {
namespace {

/// The forwarding decisions for one key (pair or destination): which of its paths exclude one another.
class ConflictGraph {
 public:
  /// `paths` are different from each other. Two of them conflict where they leave one node by different links.
  explicit ConflictGraph(const Topology& topology, const std::vector<const Route*>& paths)
      : adjacent_(paths.size(), std::vector<bool>(paths.size(), false)), neighbours_(paths.size()) {
    std::map<NodeId, std::map<LinkId, std::vector<std::size_t>>> leaving;
    for (std::size_t path = 0; path < paths.size(); ++path) {
      for (const LinkId link : paths[path]->links) leaving[topology.link(link).from][link].push_back(path);
    }
    for (const auto& [node, by_link] : leaving) {
      for (auto one = by_link.begin(); one != by_link.end(); ++one) {
        for (auto other = std::next(one); other != by_link.end(); ++other) separate(one->second, other->second);
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return neighbours_.size(); }
  [[nodiscard]] const std::vector<std::size_t>& neighbours(std::size_t path) const { return neighbours_[path]; }

 private:
  void separate(const std::vector<std::size_t>& some, const std::vector<std::size_t>& others) {
    for (const std::size_t a : some) {
      for (const std::size_t b : others) {
        if (adjacent_[a][b]) continue;
        adjacent_[a][b] = adjacent_[b][a] = true;
        neighbours_[a].push_back(b);
        neighbours_[b].push_back(a);
      }
    }
  }

  std::vector<std::vector<bool>> adjacent_;
  std::vector<std::vector<std::size_t>> neighbours_;
};

/// A vertex yet to be coloured.
struct Vertex {
  std::vector<bool> excluded{false};  ///< colours of its neighbours; the last entry is false
  std::size_t saturation = 0;         ///< how many different ones
  std::int32_t colour = 0;            ///< 0: none yet

  void exclude(std::int32_t taken) {
    const auto entry = static_cast<std::size_t>(taken) - 1;
    if (entry + 1 >= excluded.size()) excluded.resize(entry + 2, false);
    if (excluded[entry]) return;
    excluded[entry] = true;
    ++saturation;
  }
  [[nodiscard]] std::int32_t least_allowed() const {
    return 1 + static_cast<std::int32_t>(std::find(excluded.begin(), excluded.end(), false) - excluded.begin());
  }
};

/// Colours 1, 2, …: always the vertex next that sees the most colours, then the one with the most neighbours.
std::vector<std::int32_t> dsatur(const ConflictGraph& graph) {
  std::vector<Vertex> vertices(graph.size());
  std::vector<std::size_t> open;
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (graph.neighbours(v).empty()) {
      vertices[v].colour = 1;
    } else {
      open.push_back(v);
    }
  }
  const auto urgency = [&](std::size_t v) { return std::pair(vertices[v].saturation, graph.neighbours(v).size()); };
  while (!open.empty()) {
    const auto next = std::max_element(open.begin(), open.end(),
                                       [&](std::size_t a, std::size_t b) { return urgency(a) < urgency(b); });
    const std::int32_t colour = vertices[*next].least_allowed();
    vertices[*next].colour = colour;
    for (const std::size_t v : graph.neighbours(*next)) vertices[v].exclude(colour);
    open.erase(next);
  }
  std::vector<std::int32_t> colours;
  colours.reserve(vertices.size());
  for (const Vertex& vertex : vertices) colours.push_back(vertex.colour);
  return colours;
}

/// Routes of one forwarding key; equal paths of a pair share a place in `paths`.
struct Group {
  std::vector<const Route*> paths;
  std::map<std::pair<NodeId, std::vector<LinkId>>, std::size_t> place;  ///< by source and links
  std::vector<std::pair<Route*, std::size_t>> members;

  void add(Route& route) {
    const auto [found, is_new] = place.emplace(std::pair(route.source, route.links), paths.size());
    if (is_new) paths.push_back(&route);
    members.emplace_back(&route, found->second);
  }
};

/// Classes of the routes of one key, and how many there are.
std::int32_t colour(const Topology& topology, std::span<Route* const> routes) {
  if (routes.size() == 1) return routes.front()->route_class = 1;
  Group group;
  for (Route* route : routes) group.add(*route);
  const std::vector<std::int32_t> colours = dsatur(ConflictGraph(topology, group.paths));
  for (const auto& [route, path] : group.members) route->route_class = colours[path];
  return *std::max_element(colours.begin(), colours.end());
}

}  // namespace

std::int32_t assign_route_classes(const Topology& topology, std::span<Route> routes, Forwarding forwarding) {
  const auto key = [&](const Route* route) {
    return std::pair(route->destination, forwarding == Forwarding::by_source ? route->source : 0);
  };
  std::vector<Route*> sorted;
  sorted.reserve(routes.size());
  for (Route& route : routes) sorted.push_back(&route);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Route* a, const Route* b) { return key(a) < key(b); });
  std::int32_t classes = 0;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first + 1;
    while (last < sorted.size() && key(sorted[last]) == key(sorted[first])) ++last;
    classes = std::max(classes, colour(topology, std::span(sorted).subspan(first, last - first)));
    first = last;
  }
  return classes;
}

}  // namespace libcoll
