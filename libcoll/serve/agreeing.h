// How ranks that agree wait for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "libcoll/base/clock.h"

namespace libcoll::serve {

/// While it lives, this thread is in a collective of MPI's own by which the ranks agree. MPI polls: where ranks share
/// processors, whom they wait for would come to work late. So after a time in which agreement is over as a rule, they
/// nap whenever MPI makes progress.
class Agreeing {
 public:
  /// `comm` is the handle of the program's communicator.
  explicit Agreeing(std::uint64_t comm) {
    since = steady_nanoseconds();
    over = comm;
  }
  ~Agreeing() {
    since = 0;
    over.reset();
  }
  Agreeing(const Agreeing&) = delete;
  Agreeing& operator=(const Agreeing&) = delete;

  /// From within MPI's progress.
  static void nap() {
    if (since != 0 && steady_nanoseconds() - since > prompt_nanoseconds) std::this_thread::sleep_for(length);
  }

  /// How long this thread has been at it; 0: it is not, or that was told of.
  static std::int64_t untold_nanoseconds() { return since == 0 || !over ? 0 : steady_nanoseconds() - since; }
  /// The program's communicator, to be told of; nothing afterwards.
  static std::optional<std::uint64_t> take_untold() { return std::exchange(over, std::nullopt); }

 private:
  static constexpr std::int64_t prompt_nanoseconds = 500'000;
  static constexpr std::chrono::microseconds length{100};

  static inline thread_local std::int64_t since = 0;
  static inline thread_local std::optional<std::uint64_t> over;
};

}  // namespace libcoll::serve
