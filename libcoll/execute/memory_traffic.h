// How often a rank's memory is read and written for a call.
#pragma once

#include <cstdint>

#include "libcoll/execute/task_graph.h"

namespace libcoll::execute {

/// Bytes of one call on one rank.
struct MemoryTraffic {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t copied = 0;    ///< within the rank: packed, unpacked, its own block
  std::int64_t reduced = 0;   ///< results of reductions
  std::int64_t summands = 0;  ///< of `received`: reduced as they arrive where they come through memory of the host
  std::int64_t scratch = 0;

  /// Read and written: a send reads, a receive writes, a copy does both, a reduction reads two and writes one.
  [[nodiscard]] std::int64_t total() const { return sent + received + 2 * copied + 3 * reduced; }
  /// The same where summands are not written to scratch first; the transport's memory is not counted.
  [[nodiscard]] std::int64_t total_by_memory() const { return total() - 2 * summands; }
};

MemoryTraffic memory_traffic(const TaskGraph& task_graph);

/// Bytes of the rank's whole vector in one of `ranks` buffers: of an all-to-all, what it sends.
std::int64_t vector_bytes(schedule::Collective collective, const Shape& shape, std::int32_t rank, std::int32_t ranks);

}  // namespace libcoll::execute
