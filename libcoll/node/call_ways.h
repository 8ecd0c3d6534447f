// Which way each blocking call of ranks that share memory goes. Ranks whose lengths differ may take different ways, and
// would wait for each other for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace libcoll::node {

/// One rank's side. A rank shows the way of each call as it begins it, and does not wait for others.
class CallWays {
 public:
  /// Bytes of shared memory, zeroed at first and aligned to a cache line, for so many ranks.
  static std::size_t bytes(std::int32_t ranks);

  CallWays(std::byte* memory, std::int32_t ranks, std::int32_t rank);

  /// The next call begins. All ranks make calls of the same kinds in the same order. False when a rank has left this
  /// call, or an earlier one, to MPI.
  bool begin(std::uint8_t kind, std::uint8_t way) noexcept;
  /// Whether the present call goes another way on some rank, or one has left it.
  [[nodiscard]] bool differ() const noexcept;
  /// This rank leaves the present call and all later ones to MPI. Whether it is the first that leaves any.
  bool leave() noexcept;
  /// Whether some rank has left the call that comes next here.
  [[nodiscard]] bool left() const noexcept { return is_left(number_ + 1); }

 private:
  struct Header;
  struct Line;

  [[nodiscard]] bool is_left(std::uint64_t number) const noexcept;

  Header* const header_;
  Line* const lines_;  ///< by rank
  const std::int32_t ranks_;
  const std::int32_t rank_;
  std::uint64_t number_ = 0;  ///< of the present call
  std::uint32_t kinds_ = 0;   ///< a hash of the kinds of all calls so far
  std::uint8_t way_ = 0;
};

}  // namespace libcoll::node
