// Which calls go to a plan and which to the program's own MPI: what `libcoll tune` writes, and what the cost model
// finds for later jobs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/base/planner_name.h"
#include "planner/base/result.h"

namespace libcoll::select {

/// TuningChoice::up_to_bytes of calls of any size.
inline constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

/// Calls of one kind up to a size, on communicators of one size.
struct TuningChoice {
  CallKind call = CallKind::allreduce;
  std::int32_t ranks = 0;  ///< of the communicator; 0: any number
  /// Largest call meant, inclusive: bytes of the vector (allreduce, bcast, reduce), of a block (the others).
  std::int64_t up_to_bytes = any_size;
  bool native = false;             ///< the program's own MPI is faster; otherwise the plan is
  std::int64_t segment_bytes = 0;  ///< of the plan; 0: as configured
  bool direct = false;             ///< from rank to rank, above LIBCOLL_PLANLESS_MAX too; otherwise by the plan
  bool scattered = false;          ///< an allreduce from rank to rank, reduced in parts; otherwise by the plan
  std::int64_t in_flight = 0;      ///< messages per peer, of the plan; 0: as configured
  PlannerName algorithm = {};      ///< of the plan
  friend bool operator==(const TuningChoice&, const TuningChoice&) = default;
};

/// "native", "direct", "scattered" or "plan".
std::string_view way_name(const TuningChoice& choice);

/// Whether choices for such calls may name a planner and say how its plan is run: those of blocks that are equal on all
/// ranks. Others go by the plans that are configured.
bool choices_name_planners(CallKind call);

/// What messages of ours were seen to take, on all links at once.
struct LinkFigures {
  std::int64_t alpha_nanoseconds = 0;  ///< α: a step of a few bytes, 1 at least
  std::int64_t bytes_per_second = 0;   ///< b: of one link, 1 at least
  friend bool operator==(const LinkFigures&, const LinkFigures&) = default;
};

/// Ordered by call, ranks and size.
struct TuningTable {
  std::vector<TuningChoice> choices;
  std::optional<LinkFigures> links;  ///< what the choices come from, where a cost model made them

  /// What is said of such a call: the entry for exactly these ranks with the smallest size that takes it in, else the
  /// same among those for any number of ranks; null when nothing is.
  [[nodiscard]] const TuningChoice* find(CallKind call, std::int32_t ranks, std::int64_t bytes) const;
  /// Whether anything is said of calls of that kind on exactly these ranks.
  [[nodiscard]] bool knows(CallKind call, std::int32_t ranks) const;
  /// Adds choices for calls of which it knows nothing.
  void add(const std::vector<TuningChoice>& more);
  friend bool operator==(const TuningTable&, const TuningTable&) = default;
};

/// Reads TOML: a [[choice]] table each, with `call` ("allreduce", …), `ranks` (left out: any), `up_to` (bytes as 4096
/// or "64K"; left out: any size), `use` (a way's name), and of a plan `algorithm` (a planner's name), `segment_bytes`
/// and `in_flight`; and at most one table [links] with `alpha_nanoseconds` and `bytes_per_second`. Errors start with
/// "ORIGIN:LINE: " and say what was found and what was expected; two entries for the same calls are one.
Result<TuningTable> read_tuning_table(std::string_view text, std::string_view origin);

/// The same from a file that nobody but this user or root can write.
Result<TuningTable> load_tuning_table(const std::string& path);

/// The text of a table; reading it gives the same table.
std::string write_tuning_table(const TuningTable& table);

}  // namespace libcoll::select
