#include "libcoll/comm/progress_engine.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

#include "libcoll/base/log.h"
#include "libcoll/comm/progress_thread.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace transport;

namespace {

using Clock = std::chrono::steady_clock;

/// A waiting rank looks after the program's own MPI at intervals that grow with the wait: each look costs system calls,
/// and the ranks of a machine share its cores.
constexpr std::chrono::nanoseconds shortest_hook_interval = std::chrono::microseconds(100);
constexpr std::chrono::nanoseconds longest_hook_interval = std::chrono::milliseconds(8);
constexpr int hook_intervals_per_wait = 4;

/// A peer that shares this rank's memory may wait for this processor, and sleeping and being woken take longer than
/// such a message: a rank polls so many times as long for it.
constexpr int polls_of_memory = 100;

/// How long a finished call waits for what it still owes its peers, when MPI will look after that later: over shared
/// memory almost always nothing, over tcp also for answers of peers that may have gone on already.
constexpr auto flush_time = std::chrono::microseconds(200);

/// Looking after our messages costs MPI's own calls time that is wasted as a rule: after so many looks in vain MPI is
/// to ask seldom, and only one look in so many is made.
constexpr unsigned looks_until_seldom = 64;
constexpr unsigned looks_per_progress = 4;

}  // namespace

ProgressEngine::ProgressEngine(const Config& config, ProcessTransport& transport, RuntimeLock& lock)
    : config_(config), transport_(transport), lock_(lock), unattended_(config, transport) {}

ProgressEngine::~ProgressEngine() = default;

bool ProgressEngine::step(Driven& running, bool& rests, bool& lost) {
  const std::lock_guard guard(lock_);
  const bool moved = transport_->progress();
  if (moved) unattended_.note_movement();
  running.advance();
  unattended_.advance();
  rests = running.rests();
  if (!moved && !rests && transport_->has_broken(running.peers())) lost = true;
  return moved;
}

void ProgressEngine::look_after(Unattended& call) {
  unattended_.look_after(call);
  attend(true);
  wake_progress_thread();
}

void ProgressEngine::wake_progress_thread() {
  if (!has_progress_thread()) return;
  try {
    if (progress_thread_ == nullptr) {
      progress_thread_ = std::make_unique<ProgressThread>(*this);
      if (!progress_processors_.empty()) progress_thread_->bind(progress_processors_);
    }
    progress_thread_->wake();
  } catch (const std::system_error& error) {
    progress_thread_failed_ = true;
    log(LogLevel::warn, std::string("no progress thread: ") + error.what());
  }
}

std::vector<Unattended*> ProgressEngine::take_ended() {
  if (!unattended_.have_ended()) return {};
  std::vector<std::shared_ptr<Errand>> done;  // goes after the lock
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return {};
  return unattended_.take_ended(done);
}

void ProgressEngine::run_beside(std::shared_ptr<Errand> errand) {
  unattended_.run_beside(std::move(errand));
  wake_progress_thread();
}

bool ProgressEngine::idle() {
  const std::lock_guard guard(lock_);
  return unattended_.idle();
}

bool ProgressEngine::has_errands() {
  const std::lock_guard guard(lock_);
  return unattended_.have_errands();
}

bool ProgressEngine::step_unattended() noexcept {
  const bool moved = transport_->progress();
  if (moved) unattended_.note_movement();
  unattended_.advance(threads_may_call_mpi_);
  if (!unattended_.empty()) unattended_.exchange_signs_of_life(Clock::now());
  std::erase_if(lingering_, [this](Flush& flush) { return transport_->flushed(flush, {}); });
  return moved;
}

void ProgressEngine::give_core_to_progress_thread(const std::string& processors) {
  const std::lock_guard guard(lock_);
  if (core_sought_.exchange(true)) return;
  progress_processors_ = processors;
  if (progress_thread_ != nullptr && !processors.empty()) progress_thread_->bind(processors);
}

void ProgressEngine::stop_progress_thread() { progress_thread_.reset(); }

void ProgressEngine::stop() {
  stop_progress_thread();
  unattended_.drop_errands();
  for (Flush& flush : lingering_) transport_->abandon(flush);
  lingering_.clear();
}

int ProgressEngine::milliseconds_to_next_advance(const Driven& running) {
  const std::lock_guard guard(lock_);
  return unattended_.milliseconds_to_next_advance(running.milliseconds_to_next_advance());
}

bool ProgressEngine::arm() {
  const std::lock_guard guard(lock_);
  return transport_->arm();
}

bool ProgressEngine::progress() noexcept {
  looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard.owns_lock() && progress_transport();
}

void ProgressEngine::set_background_progress(void (*how)(bool closely) noexcept) {
  const std::lock_guard guard(lock_);
  background_progress_ = true;
  attend_ = how;
  // Where lost messages are sent again, others may need this process at any time.
  attend(transport_.resilient() != nullptr);
}

void ProgressEngine::attend(bool closely) noexcept {
  looks_in_vain_.store(0, std::memory_order_relaxed);
  if (closely_.exchange(closely, std::memory_order_relaxed) == closely || attend_ == nullptr) return;
  attend_(closely);
}

bool ProgressEngine::program_makes_progress() {
  constexpr unsigned looks_of_a_wait = 64;
  const unsigned looks = looks_.load(std::memory_order_relaxed);
  return looks - std::exchange(looks_seen_, looks) > looks_of_a_wait;
}

