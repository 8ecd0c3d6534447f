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
  /// Less than this from another rank is copied faster through memory that they share: the kernel looks up each page of
  /// the other process, and a rank waits for the others twice in a call, there once.
  static constexpr std::int64_t least_block_bytes = 128 * 1024;
  /// Of an allgather of so many ranks, all of them on one node: each reads from all others, and what that saves is the
  /// one copy of its own block.
  static constexpr std::int64_t least_block_bytes_of_gather(std::int64_t ranks) {
    return (ranks - 1) * least_block_bytes;
  }

  /// `processes`: by rank; those of other nodes mean nothing here.
  explicit NeighbourMemory(std::vector<pid_t> processes) : processes_(std::move(processes)) {}

  /// Copies `bytes` bytes from `from` in the process of a rank of this node, in pieces, with signs of life between
  /// them. False: not all of them can be read.
  bool read(std::int32_t rank, std::uint64_t from, std::byte* to, std::int64_t bytes,
            std::atomic<std::uint32_t>& signs_of_life) const;

 private:
  const std::vector<pid_t> processes_;
};

}  // namespace libcoll::node
