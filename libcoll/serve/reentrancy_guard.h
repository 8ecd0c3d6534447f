// The way into libcoll that all entry points share.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "libcoll/serve/thread_calls.h"

namespace libcoll::serve {

/// A call of this thread's on its way through an entry point. What it calls in turn, in libcoll or in what it was
/// handed on to (another tool, or an MPI whose collectives are made of one another), is not the program's call: it is
/// not counted nor served again.
class ReentrancyGuard {
 public:
  ReentrancyGuard() : calls_(&thread_calls) { ++calls_->depth; }
  ~ReentrancyGuard() {
    if (--calls_->depth == 0 && calls_->at_end != nullptr) std::exchange(calls_->at_end, nullptr)();
  }
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  [[nodiscard]] static bool is_program() { return thread_calls.depth == 1; }
  /// This thread is in no call.
  [[nodiscard]] static bool is_outside() { return thread_calls.depth == 0; }

  /// Keeps the handle of the communicator of the program's call.
  static void remember(std::uint64_t communicator) { thread_calls.communicator = communicator; }
  /// Of the program's call that this thread is in.
  [[nodiscard]] static std::uint64_t communicator() { return thread_calls.communicator; }
  /// Has this called when the program's call has come back from where it was handed on to.
  static void call_at_end(void (*function)() noexcept) { thread_calls.at_end = function; }

 private:
  ThreadCalls* calls_;
};

/// Hands the program's call on where `is_known` says that it falls through, or `serve` returns no code. `comm` is its
/// communicator's handle.
template <class IsKnown, class Serve, class... Parameters, class... Arguments>
int enter(std::uint64_t comm, IsKnown is_known, Serve serve, int (*fall_through)(Parameters...),
          Arguments... arguments) {
  const ReentrancyGuard reentrancy;
  if (ReentrancyGuard::is_program()) {
    ReentrancyGuard::remember(comm);
    if (!is_known(arguments...)) {
      if (const std::optional<int> code = serve(arguments...)) return *code;
    }
  }
  return fall_through(arguments...);
}

}  // namespace libcoll::serve
