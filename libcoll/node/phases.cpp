#include "libcoll/node/phases.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <new>

namespace libcoll::node {
namespace {

using Clock = std::chrono::steady_clock;

/// Other things are looked after at intervals that grow with the wait, as in Runtime.
constexpr std::chrono::nanoseconds shortest_interval = std::chrono::microseconds(100);
constexpr int intervals_per_wait = 4;

bool is_there(std::uint32_t where, std::uint32_t phase) { return static_cast<std::int32_t>(where - phase) >= 0; }

/// Between processes, so without FUTEX_PRIVATE_FLAG; the word is an atomic without a lock.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) {
  syscall(SYS_futex, &word, operation, value, time, nullptr, 0);
}

}  // namespace

std::size_t Phases::bytes(std::int32_t processes) { return static_cast<std::size_t>(processes) * sizeof(Line); }

Phases::Phases(std::byte* memory, std::int32_t processes, std::int32_t self)
    : lines_(std::launder(reinterpret_cast<Line*>(memory))), processes_(processes), self_(self) {}

void Phases::post(std::uint32_t phase) {
  Line& own = line(self_);
  // Store, then load of another word: only sequential consistency keeps that order, on every processor. Either we see
  // the sleeper, or the kernel, which compares after a full barrier, sees the new phase and does not let it sleep. As a
  // release it publishes what this process wrote before.
  own.phase.store(phase, std::memory_order_seq_cst);
  if (own.sleepers.load(std::memory_order_seq_cst) > 0) futex(own.phase, FUTEX_WAKE, INT_MAX, nullptr);
}

bool Phases::has_come(std::int32_t process, std::uint32_t phase) const {
  // Acquire: what the process wrote before post() is read after this.
  return is_there(line(process).phase.load(std::memory_order_acquire), phase);
}

bool Phases::have_come(Awaited awaited) const {
  for (std::int32_t process = 0; process < awaited.processes; ++process) {
    if (!has_come(process, awaited.phase)) return false;
  }
  return true;
}

std::uint32_t Phases::signs_of_missing(Awaited awaited) const {
  std::uint32_t signs = 0;
  for (std::int32_t process = 0; process < awaited.processes; ++process) {
    const Line& other = line(process);
    // Relaxed: a count that is late only prolongs a wait, and no data is read because of it.
    if (is_there(other.phase.load(std::memory_order_relaxed), awaited.phase)) continue;
    signs += other.signs_of_life.load(std::memory_order_relaxed);
  }
  return signs;
}

bool Phases::wait(Awaited awaited, const Patience& patience) {
  for (std::int32_t process = 0; process < awaited.processes; ++process) {
    if (!wait_for(line(process), awaited.phase, patience)) return false;
  }
  return true;
}

bool Phases::wait_for(Line& other, std::uint32_t phase, const Patience& patience) {
  // Acquire, here and below: pairs with the store in post().
  if (is_there(other.phase.load(std::memory_order_acquire), phase)) return true;
  const Clock::time_point begin = Clock::now();
  Clock::time_point alive_at = begin;
  Clock::time_point next_look = begin + shortest_interval;
  // Relaxed, wherever signs of life are counted or looked at: only that they change matters.
  std::uint32_t signs = other.signs_of_life.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t where = other.phase.load(std::memory_order_acquire);
    if (is_there(where, phase)) return true;
    if (failed()) return false;
    const Clock::time_point now = Clock::now();
    const std::uint32_t new_signs = other.signs_of_life.load(std::memory_order_relaxed);
    if (new_signs != signs) {
      signs = new_signs;
      alive_at = now;
    }
    if (patience.limit.count() > 0 && now - alive_at > patience.limit) {
      fail();
      return false;
    }
    if (now >= next_look) {
      signs_of_life().fetch_add(1, std::memory_order_relaxed);
      if (patience.other_things != nullptr && !(*patience.other_things)()) return false;
      const std::chrono::nanoseconds longest =
          std::max<std::chrono::nanoseconds>(patience.longest_sleep, shortest_interval);
      next_look = Clock::now() +
                  std::clamp<std::chrono::nanoseconds>((now - begin) / intervals_per_wait, shortest_interval, longest);
      continue;
    }
    if (now - begin < patience.poll) {
      sched_yield();
    } else {
      sleep(other, where, next_look - now);
    }
  }
}

void Phases::sleep(Line& other, std::uint32_t seen, std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
  // Sequentially consistent: before the kernel compares the phase. Pairs with the load in post().
  other.sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex(other.phase, FUTEX_WAIT, seen, &limit);
  // Relaxed: a post() that sees the old count wakes in vain.
  other.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Phases::fail() {
  for (std::int32_t process = 0; process < processes_; ++process) {
    // Relaxed, with failed(): no data follows from it. A process that sleeps although it is set sees it at its next
    // look, since every sleep ends.
    line(process).failed.store(1, std::memory_order_relaxed);
    futex(line(process).phase, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

// See fail().
bool Phases::failed() const { return line(self_).failed.load(std::memory_order_relaxed) != 0; }

}  // namespace libcoll::node
