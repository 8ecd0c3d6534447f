#include "planner/flow/problem/block_distances.h"

#include <cstddef>

#include "planner/flow/problem/vector_target.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

/// One sweep over all nodes in place; false when no distance fell.
template <class Value, std::size_t lanes>
LIBCOLL_ALWAYS_INLINE bool sweep(const std::int32_t* __restrict begin, const std::int32_t* __restrict from,
                                 const Value* __restrict lengths, std::size_t nodes, Value* distance) {
  bool changed = false;
  for (std::size_t v = 0; v < nodes; ++v) {
    Value best[lanes];
    for (std::size_t i = 0; i < lanes; ++i) best[i] = distance[v * lanes + i];
    for (std::int32_t k = begin[v]; k < begin[v + 1]; ++k) {
      const Value length = lengths[k];
      const Value* tail = distance + static_cast<std::size_t>(from[k]) * lanes;
      for (std::size_t i = 0; i < lanes; ++i) {
        const Value candidate = tail[i] + length;
        best[i] = candidate < best[i] ? candidate : best[i];
      }
    }
    Value fell = 0;
    for (std::size_t i = 0; i < lanes; ++i) fell += best[i] < distance[v * lanes + i] ? Value{1} : Value{0};
    if (fell > 0) {
      changed = true;
      for (std::size_t i = 0; i < lanes; ++i) distance[v * lanes + i] = best[i];
    }
  }
  return changed;
}

template <class Value, std::size_t lanes>
LIBCOLL_ALWAYS_INLINE void settle(const std::int32_t* begin, const std::int32_t* from, const Value* lengths,
                                  std::size_t nodes, Value* distance) {
  while (sweep<Value, lanes>(begin, from, lengths, nodes, distance)) {
  }
}

LIBCOLL_FOR_EACH_TARGET(settle_float,
                        (const std::int32_t* begin, const std::int32_t* from, const float* lengths, std::size_t nodes,
                         float* distance),
                        (settle<float, float_lanes>(begin, from, lengths, nodes, distance)),
                        (begin, from, lengths, nodes, distance))
LIBCOLL_FOR_EACH_TARGET(settle_integer,
                        (const std::int32_t* begin, const std::int32_t* from, const std::int64_t* lengths,
                         std::size_t nodes, std::int64_t* distance),
                        (settle<std::int64_t, integer_lanes>(begin, from, lengths, nodes, distance)),
                        (begin, from, lengths, nodes, distance))

template <class Value>
void start(std::span<const NodeId> sources, std::size_t nodes, std::size_t lanes, Value unreached,
           std::vector<Value>& distance) {
  distance.assign(nodes * lanes, unreached);
  for (std::size_t i = 0; i < sources.size(); ++i) distance[static_cast<std::size_t>(sources[i]) * lanes + i] = 0;
}

}  // namespace

void block_distances(const InLinks& graph, std::span<const float> lengths, std::span<const NodeId> sources,
                     std::vector<float>& distance) {
  const std::size_t nodes = graph.begin.size() - 1;
  start(sources, nodes, float_lanes, unreached_float, distance);
  settle_float(graph.begin.data(), graph.from.data(), lengths.data(), nodes, distance.data());
}

void block_distances(const InLinks& graph, std::span<const std::int64_t> lengths, std::span<const NodeId> sources,
                     std::vector<std::int64_t>& distance) {
  const std::size_t nodes = graph.begin.size() - 1;
  start(sources, nodes, integer_lanes, unreached_integer, distance);
  settle_integer(graph.begin.data(), graph.from.data(), lengths.data(), nodes, distance.data());
}

}  // namespace libcoll::flow::problem
