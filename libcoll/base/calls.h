// The calls of MPI that libcoll knows, and the planned collectives that serve them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/schedule/schedule.h"

namespace libcoll {

#define LIBCOLL_CALL(name, collective) name,
#define LIBCOLL_NATIVE_CALL(name) name,
#define LIBCOLL_NONBLOCKING_CALL(name, variant) name,
#define LIBCOLL_PERSISTENT_CALL(name, variant) name,
enum class CallKind : std::uint8_t {
#include "libcoll/calls.def"
};

/// Name of each call as in MPI_NAME, in lower case; by CallKind.
#define LIBCOLL_CALL(name, collective) std::string_view(#name),
#define LIBCOLL_NATIVE_CALL(name) std::string_view(#name),
#define LIBCOLL_NONBLOCKING_CALL(name, variant) std::string_view(#name),
#define LIBCOLL_PERSISTENT_CALL(name, variant) std::string_view(#name),
inline constexpr std::array call_names{
#include "libcoll/calls.def"
};

inline constexpr std::size_t call_count = call_names.size();
inline constexpr std::size_t collective_count = 4;

constexpr std::string_view to_string(CallKind kind) { return call_names[static_cast<std::size_t>(kind)]; }

/// The call of that name; nullopt when there is none.
constexpr std::optional<CallKind> parse_call(std::string_view name) {
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    if (call_names[kind] == name) return static_cast<CallKind>(kind);
  }
  return std::nullopt;
}

/// Of nonblocking and persistent calls the blocking ones that do the same, of others these themselves; by CallKind.
#define LIBCOLL_CALL(name, collective) CallKind::name,
#define LIBCOLL_NATIVE_CALL(name) CallKind::name,
#define LIBCOLL_NONBLOCKING_CALL(name, variant) CallKind::variant,
#define LIBCOLL_PERSISTENT_CALL(name, variant) CallKind::variant,
inline constexpr std::array blocking_variants{
#include "libcoll/calls.def"
};

constexpr CallKind blocking_variant(CallKind kind) { return blocking_variants[static_cast<std::size_t>(kind)]; }
/// Also of persistent calls: their starts do not wait.
constexpr bool is_nonblocking(CallKind kind) { return blocking_variant(kind) != kind; }

/// One rank has all the data, or gets it. Of blocking calls.
constexpr bool is_rooted(CallKind kind) { return kind == CallKind::bcast || kind == CallKind::reduce; }

/// Blocks may differ, and all ranks know how long all of them are. Of blocking calls.
constexpr bool has_known_blocks(CallKind kind) {
  return kind == CallKind::allgatherv || kind == CallKind::reduce_scatter;
}

/// Whose plan serves each blocking call, by CallKind.
#define LIBCOLL_CALL(name, collective) std::optional<schedule::Collective>(schedule::Collective::collective),
#define LIBCOLL_NATIVE_CALL(name) std::optional<schedule::Collective>(),
inline constexpr std::array call_collectives{
#include "libcoll/calls.def"
};

/// Whose plan serves the call; nullopt when it is always left to MPI.
constexpr std::optional<schedule::Collective> collective_of(CallKind kind) {
  return call_collectives[static_cast<std::size_t>(blocking_variant(kind))];
}

}  // namespace libcoll
