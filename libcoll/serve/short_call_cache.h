// Short calls of ranks that share memory, which were served, remembered: a call like one of them goes the same way
// without a second look. All that decides how a call goes takes several times as long as the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "libcoll/comm/communicator.h"
#include "libcoll/serve/call_key.h"
#include "libcoll/serve/mpi.h"
#include "libcoll/serve/operands.h"
#include "planner/schedule/schedule.h"

namespace libcoll::serve {

/// A blocking call that went by Communicator::run_through_memory() from the program's buffers, and as others like it
/// will.
struct CachedShortCall {
  CallKey call;
  comm::Communicator* communicator = nullptr;
  schedule::Collective collective = schedule::Collective::allreduce;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  bool is_rooted = false;
  std::int32_t root = 0;
  Reduction reduction;  ///< of calls that reduce
};

/// Of this thread. Remembering is no decision: another rank that looks anew finds that the call goes the same way. What
/// is remembered ends with FallThroughCache::forget_all(), a communicator that is freed included.
class ShortCallCache {
 public:
  /// Null when nothing like it is remembered.
  [[nodiscard]] static const CachedShortCall* find(const CallKey& call) noexcept {
    for (const CachedShortCall& each : calls) {
      if (each.call == call) return &each;
    }
    return nullptr;
  }
  static void add(const CachedShortCall& call) noexcept {
    calls[next] = call;
    next = (next + 1) % calls.size();
  }

 private:
  static inline constinit thread_local std::array<CachedShortCall, 4> calls{};
  static inline constinit thread_local std::size_t next = 0;
};

/// Whether blocking calls of that kind are ever short ones.
constexpr bool may_be_short(CallKind kind) noexcept {
  return kind == CallKind::allreduce || kind == CallKind::allgather || kind == CallKind::alltoall ||
         kind == CallKind::reduce_scatter_block || kind == CallKind::bcast || kind == CallKind::reduce;
}

/// Serves a call like the remembered one; MPI's return code. Nothing where it turns out to be MPI's.
std::optional<int> run_again(const CachedShortCall& cached, const void* send_buffer, void* receive_buffer) noexcept;

/// Serves a call if one like it is remembered; nothing otherwise.
template <class... Arguments>
[[gnu::always_inline]] inline std::optional<int> serve_again(CallKind kind, MpiComm comm,
                                                             Arguments... arguments) noexcept {
  if constexpr (has_key<Arguments...>) {
    if (!may_be_short(kind)) return std::nullopt;
    const CachedShortCall* const cached = ShortCallCache::find(key_of(kind, comm, arguments...));
    if (cached == nullptr || cached->communicator->obstacle()) return std::nullopt;
    const void* send_buffer = nullptr;
    void* receive_buffer = nullptr;
    const auto take = [&](auto argument) {
      if constexpr (std::is_same_v<decltype(argument), const void*>) send_buffer = argument;
      if constexpr (std::is_same_v<decltype(argument), void*>) receive_buffer = argument;
    };
    (take(arguments), ...);
    return run_again(*cached, send_buffer, receive_buffer);
  } else {
    return std::nullopt;
  }
}

}  // namespace libcoll::serve
