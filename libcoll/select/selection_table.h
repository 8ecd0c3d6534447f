// How the calls of a communicator go, by kind and size, and who says so: what the runtime obeys and
// `libcoll info --choices` prints.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/base/config.h"
#include "libcoll/select/tuning_table.h"

namespace libcoll::select {

/// Who says how calls go. Where two do, the first in this order is obeyed.
enum class RowSource : std::uint8_t {
  setting,       ///< LIBCOLL_ALLREDUCE=native and its like
  tuning_table,  ///< the file that LIBCOLL_TUNING_TABLE names
  measurement,   ///< LIBCOLL_MEASURE
  cost_model,    ///< of reductions whose order matters, from facts alone
  built_in,
};
/// "setting", "tuning table", "measurement", "cost model", "built in".
std::string_view to_string(RowSource source);

struct SelectionRow {
  TuningChoice choice;
  RowSource source = RowSource::built_in;
};

/// Of one communicator. Reductions whose bits depend on the way have rows of their own.
class SelectionTable {
 public:
  SelectionTable() = default;
  /// What is known before anything is measured: settings, the tuning table, and that calls of up to
  /// LIBCOLL_PLANLESS_MAX bytes, all ranks together, go from rank to rank.
  SelectionTable(const Config& config, const TuningTable& tuning, std::int32_t ranks);

  /// Rows by ascending size, of calls of one kind each, for all calls of these kinds or those of one sort.
  void add(RowSource source, std::span<const TuningChoice> choices);
  void add(RowSource source, std::span<const TuningChoice> choices, bool order_matters);

  /// What is said of a blocking call; null for calls that are always MPI's. Without a search: programs ask at every
  /// call.
  [[nodiscard]] const SelectionRow* find(CallKind call, std::int64_t bytes, bool order_matters) const noexcept {
    for (const SelectionRow& row : rows(call, order_matters)) {
      if (bytes <= row.choice.up_to_bytes) return &row;
    }
    return nullptr;
  }

  /// Of a blocking call, by ascending size; the last one is for all sizes above.
  [[nodiscard]] std::span<const SelectionRow> rows(CallKind call, bool order_matters) const noexcept {
    return rows_[order_matters ? 1 : 0][static_cast<std::size_t>(call)];
  }

  /// Planners that rows name for calls of a kind, each once, by ascending size.
  [[nodiscard]] std::vector<PlannerName> planners(CallKind call) const;

 private:
  using Rows = std::vector<SelectionRow>;

  /// Puts rows of one kind in their place by source; sizes that a stronger source speaks of stay as they are.
  static void merge(Rows& rows, std::span<const SelectionRow> more);
  void add_tuned(const Config& config, const TuningTable& tuning, std::int32_t ranks);

  std::array<std::array<Rows, call_count>, 2> rows_;  ///< the second: where the order matters
};

}  // namespace libcoll::select
