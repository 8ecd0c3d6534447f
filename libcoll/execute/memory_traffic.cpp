#include "libcoll/execute/memory_traffic.h"

namespace libcoll {

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

}  // namespace libcoll
