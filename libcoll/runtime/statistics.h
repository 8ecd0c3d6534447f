// How many calls libcoll served, and why the others fell through.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "planner/result.h"
#include "planner/schedule/schedule.h"

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
  no_plan,
  no_bytes,
  user_operation,
  unsupported_type,
  bad_arguments,
  count_,  ///< how many there are
};

/// One sentence part for logs and statistics: "LIBCOLL_ENABLE is off".
std::string_view to_string(Reason reason);

inline constexpr std::size_t collective_count = 4;

/// Counters of one process; any thread may count.
class Statistics {
 public:
  void count_served(Collective collective) { ++served_[static_cast<std::size_t>(collective)]; }
  void count_fallen_through(Collective collective, Reason reason) {
    ++fallen_through_[static_cast<std::size_t>(collective)];
    ++reasons_[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::int64_t served(Collective collective) const {
    return served_[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] std::int64_t fallen_through(Collective collective) const {
    return fallen_through_[static_cast<std::size_t>(collective)];
  }

  /// {"version": …, "ranks": …, "collectives": {"allreduce": {"served": n, "fallen_through": m}, …},
  ///  "reasons": {"TEXT": n, …}}
  [[nodiscard]] std::string to_json(int ranks) const;
  /// "allreduce 12 served, 3 fell through; …"
  [[nodiscard]] std::string to_summary() const;

 private:
  std::array<std::atomic<std::int64_t>, collective_count> served_{};
  std::array<std::atomic<std::int64_t>, collective_count> fallen_through_{};
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Reason::count_)> reasons_{};
};

/// Writes what LIBCOLL_STATS asks for ("summary" or "json:FILE"); nothing for an empty text.
Status report_statistics(const Statistics& statistics, std::string_view setting, int ranks);

}  // namespace libcoll
