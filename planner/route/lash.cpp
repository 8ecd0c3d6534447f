#include "planner/route/lash.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace libcoll {
namespace {

/// The channel-dependency graph of one layer, kept acyclic while routes are added.
class Layer {
 public:
  explicit Layer(std::int32_t links)
      : after_(static_cast<std::size_t>(links)), seen_(static_cast<std::size_t>(links), 0) {}

  /// Adds the route's dependencies unless they would close a cycle; says whether it did.
  bool try_add(const Route& route) {
    std::vector<LinkId> extended;
    for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
      std::vector<LinkId>& next = after_[static_cast<std::size_t>(route.links[hop - 1])];
      const LinkId link = route.links[hop];
      if (std::find(next.begin(), next.end(), link) != next.end()) continue;
      if (reaches(link, route.links[hop - 1])) {
        for (const LinkId undo : extended) after_[static_cast<std::size_t>(undo)].pop_back();
        return false;
      }
      next.push_back(link);
      extended.push_back(route.links[hop - 1]);
    }
    return true;
  }

 private:
  bool reaches(LinkId from, LinkId to) {
    ++search_;
    stack_.assign(1, from);
    while (!stack_.empty()) {
      const LinkId link = stack_.back();
      stack_.pop_back();
      if (link == to) return true;
      if (seen_[static_cast<std::size_t>(link)] == search_) continue;
      seen_[static_cast<std::size_t>(link)] = search_;
      const std::vector<LinkId>& next = after_[static_cast<std::size_t>(link)];
      stack_.insert(stack_.end(), next.begin(), next.end());
    }
    return false;
  }

  std::vector<std::vector<LinkId>> after_;
  std::vector<std::int64_t> seen_;  ///< number of the last search that met the link
  std::int64_t search_ = 0;
  std::vector<LinkId> stack_;
};

}  // namespace

std::int32_t assign_layers(const Topology& topology, std::span<Route> routes) {
  std::vector<Layer> layers;
  for (Route& route : routes) {
    std::size_t chosen = 0;
    while (chosen < layers.size() && !layers[chosen].try_add(route)) ++chosen;
    if (chosen == layers.size()) layers.emplace_back(topology.link_count()).try_add(route);
    route.layer = static_cast<std::int32_t>(chosen);
  }
  return static_cast<std::int32_t>(layers.size());
}

}  // namespace libcoll
