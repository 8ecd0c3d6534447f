// The way into libcoll that all entry points share.
#pragma once

#include <optional>
#include <utility>

struct ompi_communicator_t;  // what Open MPI's MPI_Comm points to

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

  /// Keeps the communicator among the arguments of the program's call.
  template <class... Arguments>
  static void remember(const Arguments&... arguments) {
    (keep(arguments), ...);
  }
  /// Of the program's call that this thread is in; null when it has none.
  [[nodiscard]] static ompi_communicator_t* communicator() { return current; }
  /// Has this called when the program's call has come back from where it was handed on to.
  static void call_at_end(void (*function)() noexcept) { at_end = function; }

 private:
  static void keep(ompi_communicator_t* communicator) { current = communicator; }
  template <class Argument>
  static void keep(const Argument&) {}

  static inline thread_local int depth = 0;
  static inline thread_local ompi_communicator_t* current = nullptr;
  static inline thread_local void (*at_end)() noexcept = nullptr;
};

/// Serves the call, or hands it on.
template <class... Parameters, class... Arguments>
int enter(std::optional<int> (*serve)(Parameters...) noexcept, int (*fall_through)(Parameters...),
          Arguments... arguments) {
  const ReentrancyGuard reentrancy;
  if (ReentrancyGuard::is_program()) {
    ReentrancyGuard::remember(arguments...);
    if (const std::optional<int> code = serve(arguments...)) return *code;
  }
  return fall_through(arguments...);
}

}  // namespace libcoll::pmpi
