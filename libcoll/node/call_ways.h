// Which way each blocking call of a communicator goes on each rank. Ranks whose lengths differ may take different ways,
// and would wait for each other for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace libcoll::node {

/// One rank's side. A rank shows the way of each call as it begins it, and does not wait for others.
class CallWays {
 public:
  /// A call as a rank shows it.
  struct Shown {
    std::uint64_t number = 0;  ///< from 1 on
    std::uint64_t word = 0;    ///< what kinds of calls there were so far, and the way of this one
  };

  /// Bytes of shared memory, zeroed at first and aligned to a cache line, for so many ranks.
  static std::size_t bytes(std::int32_t ranks);

  CallWays(std::byte* memory, std::int32_t ranks, std::int32_t rank);
  /// Of a rank that shares no memory with others.
  CallWays();
  ~CallWays();
  CallWays(CallWays&&) noexcept;
  CallWays& operator=(CallWays&&) = delete;

  /// The next call begins. All ranks make calls of the same kinds in the same order. False when a rank has left this
  /// call, or an earlier one, to MPI.
  bool begin(std::uint8_t kind, std::uint8_t way) noexcept;
  /// Whether the present call goes another way on some rank, or one has left it.
  [[nodiscard]] bool differ() const noexcept;
  /// This rank leaves the present call and all later ones to MPI, and begins it anew. Whether it is the first that
  /// does.
  bool leave() noexcept;
  /// Whether some rank has left the call that comes next here.
  [[nodiscard]] bool left() const noexcept { return is_left(number_ + 1); }

  // For ranks that share no memory.
  [[nodiscard]] Shown present() const noexcept { return shown(number_); }
  /// This rank's call of that number. Another word than that of any call where it has not begun it, or long ago. Any
  /// thread may ask.
  [[nodiscard]] Shown shown(std::uint64_t number) const noexcept;
  /// Whether both show the same call and another way.
  static bool differ(const Shown& one, const Shown& other) noexcept;
  /// The call of that number and all later ones are left to MPI; it went another way on a rank elsewhere. Any thread
  /// may say so.
  void leave_from(std::uint64_t number) noexcept;

 private:
  struct Header;
  struct Line;
  struct Own;

  [[nodiscard]] bool is_left(std::uint64_t number) const noexcept;

  std::unique_ptr<Own> own_;  ///< null: others share the memory
  Header* const header_;
  Line* const lines_;  ///< by rank
  const std::int32_t ranks_;
  const std::int32_t rank_;
  std::uint64_t number_ = 0;  ///< of the present call
  std::uint32_t kinds_ = 0;   ///< a hash of the kinds of all calls so far
  std::uint8_t way_ = 0;
  bool begins_anew_ = false;  ///< the present call, by MPI
};

}  // namespace libcoll::node
