#include "planner/broadcast/bound/flow_network.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace libcoll::broadcast::bound {

std::int32_t FlowNetwork::add_arc(std::int32_t from, std::int32_t to, std::int64_t capacity) {
  ends_.emplace_back(from, to);
  added_.push_back(capacity);
  return static_cast<std::int32_t>(ends_.size()) - 1;
}

std::int64_t FlowNetwork::capacity(std::int32_t arc) const {
  return place_.empty() ? added_[index(arc)] : capacity_[index(place_[index(arc)])];
}

void FlowNetwork::set_capacity(std::int32_t arc, std::int64_t capacity) {
  if (place_.empty()) arrange();
  capacity_[index(place_[index(arc)])] = capacity;
}

/// Slots sorted by their vertex; arcs u→v and v→u become each other's twin.
void FlowNetwork::arrange() {
  std::vector<std::int32_t> order(ends_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto unordered = [this](std::int32_t arc) -> std::pair<std::int32_t, std::int32_t> {
    const auto [from, to] = ends_[index(arc)];
    return {std::min(from, to), std::max(from, to)};
  };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return unordered(a) < unordered(b); });
  struct Edge {
    std::int32_t low;
    std::int32_t high;
    std::int32_t up = -1;  ///< the arc low→high, if there is one
    std::int32_t down = -1;
  };
  std::vector<Edge> edges;
  for (const std::int32_t arc : order) {
    const auto [low, high] = unordered(arc);
    if (edges.empty() || edges.back().low != low || edges.back().high != high) edges.push_back({low, high});
    (ends_[index(arc)].first == low ? edges.back().up : edges.back().down) = arc;
  }
  first_.assign(index(vertices_) + 1, 0);
  for (const Edge& edge : edges) {
    ++first_[index(edge.low) + 1];
    ++first_[index(edge.high) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::int32_t> free(first_.begin(), first_.end() - 1);
  slots_.resize(2 * edges.size());
  capacity_.assign(slots_.size(), 0);
  place_.assign(ends_.size(), 0);
  for (const Edge& edge : edges) {
    const std::int32_t up = free[index(edge.low)]++;
    const std::int32_t down = free[index(edge.high)]++;
    slots_[index(up)] = {edge.high, down};
    slots_[index(down)] = {edge.low, up};
    for (const auto& [arc, slot] : {std::pair(edge.up, up), std::pair(edge.down, down)}) {
      if (arc < 0) continue;
      place_[index(arc)] = slot;
      capacity_[index(slot)] = added_[index(arc)];
    }
  }
}

std::int64_t FlowNetwork::run(std::int32_t source, std::int32_t sink, std::int64_t limit) {
  if (place_.empty()) arrange();
  rest_ = capacity_;
  std::int64_t total = 0;
  while (total < limit && measure(source, sink)) {
    next_slot_.assign(first_.begin(), first_.end() - 1);
    total += augment(source, sink, limit - total);
  }
  return total;
}

/// Breadth-first from the sink against residual arcs. Vertices as far as the source need no distance.
bool FlowNetwork::measure(std::int32_t source, std::int32_t sink) {
  distance_.assign(index(vertices_), -1);
  queue_.assign(1, sink);
  distance_[index(sink)] = 0;
  for (std::size_t taken = 0; taken < queue_.size(); ++taken) {
    const std::int32_t vertex = queue_[taken];
    for (std::int32_t i = first_[index(vertex)]; i < first_[index(vertex) + 1]; ++i) {
      const Slot slot = slots_[index(i)];
      if (distance_[index(slot.to)] >= 0 || rest_[index(slot.twin)] == 0) continue;
      distance_[index(slot.to)] = distance_[index(vertex)] + 1;
      if (slot.to == source) return true;
      queue_.push_back(slot.to);
    }
  }
  return false;
}

std::int64_t FlowNetwork::augment(std::int32_t vertex, std::int32_t sink, std::int64_t limit) {
  if (vertex == sink) return limit;
  std::int64_t total = 0;
  const std::int32_t end = first_[index(vertex) + 1];
  for (std::int32_t& i = next_slot_[index(vertex)]; i < end; ++i) {
    const Slot slot = slots_[index(i)];
    if (rest_[index(i)] == 0 || distance_[index(slot.to)] != distance_[index(vertex)] - 1) continue;
    const std::int64_t sent = augment(slot.to, sink, std::min(limit - total, rest_[index(i)]));
    rest_[index(i)] -= sent;
    rest_[index(slot.twin)] += sent;
    total += sent;
    // Leave without moving on: the slot may have capacity left.
    if (total == limit) break;
  }
  return total;
}

}  // namespace libcoll::broadcast::bound
