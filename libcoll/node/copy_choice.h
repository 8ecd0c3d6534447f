// Which of two ways the longer calls of ranks that share a host go: each reads the others' buffers where they lie
// (SingleCopy), or all copy through memory that they share (stages). What is faster depends on how far the processors
// are from each other, which virtual machines change while a program runs, and on whether the program writes to its
// buffers between calls. So rank 0 tries both now and then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libcoll/execute/call.h"

namespace libcoll::node {

/// One rank's side. Blocking allgathers and all-to-alls of equal blocks, by collective and size to the next power of
/// two. Rank 0 decides at the end of a call for the calls from the one after the next one on, in shared memory. In the
/// call between them every other rank sees something that rank 0 has written later: so all know of it in time.
class CopyChoice {
 public:
  static constexpr std::int64_t least_bytes = 16 * 1024;   ///< of a block; shorter ones go in stages
  static constexpr std::int64_t most_bytes = 1024 * 1024;  ///< from there on both take as long
  /// Calls by the other way before some are compared: they find caches as the usual way has left them, which stages go
  /// through some stretches of shared memory to change.
  static constexpr std::int32_t skipped_calls = 8;
  static constexpr std::int32_t compared_calls = 4;
  /// Between the first two trials; the time between later ones doubles up to the last figure.
  static constexpr std::int32_t first_calls = 8;
  static constexpr std::int32_t most_calls = 1024;

  /// Bytes of shared memory, zeroed at first and aligned to a cache line.
  static std::size_t bytes() { return sizeof(Decisions); }

  /// `decides`: of rank 0.
  CopyChoice(std::byte* memory, bool decides);

  /// Whether a call can go both ways; the same on all ranks.
  [[nodiscard]] static bool serves(const execute::Call& call);

  /// A call begins, on all ranks. `least_bytes_read`, equal on all ranks: of blocks that are read where nothing has
  /// been decided. Precondition: serves(call).
  void begin(const execute::Call& call, std::int64_t least_bytes_read);
  /// Whether blocks are read in the present call; equal on all ranks.
  [[nodiscard]] bool reads() const { return reads_; }
  /// The present call has a result. `nanoseconds`: what it took; rank 0's alone counts.
  void end(const execute::Call& call, std::int64_t nanoseconds);
  [[nodiscard]] bool decides() const { return decides_; }

 private:
  static constexpr std::size_t collectives = 2;
  static constexpr std::size_t sizes = 6;  ///< powers of two from least_bytes up to most_bytes
  /// What holds from a call on, and before. 0: nothing is decided.
  struct Decision {
    std::uint32_t from = 0;  ///< number of the call
    bool is_made = false;
    bool before = false;  ///< blocks are read
    bool after = false;
  };
  struct alignas(128) Decisions {
    std::array<std::atomic<std::uint64_t>, collectives * sizes> words;  ///< relaxed; written by rank 0
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  /// What rank 0 knows of calls of one kind and size.
  struct Trial {
    std::int32_t calls_left = first_calls;  ///< before the other way is tried
    std::int32_t interval = first_calls;
    bool is_tried = false;                             ///< the other way, at present
    std::int32_t seen = 0;                             ///< calls by that
    std::array<std::int64_t, compared_calls> usual{};  ///< what the last ones took, a share of a nanosecond a byte
    std::array<std::int64_t, compared_calls> other{};
    std::size_t next = 0;
  };

  static std::size_t place_of(const execute::Call& call);
  static std::uint64_t packed(const Decision& decision);
  static Decision unpacked(std::uint64_t word);
  void decide(std::size_t place, bool reads);

  Decisions* const decisions_;
  const bool decides_;
  std::uint32_t number_ = 0;  ///< of the present call; equal on all ranks
  bool reads_ = false;
  std::array<Trial, collectives * sizes> trials_{};
};

}  // namespace libcoll::node
