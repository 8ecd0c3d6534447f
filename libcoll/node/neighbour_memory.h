// Memory of the other processes of a node, read where it lies: one copy by the kernel in place of two through memory
// that they share.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libcoll::node {

class NeighbourMemory {
 public:
  // Less than this from another rank is copied faster through memory that they share. There a rank waits for the others
  // once in a call, here twice, and where ranks share processors each time takes several switches between them.
  static constexpr std::int64_t least_block_bytes = 8 * 1024;
  static constexpr std::int64_t least_block_bytes_of_the_crowded = 64 * 1024;

  /// `processes`: by rank; those of other nodes mean nothing here. `is_crowded`, the same on all ranks: some node has
  /// more of them than processors.
  NeighbourMemory(std::vector<pid_t> processes, bool is_crowded)
      : processes_(std::move(processes)),
        least_bytes_(is_crowded ? least_block_bytes_of_the_crowded : least_block_bytes) {}

  /// Of blocks that are worth it; the same on all ranks of all nodes.
  [[nodiscard]] std::int64_t least_bytes() const { return least_bytes_; }
  /// Copies `bytes` bytes from `from` in the process of a rank of this node, in pieces, with signs of life between
  /// them. False: not all of them can be read.
  bool read(std::int32_t rank, std::uint64_t from, std::byte* to, std::int64_t bytes,
            std::atomic<std::uint32_t>& signs_of_life) const;

 private:
  const std::vector<pid_t> processes_;
  const std::int64_t least_bytes_;
};

}  // namespace libcoll::node
