// What a thread keeps of the program's calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "libcoll/base/calls.h"
#include "libcoll/observe/statistics.h"

namespace libcoll::comm {
class Communicator;
}  // namespace libcoll::comm

namespace libcoll::serve {

/// All of a blocking call's arguments that may decide how it goes. Handles mean the same as before as long as nothing
/// was forgotten, but for those of datatypes that the program has made.
struct CallKey {
  static constexpr std::size_t word_count = 5;

  std::uint64_t as_of = 0;  ///< FallThroughCache::now() when the call came
  std::uint64_t comm = 0;   ///< the handle
  /// Counts, handles and roots in their order among the arguments.
  std::array<std::uint64_t, word_count> words{};
  CallKind kind = CallKind::allreduce;
  bool in_place = false;

  /// Without branches and loops, for every call that falls through is compared once: members of a key that was just
  /// made stay in registers.
  friend bool operator==(const CallKey& left, const CallKey& right) noexcept {
    const auto differing_words = [&]<std::size_t... i>(std::index_sequence<i...> /*each*/) {
      return ((left.words[i] ^ right.words[i]) | ...);
    };
    const std::uint64_t differing =
        (left.as_of ^ right.as_of) | (left.comm ^ right.comm) | differing_words(std::make_index_sequence<word_count>());
    const auto small = [](const CallKey& key) {
      return static_cast<unsigned>(key.kind) << 1U | (key.in_place ? 1U : 0U);
    };
    return (differing | (small(left) ^ small(right))) == 0;
  }
};

/// How a call fared.
struct CachedFallThrough {
  CallKey call;
  std::int64_t bytes = 0;  ///< as it was counted
  observe::Reason reason = observe::Reason::disabled;
  comm::Communicator* communicator = nullptr;  ///< null: the ranks have none
};

/// For ReentrancyGuard and FallThroughCache: one object, because each thread-local one takes a call to be found.
struct ThreadCalls {
  static constexpr unsigned place_bits = 2;

  int depth = 0;                        ///< calls that this thread is in, one within the other
  std::uint64_t communicator = 0;       ///< the handle of the outermost
  void (*at_end)() noexcept = nullptr;  ///< to be called at its end
  std::array<CachedFallThrough, 1U << place_bits> fallen_through{};
  std::array<std::size_t, (1U << place_bits) / 2> newest{0, 2};  ///< of two places side by side, which was written last
};
inline constinit thread_local ThreadCalls thread_calls;

}  // namespace libcoll::serve
