#include "planner/schedule/channel_dependency.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace libcoll::schedule {

using namespace topology;

namespace {

struct Dependency {
  LinkId before = 0;
  LinkId after = 0;
};

/// Kahn's algorithm: a graph is acyclic when every vertex can be taken away once nothing points at it.
bool acyclic(std::int32_t links, const std::vector<Dependency>& dependencies) {
  const auto size = static_cast<std::size_t>(links);
  std::vector<std::int32_t> pointing_at(size, 0);
  std::vector<std::vector<LinkId>> after(size);
  for (const Dependency& dependency : dependencies) {
    after[static_cast<std::size_t>(dependency.before)].push_back(dependency.after);
    ++pointing_at[static_cast<std::size_t>(dependency.after)];
  }
  std::vector<LinkId> free;
  for (LinkId link = 0; link < links; ++link) {
    if (pointing_at[static_cast<std::size_t>(link)] == 0) free.push_back(link);
  }
  for (std::size_t taken = 0; taken < free.size(); ++taken) {
    for (const LinkId next : after[static_cast<std::size_t>(free[taken])]) {
      if (--pointing_at[static_cast<std::size_t>(next)] == 0) free.push_back(next);
    }
  }
  return free.size() == size;
}

}  // namespace

bool channel_dependencies_acyclic(const Topology& topology, std::span<const Route> routes) {
  std::map<std::int32_t, std::vector<Dependency>> layers;
  for (const Route& route : routes) {
    const auto known = [&](LinkId link) { return link >= 0 && link < topology.link_count(); };
    if (!std::all_of(route.links.begin(), route.links.end(), known)) return false;
    std::vector<Dependency>& dependencies = layers[route.layer];
    for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
      dependencies.push_back({route.links[hop - 1], route.links[hop]});
    }
  }
  return std::all_of(layers.begin(), layers.end(),
                     [&](const auto& layer) { return acyclic(topology.link_count(), layer.second); });
}

}  // namespace libcoll::schedule
