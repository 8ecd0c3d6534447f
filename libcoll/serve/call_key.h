// The key by which a blocking call is remembered, made of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// Arrays are not looked into, and nonblocking calls have a request.
template <class Argument>
constexpr bool is_array = std::is_same_v<Argument, const int*> || std::is_same_v<Argument, const std::int64_t*> ||
                          std::is_same_v<Argument, MpiDatatypes>;

/// Whether calls with such arguments have a key.
template <class... Arguments>
constexpr bool has_key = (!is_array<Arguments> && ...) && (!std::is_same_v<Arguments, MpiRequests> && ...);

/// What of an argument goes into a key; nothing of a buffer.
template <class Argument>
constexpr bool is_word = !std::is_same_v<Argument, const void*> && !std::is_same_v<Argument, void*>;

/// Precondition: has_key<Arguments...>. The communicator stands among the arguments, too. Inlined, so that a key that
/// is only compared is never put together in memory.
template <class... Arguments>
[[gnu::always_inline]] inline CallKey key_of(CallKind kind, MpiComm comm, Arguments... arguments) noexcept {
  CallKey key;
  key.as_of = FallThroughCache::now();
  key.comm = number_of(comm);
  key.kind = kind;
  std::size_t words = 0;
  const auto take = [&](auto argument) __attribute__((always_inline)) {
    if constexpr (is_word<decltype(argument)>) {
      key.words[words++] = static_cast<std::uint64_t>(argument);
    } else {
      key.in_place = key.in_place || argument == mpi.in_place;
    }
  };
  (take(arguments), ...);
  return key;
}

}  // namespace libcoll::serve
