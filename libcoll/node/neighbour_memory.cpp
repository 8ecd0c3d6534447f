#include "libcoll/node/neighbour_memory.h"

#include <algorithm>

#include "libcoll/node/process_memory.h"

namespace libcoll::node {
namespace {

/// At a time; the kernel holds the pages meanwhile.
constexpr std::int64_t read_piece_bytes = 16 * 1024 * 1024;

}  // namespace

bool NeighbourMemory::read(std::int32_t rank, std::uint64_t from, std::byte* to, std::int64_t bytes,
                           std::atomic<std::uint32_t>& signs_of_life) const {
  const pid_t process = processes_[static_cast<std::size_t>(rank)];
  for (std::int64_t done = 0; done < bytes; done += read_piece_bytes) {
    const std::int64_t piece = std::min(read_piece_bytes, bytes - done);
    if (!read_memory(process, from + static_cast<std::uint64_t>(done), to + done, piece)) return false;
    signs_of_life.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace libcoll::node
