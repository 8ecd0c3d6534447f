// The key by which a blocking call is remembered, made of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "pmpi/shim/fall_through_cache.h"
#include "pmpi/shim/mpi_symbols.h"

namespace libcoll::pmpi {

/// Arrays are not looked into, and nonblocking calls have a request.
template <class Argument>
constexpr bool is_array = std::is_same_v<Argument, const int*> || std::is_same_v<Argument, const MPI_Count*> ||
                          std::is_same_v<Argument, const MPI_Aint*> || std::is_same_v<Argument, const MPI_Datatype*>;

/// Whether calls with such arguments have a key.
template <class... Arguments>
constexpr bool has_key = (!is_array<Arguments> && ...) && (!std::is_same_v<Arguments, MPI_Request*> && ...);

/// What of an argument goes into a key; nothing of a buffer.
template <class Argument>
constexpr bool is_word = !std::is_same_v<Argument, const void*> && !std::is_same_v<Argument, void*>;

/// A handle or a number. Where handles are addresses, they are of types of their own.
template <class Word>
std::uint64_t word_of(Word word) noexcept {
  if constexpr (std::is_pointer_v<Word>) {
    return number_of(word);
  } else {
    return static_cast<std::uint64_t>(word);
  }
}

/// Precondition: has_key<Arguments...>. The communicator stands among the arguments, too. Inlined, so that a key that
/// is only compared is never put together in memory.
template <class... Arguments>
[[gnu::always_inline]] inline CallKey key_of(CallKind kind, MPI_Comm comm, Arguments... arguments) noexcept {
  CallKey key;
  key.as_of = FallThroughCache::now();
  key.comm = number_of(comm);
  key.kind = kind;
  std::size_t words = 0;
  const auto take = [&](auto argument) __attribute__((always_inline)) {
    if constexpr (is_word<decltype(argument)>) {
      key.words[words++] = word_of(argument);
    } else {
      key.in_place = key.in_place || argument == MPI_IN_PLACE;
    }
  };
  (take(arguments), ...);
  return key;
}

}  // namespace libcoll::pmpi
