// Integer maximum flow (Dinic's algorithm) for the small networks of the broadcast planners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace libcoll::broadcast::bound {

/// A flow network over vertices 0..n-1 with integer capacities. Capacities on any cut must sum to less than `Amount`
/// can hold, and flows to less than `infinite`.
template <class Amount>
class BasicMaxFlow {
 public:
  static constexpr Amount infinite = Amount{1} << (8 * sizeof(Amount) - 3);

  explicit BasicMaxFlow(std::int32_t vertices);

  /// Adds the arc from→to and returns its index for flow(). Precondition: capacity >= 0.
  std::int32_t add_arc(std::int32_t from, std::int32_t to, Amount capacity);

  /// Sends as much as possible from source to sink, on top of what earlier calls sent; returns the amount added.
  Amount run(std::int32_t source, std::int32_t sink);

  [[nodiscard]] Amount flow(std::int32_t arc) const;

  /// After run(): whether the vertex lies on the source's side of the minimum cut that is closest to the source.
  [[nodiscard]] bool on_source_side(std::int32_t vertex) const { return level_[index(vertex)] >= 0; }

 private:
  struct Arc {
    std::int32_t to = 0;
    Amount rest = 0;  ///< residual capacity; the twin (index ^ 1) holds the flow
  };
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  bool build_levels(std::int32_t source, std::int32_t sink);
  Amount augment(std::int32_t vertex, std::int32_t sink, Amount limit);

  std::vector<Arc> arcs_;
  std::vector<std::vector<std::int32_t>> arcs_of_;
  std::vector<std::int32_t> level_;   ///< hops from the source in the residual network, -1 when unreachable
  std::vector<std::size_t> current_;  ///< first arc of a vertex that may still lead to the sink
};

__extension__ using Wide128 = __int128;
using MaxFlow = BasicMaxFlow<std::int64_t>;
using WideMaxFlow = BasicMaxFlow<Wide128>;

}  // namespace libcoll::broadcast::bound
