// How far each process of a node has come, in memory that they share; waiting for each other, and giving up together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace libcoll::node {

/// How a process waits.
struct Patience {
  std::chrono::microseconds poll{20};             ///< looks again and again for so long, then sleeps in between
  std::chrono::seconds limit{0};                  ///< without a sign of life for so long it gives up; 0: never
  std::chrono::microseconds longest_sleep{8000};  ///< how seldom it looks after other things at most
  /// Messages to move along meanwhile. False: nothing is to be waited for any more.
  const std::function<bool()>* other_things = nullptr;
};

/// Processes [0, `processes`) have posted `phase` or a later one. Of no processes: always.
struct Awaited {
  std::int32_t processes = 0;
  std::uint32_t phase = 0;
};

/// A row of counters, one per process; each process only ever counts its own up. Phases are compared as serial numbers
/// (modulo 2^32). Without locks: one writer a counter, release by post(), acquire by who waits. All else that a node's
/// ranks share (NodeMemory, stages, staging) is plain memory, written before a post() and read after its wait().
class Phases {
 public:
  /// Bytes of shared memory, zeroed at first and aligned to a cache line, for so many processes.
  static std::size_t bytes(std::int32_t processes);

  /// `self`: the place of this process, below `processes`.
  Phases(std::byte* memory, std::int32_t processes, std::int32_t self);

  /// This process has come to `phase`: what it wrote before is seen by those that wait for the phase.
  void post(std::uint32_t phase);
  /// Without waiting.
  [[nodiscard]] bool have_come(Awaited awaited) const;
  [[nodiscard]] bool has_come(std::int32_t process, std::uint32_t phase) const;
  /// Changes whenever one of those who have not come yet gives a sign of life.
  [[nodiscard]] std::uint32_t signs_of_missing(Awaited awaited) const;
  /// Until they have come. False when one of them gives no sign of life for too long, some process of the node has
  /// given up, or other things say so.
  bool wait(Awaited awaited, const Patience& patience);
  /// This process gives up, and with it everybody who waits.
  void fail();
  [[nodiscard]] bool failed() const;
  /// Signs of life, for a process that works for long between two phases.
  [[nodiscard]] std::atomic<std::uint32_t>& signs_of_life() { return line(self_).signs_of_life; }

  /// What a process says with even or odd phases: on the cache line of its counter, so that who waits for that has it.
  struct Note {
    std::int64_t number;
    std::byte data[16];
  };
  [[nodiscard]] Note& note(std::int32_t process, std::uint32_t phase) const { return line(process).notes[phase % 2]; }

 private:
  /// Two cache lines, as processors fetch them in pairs.
  struct alignas(128) Line {
    std::atomic<std::uint32_t> phase;          ///< written by its process alone: release, and ordered before `sleepers`
    std::atomic<std::uint32_t> sleepers;       ///< processes asleep until `phase` changes
    std::atomic<std::uint32_t> signs_of_life;  ///< relaxed: any change is one
    std::atomic<std::uint32_t> failed;         ///< relaxed: written by anybody, never taken back
    Note notes[2];                             ///< plain memory
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  static_assert(sizeof(Note[2]) + 4 * sizeof(std::atomic<std::uint32_t>) <= 64);

  [[nodiscard]] Line& line(std::int32_t process) const { return lines_[process]; }
  bool wait_for(Line& other, std::uint32_t phase, const Patience& patience);
  static void sleep(Line& other, std::uint32_t seen, std::chrono::nanoseconds time);

  Line* lines_;
  std::int32_t processes_;
  std::int32_t self_;
};

}  // namespace libcoll::node
