// The way into libcoll that all entry points share.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace libcoll::pmpi {

/// A call of this thread's on its way through an entry point. What it calls in turn, in libcoll or in what it was
/// handed on to (another tool, or an MPI whose collectives are made of one another), is not the program's call: it is
/// not counted nor served again.
class ReentrancyGuard {
 public:
  ReentrancyGuard() { ++depth; }
  ~ReentrancyGuard() {
    if (--depth == 0 && at_end != nullptr) std::exchange(at_end, nullptr)();
  }
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  [[nodiscard]] static bool is_program() { return depth == 1; }
  /// This thread is in no call.
  [[nodiscard]] static bool is_outside() { return depth == 0; }

  /// Keeps the handle of the communicator of the program's call.
  static void remember(std::uint64_t communicator) { current = communicator; }
  /// Of the program's call that this thread is in.
  [[nodiscard]] static std::uint64_t communicator() { return current; }
  /// Has this called when the program's call has come back from where it was handed on to.
  static void call_at_end(void (*function)() noexcept) { at_end = function; }

 private:
  static inline thread_local int depth = 0;
  static inline thread_local std::uint64_t current = 0;
  static inline thread_local void (*at_end)() noexcept = nullptr;
};

/// Serves the call, or hands it on. `comm` is its communicator's handle.
template <class... Parameters, class... Arguments>
int enter(std::uint64_t comm, std::optional<int> (*serve)(Parameters...) noexcept, int (*fall_through)(Parameters...),
          Arguments... arguments) {
  const ReentrancyGuard reentrancy;
  if (ReentrancyGuard::is_program()) {
    ReentrancyGuard::remember(comm);
    if (const std::optional<int> code = serve(arguments...)) return *code;
  }
  return fall_through(arguments...);
}

}  // namespace libcoll::pmpi
