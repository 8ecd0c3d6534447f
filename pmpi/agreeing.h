// How ranks that agree wait for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "libcoll/runtime/clock.h"

namespace libcoll::pmpi {

/// While it lives, this thread is in a collective of MPI's own by which the ranks agree. MPI polls: where ranks share
/// processors, whom they wait for would come to work late. So after a time in which agreement is over as a rule, they
/// nap whenever MPI makes progress.
class Agreeing {
 public:
  Agreeing() { since = steady_nanoseconds(); }
  ~Agreeing() { since = 0; }
  Agreeing(const Agreeing&) = delete;
  Agreeing& operator=(const Agreeing&) = delete;

  /// From within MPI's progress.
  static void nap() {
    if (since != 0 && steady_nanoseconds() - since > prompt_nanoseconds) std::this_thread::sleep_for(length);
  }

 private:
  static constexpr std::int64_t prompt_nanoseconds = 500'000;
  static constexpr std::chrono::microseconds length{100};

  // The library is loaded with the program, so there is room in its thread-local storage.
  static inline thread_local std::int64_t since __attribute__((tls_model("initial-exec"))) = 0;
};

}  // namespace libcoll::pmpi
