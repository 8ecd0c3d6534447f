// Calls that fell through, remembered: a call like one of them falls through as well, without a second look. A program
// repeats its small calls, and all that decides how one goes takes longer than MPI needs for the call itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libcoll/observe/statistics.h"
#include "libcoll/serve/thread_calls.h"

namespace libcoll::serve {

/// Of this thread. Each call has two places: programs go from one communicator to another and back. Remembering is no
/// decision: who finds a cached call does what it would do without, and what that is involves no other rank.
class FallThroughCache {
 public:
  /// Grows whenever all is forgotten.
  [[nodiscard]] static std::uint64_t now() noexcept { return changes.load(std::memory_order_acquire); }
  /// In all threads: what a handle stood for is gone, or calls that fell through may have something to do first.
  static void forget_all() noexcept { changes.fetch_add(1, std::memory_order_acq_rel); }

  /// Null when nothing like it is at its first place, where most calls are: a key that is only looked for there stays
  /// in registers.
  [[nodiscard]] static const CachedFallThrough* find_first(const CallKey& call) noexcept {
    return at(first_place_of(call), call);
  }
  /// Null when nothing like it is remembered.
  [[nodiscard]] static const CachedFallThrough* find(const CallKey& call) noexcept {
    const CachedFallThrough* found = find_first(call);
    return found != nullptr ? found : at(second(first_place_of(call)), call);
  }
  /// Of the calls that share two places, the one that was added last stays.
  static void add(const CachedFallThrough& cached) noexcept {
    auto& places = thread_calls.fallen_through;
    const std::size_t first = first_place_of(cached.call);
    std::size_t& newest = thread_calls.newest[first / 2];
    places[second(first)] = places[newest];
    places[first] = cached;
    newest = first;
  }

 private:
  static std::size_t first_place_of(const CallKey& call) noexcept {
    // Fibonacci hashing: communicators lie at multiples of some power of two, counts are small.
    const std::uint64_t key = call.comm + (call.words.front() << 8U) + static_cast<std::uint64_t>(call.kind);
    return key * 0x9e3779b97f4a7c15U >> (64U - ThreadCalls::place_bits);
  }

  static std::size_t second(std::size_t first) noexcept { return first ^ 1U; }
  static const CachedFallThrough* at(std::size_t place, const CallKey& call) noexcept {
    const CachedFallThrough& cached = thread_calls.fallen_through[place];
    return cached.call == call ? &cached : nullptr;
  }

  // Not 0, which is what places begin with.
  static inline std::atomic<std::uint64_t> changes{1};
};

/// Whether calls that fall through for that reason do so for as long as the same arguments mean the same.
constexpr bool lasts(observe::Reason reason) noexcept {
  switch (reason) {
    // What was agreed on with the communicator, or with a plan that is not made again.
    case observe::Reason::disabled:
    case observe::Reason::no_topology:
    case observe::Reason::bad_topology:
    case observe::Reason::bad_route_binding:
    case observe::Reason::settings_differ:
    case observe::Reason::not_everywhere:
    case observe::Reason::single_rank:
    case observe::Reason::inter_communicator:
    case observe::Reason::unknown_nodes:
    case observe::Reason::one_node:
    case observe::Reason::disconnected:
    case observe::Reason::too_many:
    case observe::Reason::several_ranks:
    case observe::Reason::shared_memory:
    case observe::Reason::chosen_native:
    case observe::Reason::tuned_native:
    case observe::Reason::measured_native:
    case observe::Reason::modelled_native:
    case observe::Reason::no_plan:
    // What the arguments say by themselves.
    case observe::Reason::no_bytes:
    case observe::Reason::user_operation:
      return true;
    // What another look may find changed, and what does not come in calls that are alike.
    case observe::Reason::transport:
    case observe::Reason::lengths_differ:
    case observe::Reason::planning:
    case observe::Reason::unsupported_type:
    case observe::Reason::device_memory:
    case observe::Reason::not_agreed:
    case observe::Reason::no_progress:
    case observe::Reason::bad_arguments:
      break;
  }
  return false;
}

}  // namespace libcoll::serve
