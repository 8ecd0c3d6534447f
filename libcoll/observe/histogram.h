// How long calls took, by their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace libcoll::observe {

/// The size of a call that the caller did not know.
inline constexpr std::int64_t unknown_bytes = -1;

/// Calls by powers of two of bytes. Values; whoever shares one between threads locks.
class SizeHistogram {
 public:
  /// Times in nanoseconds; of no meaning without calls.
  struct Bin {
    std::int64_t calls = 0;
    std::int64_t total = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
    friend bool operator==(const Bin&, const Bin&) = default;
  };

  SizeHistogram() = default;
  SizeHistogram(std::int64_t calls, std::vector<Bin> bins) : calls_(calls), bins_(std::move(bins)) {}

  /// Bin 0: size unknown; bin 1: nothing to move; bin k: from 2^(k−2) to 2^(k−1) − 1 bytes.
  static std::size_t bin_of(std::int64_t bytes);
  /// The smallest and the largest size of a bin; unknown_bytes of bin 0.
  static std::int64_t first_byte(std::size_t bin);
  static std::int64_t last_byte(std::size_t bin);

  void count(std::int64_t bytes, std::int64_t nanoseconds);
  /// More calls of the same process.
  void add(const SizeHistogram& others);
  /// The same calls as another rank saw them: a call has ended when its slowest rank has, so that the larger of two
  /// figures stands, of the least time also.
  void take_slower(const SizeHistogram& others);

  /// Of all sizes. Ranks may sort a call into different bins, so bins of a job may have more calls together.
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  [[nodiscard]] bool empty() const { return bins_.empty(); }
  /// By bin number, up to the largest that was counted in.
  [[nodiscard]] const std::vector<Bin>& bins() const { return bins_; }
  friend bool operator==(const SizeHistogram&, const SizeHistogram&) = default;

 private:
  std::int64_t calls_ = 0;
  std::vector<Bin> bins_;
};

/// "64 KiB..128 KiB", "0 B", "unknown size"; for people.
std::string bin_text(std::size_t bin);

/// "0.000012345": seconds with all nine digits.
std::string seconds_text(std::int64_t nanoseconds);

}  // namespace libcoll::observe
