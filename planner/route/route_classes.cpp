#include "planner/route/route_classes.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// The forwarding decisions for one key (pair or destination): which of its paths exclude one another.
class ConflictGraph {
 public:
  /// `paths` are different from each other. Two of them conflict where they leave one node by different links.
  explicit ConflictGraph(const Topology& topology, const std::vector<const Route*>& paths)
      : adjacent_(paths.size(), std::vector<bool>(paths.size(), false)), neighbours_(paths.size()) {
    std::vector<Departure> leaving;
    for (std::size_t path = 0; path < paths.size(); ++path) {
      for (const LinkId link : paths[path]->links) leaving.push_back({topology.link(link).from, link, path});
    }
    std::sort(leaving.begin(), leaving.end());
    for (auto node = leaving.begin(); node != leaving.end();) {
      const auto last = std::find_if(node, leaving.end(), [&](const Departure& d) { return d.node != node->node; });
      for (auto link = node; link != last;) {
        const auto next = std::find_if(link, last, [&](const Departure& d) { return d.link != link->link; });
        separate(std::span(link, next), std::span(next, last));
        link = next;
      }
      node = last;
    }
  }

  [[nodiscard]] std::size_t size() const { return neighbours_.size(); }
  [[nodiscard]] const std::vector<std::size_t>& neighbours(std::size_t path) const { return neighbours_[path]; }

 private:
  /// A path leaves a node by a link.
  struct Departure {
    NodeId node = 0;
    LinkId link = 0;
    std::size_t path = 0;
    friend bool operator<(const Departure& a, const Departure& b) {
      return std::tie(a.node, a.link, a.path) < std::tie(b.node, b.link, b.path);
    }
  };

  void separate(std::span<const Departure> some, std::span<const Departure> others) {
    for (const Departure& one : some) {
      for (const Departure& other : others) {
        const std::size_t a = one.path;
        const std::size_t b = other.path;
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

  /// Whether it was allowed until now.
  bool exclude(std::int32_t taken) {
    const auto entry = static_cast<std::size_t>(taken) - 1;
    if (entry + 1 >= excluded.size()) excluded.resize(entry + 2, false);
    if (excluded[entry]) return false;
    excluded[entry] = true;
    ++saturation;
    return true;
  }
  [[nodiscard]] std::int32_t least_allowed() const {
    return 1 + static_cast<std::int32_t>(std::find(excluded.begin(), excluded.end(), false) - excluded.begin());
  }
};

/// Who is next: who sees the most colours, then who has the most neighbours, then the first.
struct Urgency {
  std::size_t saturation = 0;
  std::size_t neighbours = 0;
  std::size_t vertex = 0;
  friend bool operator<(const Urgency& a, const Urgency& b) {
    return std::tie(a.saturation, a.neighbours, b.vertex) < std::tie(b.saturation, b.neighbours, a.vertex);
  }
};

/// Colours 1, 2, …: always the most urgent vertex next.
std::vector<std::int32_t> dsatur(const ConflictGraph& graph) {
  std::vector<Vertex> vertices(graph.size());
  std::priority_queue<Urgency> open;
  const auto queue = [&](std::size_t v) { open.push({vertices[v].saturation, graph.neighbours(v).size(), v}); };
  for (std::size_t v = 0; v < vertices.size(); ++v) queue(v);
  while (!open.empty()) {
    const std::size_t next = open.top().vertex;
    open.pop();
    // It was queued again with every colour it came to see, so that the first time it is on top is the right one.
    if (vertices[next].colour != 0) continue;
    const std::int32_t colour = vertices[next].colour = vertices[next].least_allowed();
    for (const std::size_t v : graph.neighbours(next)) {
      if (vertices[v].exclude(colour) && vertices[v].colour == 0) queue(v);
    }
  }
  std::vector<std::int32_t> colours;
  colours.reserve(vertices.size());
  for (const Vertex& vertex : vertices) colours.push_back(vertex.colour);
  return colours;
}

/// Routes of one forwarding key; equal paths of a pair share a place in `paths`.
struct Group {
  std::vector<const Route*> paths;
  std::unordered_map<NodeId, std::vector<std::size_t>> places;  ///< by source: of its paths
  std::vector<std::pair<Route*, std::size_t>> members;

  void add(Route& route) {
    std::vector<std::size_t>& known = places[route.source];
    auto place =
        std::find_if(known.begin(), known.end(), [&](std::size_t i) { return paths[i]->links == route.links; });
    if (place == known.end()) {
      place = known.insert(place, paths.size());
      paths.push_back(&route);
    }
    members.emplace_back(&route, *place);
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

}  // namespace libcoll::route
