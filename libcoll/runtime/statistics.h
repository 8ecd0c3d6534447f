// How many calls libcoll served, and why the others fell through.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "libcoll/runtime/calls.h"
#include "planner/result.h"

namespace libcoll {

/// Why a call went to the program's own MPI. Every one is the same on all ranks of the communicator.
enum class Reason : std::uint8_t {
  disabled,
  no_topology,
  bad_topology,
  bad_route_binding,
  settings_differ,
  transport,
  single_rank,
  inter_communicator,
  sub_communicator,
  several_ranks,
  shared_memory,
  chosen_native,
  tuned_native,
  no_plan,
  no_bytes,
  user_operation,
  unsupported_type,
  types_per_pair,
  not_agreed,
  unknown_counts,
  no_progress,
  bad_arguments,
  count_,  ///< how many there are
};

/// One sentence part for logs and statistics: "LIBCOLL_ENABLE is off".
std::string_view to_string(Reason reason);

/// Counters of one process; any thread may count.
class Statistics {
 public:
  void count_served(CallKind kind) { ++served_[static_cast<std::size_t>(kind)]; }
  void count_fallen_through(CallKind kind, Reason reason) {
    ++fallen_through_[static_cast<std::size_t>(kind)];
    ++reasons_[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::int64_t served(CallKind kind) const { return served_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::int64_t fallen_through(CallKind kind) const {
    return fallen_through_[static_cast<std::size_t>(kind)];
  }

  /// Every call of calls.def is listed.
  /// {"version": …, "ranks": …, "collectives": {"allreduce": {"served": n, "fallen_through": m}, …},
  ///  "reasons": {"TEXT": n, …}}
  [[nodiscard]] std::string to_json(int ranks) const;
  /// "allreduce 12 served, 3 fell through; …"
  [[nodiscard]] std::string to_summary() const;

 private:
  std::array<std::atomic<std::int64_t>, call_count> served_{};
  std::array<std::atomic<std::int64_t>, call_count> fallen_through_{};
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Reason::count_)> reasons_{};
};

/// Writes what LIBCOLL_STATS asks for ("summary" or "json:FILE"); nothing for an empty text.
Status report_statistics(const Statistics& statistics, std::string_view setting, int ranks);

}  // namespace libcoll
