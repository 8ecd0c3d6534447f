// How many calls libcoll served, and why the others fell through.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/calls.h"
#include "planner/base/result.h"

namespace libcoll::observe {

class CommunicatorRecord;
struct CommunicatorFigures;
struct Report;

/// Why a call falls through to the program's own MPI; equal on all ranks of the communicator. Functions that decide
/// return std::optional<Reason>: no reason, no fall-through.
enum class Reason : std::uint8_t {
  disabled,
  no_topology,
  bad_topology,
  bad_route_binding,
  settings_differ,
  not_everywhere,
  transport,
  single_rank,
  inter_communicator,
  unknown_nodes,
  one_node,
  disconnected,
  too_many,
  several_ranks,
  shared_memory,
  lengths_differ,
  chosen_native,
  tuned_native,
  measured_native,
  modelled_native,
  no_plan,
  planning,
  no_bytes,
  user_operation,
  unsupported_type,
  device_memory,
  not_agreed,
  no_progress,
  bad_arguments,
};
inline constexpr auto reason_count = static_cast<std::size_t>(Reason::bad_arguments) + 1;

/// A reason, or none, as one number: in atomic variables and in messages between ranks of one version.
constexpr std::uint8_t pack_reason(std::optional<Reason> reason) {
  return reason ? static_cast<std::uint8_t>(*reason) : static_cast<std::uint8_t>(reason_count);
}
constexpr std::optional<Reason> unpack_reason(std::uint32_t number) {
  if (number >= reason_count) return std::nullopt;
  return static_cast<Reason>(number);
}

/// One sentence part for logs and statistics: "LIBCOLL_ENABLE is off".
std::string_view to_string(Reason reason);

/// Counters of one process; any thread may count.
class Statistics {
 public:
  Statistics();
  ~Statistics();
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  void count_served(CallKind kind) { count(served_[static_cast<std::size_t>(kind)]); }
  void count_fallen_through(CallKind kind, Reason reason) {
    count(fallen_through_[static_cast<std::size_t>(kind)]);
    count(reasons_[static_cast<std::size_t>(reason)]);
  }
  /// From now on two threads never count at the same time.
  void set_one_thread_at_a_time() { one_at_a_time_ = true; }
  [[nodiscard]] std::int64_t served(CallKind kind) const { return served_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::int64_t fallen_through(CallKind kind) const {
    return fallen_through_[static_cast<std::size_t>(kind)];
  }

  /// The record of a communicator that this process sees for the first time; `world_ranks` are its members in order.
  /// It stays valid. Beyond most_communicators, communicators share one.
  CommunicatorRecord& open(std::string name, const std::vector<int>& world_ranks);
  /// Where calls are counted on communicators that were never looked at.
  CommunicatorRecord& elsewhere();
  /// What this process counted of its communicators, those that are gone included.
  [[nodiscard]] Report report() const;

  /// Every call of calls.def is listed, with this process's counts; then the communicators of the whole job.
  /// {"version": …, "ranks": …, "collectives": {"allreduce": {"served": n, "fallen_through": m}, …},
  ///  "reasons": {"TEXT": n, …}, "ranks_reported": r, "communicators": […], "links": […]}: the man page has the fields.
  [[nodiscard]] std::string to_json(int ranks, const Report& job) const;
  /// "allreduce 12 served, 3 fell through; …"
  [[nodiscard]] std::string to_summary() const;

 private:
  using Counter = std::atomic<std::int64_t>;
  /// What adds in one piece waits until all that was stored before has left the processor: after a message to another
  /// one, that takes as long as the rest of a small call of MPI's.
  void count(Counter& counter) const {
    if (one_at_a_time_) {
      counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      counter.fetch_add(1, std::memory_order_relaxed);
    }
  }

  bool one_at_a_time_ = false;
  std::array<Counter, call_count> served_{};
  std::array<Counter, call_count> fallen_through_{};
  std::array<Counter, reason_count> reasons_{};
  /// Under the lock.
  CommunicatorRecord& add_record(CommunicatorFigures figures);

  mutable std::mutex lock_;  ///< around what follows
  std::list<CommunicatorRecord> records_;
  CommunicatorRecord* others_ = nullptr;
  CommunicatorRecord* elsewhere_ = nullptr;
  std::map<std::string, int> communicators_of_group_;
};

/// A table of the job's communicators for people, a line each: their calls by size, and the busiest links.
std::vector<std::string> job_table(const Report& job);

/// Writes what LIBCOLL_STATS asks for ("summary" or "json:FILE"); nothing for an empty text.
Status report_statistics(const Statistics& statistics, const Report& job, std::string_view setting, int ranks);

}  // namespace libcoll::observe