bool ProgressEngine::progress_in_passing() noexcept {
  looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const unsigned looks = looks_in_vain_.load(std::memory_order_relaxed) + 1;
  looks_in_vain_.store(looks, std::memory_order_relaxed);
  // The lock alone would be felt in MPI's smallest calls.
  if (!closely_.load(std::memory_order_relaxed) && looks % looks_per_progress != 0) return false;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return false;
  const bool moved = progress_transport();
  if (moved || !unattended_.empty() || transport_.resilient() != nullptr) {
    looks_in_vain_.store(0, std::memory_order_relaxed);
  } else if (looks > looks_until_seldom) {
    attend(false);
  }
  return moved;
}

bool ProgressEngine::progress_transport() noexcept {
  const bool moved = transport_->progress();
  unattended_.advance();
  if (moved) unattended_.note_movement();
  unattended_.give_up();
  return moved;
}

/// A transport that has something left to do cannot be waited for, and what it waits for may need this processor.
void ProgressEngine::block_or_yield(int milliseconds) {
  if (arm()) {
    transport_->block(milliseconds);
  } else {
    sched_yield();
  }
}

bool ProgressEngine::wait_for_rest(Driven& running, ProgressHook hook, const std::function<std::string()>& in_words) {
  const auto poll_time =
      std::chrono::microseconds(config_.poll_microseconds) * (hook.peers_share_memory ? polls_of_memory : 1);
  PollHistory& history = hook.peers_share_memory ? polls_in_memory_ : polls_;
  const auto patience = std::chrono::seconds(config_.timeout_seconds);
  const Clock::time_point begin = Clock::now();
  Clock::time_point still_since = begin;
  Clock::time_point next_hook = begin + shortest_hook_interval;
  bool still = false;
  bool poll = true;
  bool told = false;
  bool lost = false;
  for (bool rests = false;;) {
    const bool moved = step(running, rests, lost);
    if (rests) return true;
    if (lost) {
      log(LogLevel::error, "a collective fails: the connection to another rank broke");
      return false;
    }
    if (moved) {
      if (still && poll) history.note(Clock::now() - still_since < poll_time);
      still = false;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (!still) {
      still = true;
      still_since = now;
      poll = history.pays();
    }
    if (!told && now - still_since > shortest_hook_interval) {
      const std::lock_guard guard(lock_);
      told = warn_of_silence(now - still_since, in_words);
    }
    if (config_.timeout_seconds > 0 && now - still_since > patience) {
      log(LogLevel::error, "a collective fails: nothing moved for " + std::to_string(config_.timeout_seconds) + " s");
      return false;
    }
    if (now >= next_hook) {
      hook();
      if (now - begin > shortest_doubt && hook.waits_in_vain()) return false;
      next_hook = now + std::clamp<std::chrono::nanoseconds>((now - begin) / hook_intervals_per_wait,
                                                             shortest_hook_interval, longest_hook_interval);
      continue;
    }
    if (poll && now - still_since < poll_time) {
      sched_yield();
      continue;
    }
    if (std::exchange(poll, false)) history.note(false);
    const auto until_hook = std::chrono::ceil<std::chrono::milliseconds>(next_hook - now).count();
    block_or_yield(std::min(static_cast<int>(until_hook), milliseconds_to_next_advance(running)));
  }
}

bool ProgressEngine::wait(const std::function<bool()>& done, const std::function<void()>& meanwhile,
                          const std::function<std::string()>& in_words) {
  Clock::time_point still_since = Clock::now();
  bool told = false;
  for (;;) {
    bool moved = false;
    {
      const std::lock_guard guard(lock_);
      moved = transport_->progress();
      unattended_.advance_errands();
      if (done()) return true;
    }
    const Clock::time_point now = Clock::now();
    if (moved) still_since = now;
    told = told || warn_of_silence(now - still_since, in_words);
    if (config_.timeout_seconds > 0 && now - still_since > std::chrono::seconds(config_.timeout_seconds)) return false;
    meanwhile();
    if (!moved) block_or_yield(1);
  }
}

void ProgressEngine::flush(std::span<const PeerId> peers, ProgressHook hook) {
  const Clock::time_point deadline = Clock::now() + flush_time;
  Flush flush;
  for (;;) {
    {
      const std::lock_guard guard(lock_);
      if (transport_->flushed(flush, peers)) return;
      transport_->progress();
      if (Clock::now() > deadline && leave_to_others(flush)) return;
    }
    hook();
    sched_yield();
  }
}

bool ProgressEngine::leave_to_others(Flush& flush) {
  if (background_progress_) {
    transport_->abandon(flush);
    return true;
  }
  // Over tcp the others answer in their own progress, and they may be in MPI until this process comes there, too.
  if (!has_progress_thread()) return false;
  lingering_.push_back(std::move(flush));
  wake_progress_thread();
  return true;
}

bool ProgressEngine::drive(Driven& running, ProgressHook hook, const std::function<std::string()>& in_words) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const bool rests = wait_for_rest(running, hook, in_words);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  if (!rests || running.failed()) return false;
  if (!background_progress_ || running.largest_message_bytes() > transport_->unflushed_bytes()) {
    flush(running.peers(), hook);
  }
  return true;
}

}  // namespace libcoll::comm
