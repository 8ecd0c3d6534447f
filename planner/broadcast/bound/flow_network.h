// Maximum flow for many questions to one network: capacities change, sinks change, cuts are asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace libcoll::broadcast::bound {

/// A flow network over vertices 0..n-1 with integer capacities, at most one arc u→v. Every run starts from no flow.
/// Opposite arcs share one place, which halves what a search looks at. Dinic's algorithm with exact distances to the
/// sink, so that a search ends as soon as it meets the source. Capacities on any cut must sum to less than 2^62.
class FlowNetwork {
 public:
  static constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max() / 4;

  explicit FlowNetwork(std::int32_t vertices) : vertices_(vertices) {}

  /// Adds the arc from→to and returns its index. Preconditions: capacity >= 0, from != to, no such arc yet, no run yet.
  std::int32_t add_arc(std::int32_t from, std::int32_t to, std::int64_t capacity);

  [[nodiscard]] std::int32_t arc_count() const { return static_cast<std::int32_t>(ends_.size()); }
  [[nodiscard]] std::int64_t capacity(std::int32_t arc) const;
  void set_capacity(std::int32_t arc, std::int64_t capacity);

  /// The largest flow from source to sink, or `limit` as soon as that much is known to fit.
  std::int64_t run(std::int32_t source, std::int32_t sink, std::int64_t limit = infinite);

  /// After a run that ended below its limit: whether the vertex is on the sink's side of the minimum cut closest to
  /// the sink.
  [[nodiscard]] bool on_sink_side(std::int32_t vertex) const { return distance_[index(vertex)] >= 0; }

 private:
  struct Slot {
    std::int32_t to = 0;
    std::int32_t twin = 0;  ///< position of the opposite slot
  };
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  void arrange();
  bool measure(std::int32_t source, std::int32_t sink);
  std::int64_t augment(std::int32_t vertex, std::int32_t sink, std::int64_t limit);

  std::int32_t vertices_ = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> ends_;  ///< by arc
  std::vector<std::int64_t> added_;                          ///< capacities until the slots are arranged
  std::vector<std::int32_t> place_;                          ///< slot of an arc
  std::vector<std::int32_t> first_;                          ///< slots of v: first_[v]..first_[v+1]-1
  std::vector<Slot> slots_;
  std::vector<std::int64_t> capacity_;   ///< by slot
  std::vector<std::int64_t> rest_;       ///< by slot: residual capacity
  std::vector<std::int32_t> distance_;   ///< hops to the sink in the residual network, -1 when unknown
  std::vector<std::int32_t> next_slot_;  ///< first slot of a vertex that may still lead to the sink
  std::vector<std::int32_t> queue_;
};

}  // namespace libcoll::broadcast::bound
