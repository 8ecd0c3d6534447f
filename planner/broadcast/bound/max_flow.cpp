#include "planner/broadcast/bound/max_flow.h"

#include <algorithm>
#include <cstddef>

namespace libcoll::broadcast::bound {

template <class Amount>
BasicMaxFlow<Amount>::BasicMaxFlow(std::int32_t vertices) : arcs_of_(index(vertices)), level_(index(vertices), -1) {}

template <class Amount>
std::int32_t BasicMaxFlow<Amount>::add_arc(std::int32_t from, std::int32_t to, Amount capacity) {
  const auto arc = static_cast<std::int32_t>(arcs_.size());
  arcs_.push_back({to, capacity});
  arcs_.push_back({from, 0});
  arcs_of_[index(from)].push_back(arc);
  arcs_of_[index(to)].push_back(arc + 1);
  return arc;
}

template <class Amount>
Amount BasicMaxFlow<Amount>::flow(std::int32_t arc) const {
  return arcs_[index(arc ^ 1)].rest;
}

template <class Amount>
Amount BasicMaxFlow<Amount>::run(std::int32_t source, std::int32_t sink) {
  Amount total = 0;
  while (build_levels(source, sink)) {
    current_.assign(arcs_of_.size(), 0);
    while (const Amount sent = augment(source, sink, infinite)) total += sent;
  }
  return total;
}

template <class Amount>
bool BasicMaxFlow<Amount>::build_levels(std::int32_t source, std::int32_t sink) {
  std::fill(level_.begin(), level_.end(), -1);
  std::vector<std::int32_t> queue{source};
  level_[index(source)] = 0;
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    const std::int32_t vertex = queue[taken];
    for (const std::int32_t id : arcs_of_[index(vertex)]) {
      const Arc& arc = arcs_[index(id)];
      if (arc.rest == 0 || level_[index(arc.to)] >= 0) continue;
      level_[index(arc.to)] = level_[index(vertex)] + 1;
      queue.push_back(arc.to);
    }
  }
  return level_[index(sink)] >= 0;
}

template <class Amount>
Amount BasicMaxFlow<Amount>::augment(std::int32_t vertex, std::int32_t sink, Amount limit) {
  if (vertex == sink) return limit;
  const std::vector<std::int32_t>& arcs = arcs_of_[index(vertex)];
  Amount total = 0;
  for (std::size_t& next = current_[index(vertex)]; next < arcs.size(); ++next) {
    const std::int32_t id = arcs[next];
    const std::int32_t to = arcs_[index(id)].to;
    if (arcs_[index(id)].rest == 0 || level_[index(to)] != level_[index(vertex)] + 1) continue;
    const Amount sent = augment(to, sink, std::min(limit - total, arcs_[index(id)].rest));
    arcs_[index(id)].rest -= sent;
    arcs_[index(id ^ 1)].rest += sent;
    total += sent;
    // Leave without moving on: the arc may have capacity left.
    if (total == limit) break;
  }
  return total;
}

template class BasicMaxFlow<std::int64_t>;
template class BasicMaxFlow<Wide128>;

}  // namespace libcoll::broadcast::bound
