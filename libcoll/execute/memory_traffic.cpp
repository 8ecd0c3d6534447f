#include "libcoll/execute/memory_traffic.h"

#include <cstddef>
#include <numeric>

namespace libcoll::execute {

using namespace schedule;

MemoryTraffic memory_traffic(const TaskGraph& task_graph) {
  MemoryTraffic traffic;
  for (const Message& message : task_graph.sends) traffic.sent += message.data.bytes;
  for (const Message& message : task_graph.receives) {
    traffic.received += message.data.bytes;
    if (message.is_summand) traffic.summands += message.data.bytes;
  }
  for (const Copy& copy : task_graph.copies) traffic.copied += copy.from.bytes;
  for (const Copy& copy : task_graph.initial_copies) traffic.copied += copy.from.bytes;
  for (const Reduction& reduction : task_graph.reductions) traffic.reduced += reduction.destination.bytes;
  traffic.scratch = task_graph.scratch_bytes;
  return traffic;
}

std::int64_t vector_bytes(Collective collective, const Shape& shape, std::int32_t rank, std::int32_t ranks) {
  if (shape.counts.empty()) {
    return shape.elements * shape.element_bytes * (collective == Collective::allreduce ? 1 : ranks);
  }
  auto first = shape.counts.begin();
  auto last = shape.counts.end();
  if (collective == Collective::alltoall) {
    first += std::ptrdiff_t{rank} * ranks;
    last = first + ranks;
  }
  return std::accumulate(first, last, std::int64_t{0}) * shape.element_bytes;
}

}  // namespace libcoll::execute
