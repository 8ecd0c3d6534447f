// The way into libcoll that all entry points share.
#pragma once

#include <optional>

namespace libcoll::pmpi {

/// A call of this thread's on its way through an entry point. What it calls in turn, in libcoll or in what it was
/// handed on to (another tool, or an MPI whose collectives are made of one another), is not the program's call: it is
/// not counted nor served again.
class Entrance {
 public:
  Entrance() { ++depth; }
  ~Entrance() { --depth; }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  [[nodiscard]] static bool is_program() { return depth == 1; }
  /// This thread is in no call.
  [[nodiscard]] static bool is_outside() { return depth == 0; }

 private:
  // The library is loaded with the program, so there is room in its thread-local storage.
  static inline thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
};

/// Serves the call, or hands it on.
template <class... Parameters, class... Arguments>
int enter(std::optional<int> (*serve)(Parameters...) noexcept, int (*fall_through)(Parameters...),
          Arguments... arguments) {
  const Entrance entrance;
  if (Entrance::is_program()) {
    if (const std::optional<int> code = serve(arguments...)) return *code;
  }
  return fall_through(arguments...);
}

}  // namespace libcoll::pmpi
