#include "libcoll/node/call_ways.h"

#include <new>
#include <utility>

namespace libcoll::node {
namespace {

constexpr std::size_t alignment = 128;  // as Phases are

/// Of a call: its number modulo 2^32, 24 bits of the hash, and its way.
constexpr std::uint64_t call_word(std::uint64_t number, std::uint32_t kinds, std::uint8_t way) {
  return number << 32U | (kinds & 0xffffffU) << 8U | way;
}

constexpr bool differ_in_way(std::uint64_t one, std::uint64_t other) {
  return one != other && one >> 8U == other >> 8U;
}

}  // namespace

/// Written seldom.
struct alignas(alignment) CallWays::Header {
  std::atomic<std::uint64_t> first_left;  ///< the first call that a rank has left; 0: none
  std::atomic<bool> somebody_left;        ///< and not only heard of it
};

/// A rank's last calls, by number. One writes; others read when they have waited for long. Release and acquire: who
/// sees a word has seen whatever the rank had seen before.
struct alignas(alignment) CallWays::Line {
  static constexpr std::size_t kept = 8;

  std::atomic<std::uint64_t> words[kept];
};

struct CallWays::Own {
  Header header{};
  Line line{};
};

std::size_t CallWays::bytes(std::int32_t ranks) {
  return sizeof(Header) + static_cast<std::size_t>(ranks) * sizeof(Line);
}

CallWays::CallWays(std::byte* memory, std::int32_t ranks, std::int32_t rank)
    : header_(std::launder(reinterpret_cast<Header*>(memory))),
      lines_(std::launder(reinterpret_cast<Line*>(memory + sizeof(Header)))),
      ranks_(ranks),
      rank_(rank) {}

CallWays::CallWays()
    : own_(std::make_unique<Own>()), header_(&own_->header), lines_(&own_->line), ranks_(1), rank_(0) {}

CallWays::~CallWays() = default;
CallWays::CallWays(CallWays&&) noexcept = default;

bool CallWays::begin(std::uint8_t kind, std::uint8_t way) noexcept {
  if (!std::exchange(begins_anew_, false)) {
    ++number_;
    kinds_ = kinds_ * 31 + kind + 1;
  }
  way_ = way;
  lines_[rank_].words[number_ % Line::kept].store(call_word(number_, kinds_, way), std::memory_order_release);
  return !is_left(number_);
}

bool CallWays::differ() const noexcept {
  if (is_left(number_)) return true;
  const std::uint64_t own = call_word(number_, kinds_, way_);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t other = lines_[rank].words[number_ % Line::kept].load(std::memory_order_acquire);
    if (differ_in_way(other, own)) return true;
  }
  return false;
}

bool CallWays::leave() noexcept {
  leave_from(number_);
  begins_anew_ = true;
  return !header_->somebody_left.exchange(true, std::memory_order_acq_rel);
}

CallWays::Shown CallWays::shown(std::uint64_t number) const noexcept {
  return {number, lines_[rank_].words[number % Line::kept].load(std::memory_order_acquire)};
}

bool CallWays::differ(const Shown& one, const Shown& other) noexcept {
  return one.number == other.number && differ_in_way(one.word, other.word);
}

void CallWays::leave_from(std::uint64_t number) noexcept {
  std::uint64_t first = header_->first_left.load(std::memory_order_acquire);
  while (first == 0 || first > number) {
    if (header_->first_left.compare_exchange_weak(first, number, std::memory_order_acq_rel)) return;
  }
}

bool CallWays::is_left(std::uint64_t number) const noexcept {
  const std::uint64_t first = header_->first_left.load(std::memory_order_acquire);
  return first != 0 && first <= number;
}

}  // namespace libcoll::node
