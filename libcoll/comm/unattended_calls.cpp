#include "libcoll/comm/unattended_calls.h"

#include <algorithm>
#include <utility>

#include "libcoll/observe/watchdog.h"

namespace libcoll::comm {

using namespace observe;

namespace {

using Clock = std::chrono::steady_clock;

/// Looks at the other processes of the node are this far apart at least.
constexpr std::chrono::microseconds between_signs{100};

/// A program that lets MPI make progress less often than this is not waiting.
constexpr auto longest_absence = std::chrono::milliseconds(500);

}  // namespace

void UnattendedCalls::look_after(Unattended& call) {
  // Room for its end, which nothing may stand in the way of.
  ended_.reserve(ended_.size() + calls_.size() + 1);
  calls_.push_back(&call);
  note_movement();
}

void UnattendedCalls::advance_errands() noexcept {
  for (std::size_t next = 0; next < errands_.size();) {
    if (errands_[next]->advance()) {
      ++next;
      continue;
    }
    errands_done_.push_back(std::move(errands_[next]));
    errands_.erase(errands_.begin() + static_cast<std::ptrdiff_t>(next));
    some_ended_.store(true, std::memory_order_release);
  }
}

void UnattendedCalls::advance(bool may_call_mpi) noexcept {
  if (!errands_.empty()) advance_errands();
  if (calls_.empty()) return;
  for (const Unattended* call : calls_) {
    if (may_call_mpi || !call->running().calls_mpi()) call->running().advance();
  }
  const auto first_over = std::stable_partition(calls_.begin(), calls_.end(),
                                                [](const Unattended* call) { return !call->running().over(); });
  if (first_over == calls_.end()) return;
  ended_.insert(ended_.end(), first_over, calls_.end());
  calls_.erase(first_over, calls_.end());
  some_ended_.store(true, std::memory_order_release);
}

void UnattendedCalls::note_movement() noexcept {
  const bool is_watched = config_.timeout_seconds > 0 || config_.watchdog_seconds > 0;
  if (is_watched && !calls_.empty()) still_since_ = Clock::now();
}

void UnattendedCalls::warn_of_silent(Clock::duration still) noexcept try {
  for (Unattended* call : calls_) {
    const auto in_words = [call] { return call->running().in_words(); };
    if (!call->is_told_of()) call->set_told_of(warn_of_silence(config_, still, in_words));
  }
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line; the call goes on
}

void UnattendedCalls::exchange_signs_of_life(Clock::time_point now) noexcept {
  if (calls_.empty() || now - exchanged_at_ < between_signs) return;
  exchanged_at_ = now;
  for (const Unattended* call : calls_) {
    if (call->running().exchange_signs_of_life()) still_since_ = now;
  }
}

void UnattendedCalls::give_up() noexcept {
  if (calls_.empty()) return;
  const Clock::time_point now = Clock::now();
  exchange_signs_of_life(now);
  // Nobody may have asked because nobody waits.
  if (now - asked_at_ > longest_absence) still_since_ = now;
  asked_at_ = now;
  warn_of_silent(now - still_since_);
  for (const Unattended* call : calls_) {
    if (transport_->has_broken(call->running().peers())) call->running().abandon();
  }
  if (config_.timeout_seconds == 0 || now - still_since_ <= std::chrono::seconds(config_.timeout_seconds)) return;
  for (const Unattended* call : calls_) call->running().abandon();
  advance();
}

std::vector<Unattended*> UnattendedCalls::take_ended(std::vector<std::shared_ptr<Errand>>& done) {
  some_ended_.store(false, std::memory_order_release);
  std::vector<Unattended*> taken(ended_);
  ended_.clear();
  done.swap(errands_done_);
  return taken;
}

void UnattendedCalls::drop_errands() {
  errands_.clear();
  errands_done_.clear();
}

int UnattendedCalls::milliseconds_to_next_advance(int most) const {
  for (const Unattended* call : calls_) most = std::min(most, call->running().milliseconds_to_next_advance());
  return most;
}

}  // namespace libcoll::comm
