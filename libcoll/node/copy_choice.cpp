#include "libcoll/node/copy_choice.h"

#include <algorithm>
#include <bit>
#include <new>

#include "libcoll/node/call_blocks.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

constexpr std::uint64_t made_bit = 1;
constexpr std::uint64_t before_bit = 2;
constexpr std::uint64_t after_bit = 4;
constexpr unsigned from_shift = 32;
/// A change has to gain one part in so many.
constexpr std::int64_t margin_parts = 20;
constexpr std::int64_t shares_per_nanosecond = 1024;

int power_of(std::int64_t bytes) { return std::bit_width(static_cast<std::uint64_t>(bytes)); }

}  // namespace

CopyChoice::CopyChoice(std::byte* memory, bool decides)
    : decisions_(std::launder(reinterpret_cast<Decisions*>(memory))), decides_(decides) {}

bool CopyChoice::serves(const Call& call) {
  const std::int64_t bytes = block_bytes(call);
  return call.counts.empty() && !call.is_rooted && !is_reduction(call.collective) && bytes >= least_bytes &&
         bytes < most_bytes;
}

std::size_t CopyChoice::place_of(const Call& call) {
  const auto size = static_cast<std::size_t>(power_of(block_bytes(call)) - power_of(least_bytes));
  return (call.collective == Collective::allgather ? 0 : sizes) + size;
}

std::uint64_t CopyChoice::packed(const Decision& decision) {
  return (static_cast<std::uint64_t>(decision.from) << from_shift) | (decision.is_made ? made_bit : 0) |
         (decision.before ? before_bit : 0) | (decision.after ? after_bit : 0);
}

CopyChoice::Decision CopyChoice::unpacked(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> from_shift), (word & made_bit) != 0, (word & before_bit) != 0,
          (word & after_bit) != 0};
}

void CopyChoice::begin(const Call& call, std::int64_t least_bytes_read) {
  ++number_;
  const Decision decision = unpacked(decisions_->words[place_of(call)].load(std::memory_order_relaxed));
  // Numbers are compared as serial ones.
  const bool holds = static_cast<std::int32_t>(number_ - decision.from) >= 0;
  if (decision.is_made) {
    reads_ = holds ? decision.after : decision.before;
  } else {
    // Of all calls that a decision is for the same.
    reads_ =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(block_bytes(call)))) >= least_bytes_read;
  }
}

/// Not while an earlier decision is to come: who is in the present call may read either of the two.
void CopyChoice::decide(std::size_t place, bool reads) {
  const Decision decision{number_ + 2, true, reads_, reads};
  decisions_->words[place].store(packed(decision), std::memory_order_relaxed);
}

void CopyChoice::end(const Call& call, std::int64_t nanoseconds) {
  if (!decides_) return;
  const std::size_t place = place_of(call);
  const Decision decision = unpacked(decisions_->words[place].load(std::memory_order_relaxed));
  if (decision.is_made && static_cast<std::int32_t>(number_ - decision.from) < 0) return;
  Trial& trial = trials_[place];
  const std::int64_t taken = nanoseconds * shares_per_nanosecond / block_bytes(call);
  if (!trial.is_tried) {
    trial.usual[trial.next++ % compared_calls] = taken;
    if (--trial.calls_left > 0) return;
    trial.is_tried = true;
    trial.seen = 0;
    decide(place, !reads_);
    return;
  }
  trial.other[static_cast<std::size_t>(trial.seen) % compared_calls] = taken;
  if (++trial.seen < skipped_calls + compared_calls) return;
  const std::int64_t usual = *std::min_element(trial.usual.begin(), trial.usual.end());
  const std::int64_t other = *std::min_element(trial.other.begin(), trial.other.end());
  const bool is_better = other + other / margin_parts < usual;
  trial.interval = is_better ? first_calls : std::min(2 * trial.interval, most_calls);
  trial.calls_left = trial.interval;
  trial.is_tried = false;
  if (!is_better) decide(place, !reads_);
}

}  // namespace libcoll::node
