#include "libcoll/node/call_ways.h"

#include <new>

namespace libcoll::node {
namespace {

constexpr std::size_t alignment = 128;  // as Phases are

/// Of a call: its number modulo 2^32, 24 bits of the hash, and its way.
constexpr std::uint64_t call_word(std::uint64_t number, std::uint32_t kinds, std::uint8_t way) {
  return number << 32U | (kinds & 0xffffffU) << 8U | way;
}

}  // namespace

/// The first call that a rank has left; 0: none. Written seldom.
struct alignas(alignment) CallWays::Header {
  std::atomic<std::uint64_t> first_left;
};

/// A rank's last calls, by number. One writes; others read when they have waited for long. Release and acquire: who
/// sees a word has seen whatever the rank had seen before.
struct alignas(alignment) CallWays::Line {
  static constexpr std::size_t kept = 8;

  std::atomic<std::uint64_t> words[kept];
};

std::size_t CallWays::bytes(std::int32_t ranks) {
  return sizeof(Header) + static_cast<std::size_t>(ranks) * sizeof(Line);
}

CallWays::CallWays(std::byte* memory, std::int32_t ranks, std::int32_t rank)
    : header_(std::launder(reinterpret_cast<Header*>(memory))),
      lines_(std::launder(reinterpret_cast<Line*>(memory + sizeof(Header)))),
      ranks_(ranks),
      rank_(rank) {}

bool CallWays::begin(std::uint8_t kind, std::uint8_t way) noexcept {
  ++number_;
  kinds_ = kinds_ * 31 + kind + 1;
  way_ = way;
  lines_[rank_].words[number_ % Line::kept].store(call_word(number_, kinds_, way), std::memory_order_release);
  return !is_left(number_);
}

bool CallWays::differ() const noexcept {
  if (is_left(number_)) return true;
  const std::uint64_t own = call_word(number_, kinds_, way_);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t other = lines_[rank].words[number_ % Line::kept].load(std::memory_order_acquire);
    if (other != own && other >> 8U == own >> 8U) return true;
  }
  return false;
}

bool CallWays::leave() noexcept {
  std::uint64_t first = header_->first_left.load(std::memory_order_acquire);
  while (first == 0 || first > number_) {
    if (header_->first_left.compare_exchange_weak(first, number_, std::memory_order_acq_rel)) return first == 0;
  }
  return false;
}

bool CallWays::is_left(std::uint64_t number) const noexcept {
  const std::uint64_t first = header_->first_left.load(std::memory_order_acquire);
  return first != 0 && first <= number;
}

}  // namespace libcoll::node
