#include "libcoll/select/selection_table.h"

#include <algorithm>
#include <cstddef>

namespace libcoll::select {
namespace {

TuningChoice choice_of(CallKind call, std::int64_t up_to_bytes) {
  TuningChoice choice;
  choice.call = call;
  choice.up_to_bytes = up_to_bytes;
  return choice;
}

SelectionRow direct_up_to(CallKind call, std::int64_t bytes) {
  SelectionRow row{choice_of(call, bytes), RowSource::built_in};
  row.choice.direct = true;
  return row;
}

}  // namespace

std::string_view to_string(RowSource source) {
  static constexpr std::array<std::string_view, 5> names{"setting", "tuning table", "measurement", "cost model",
                                                         "built in"};
  return names[static_cast<std::size_t>(source)];
}

SelectionTable::SelectionTable(const Config& config, const TuningTable& tuning, std::int32_t ranks) {
  const std::int64_t shortest = config.planless_max / ranks;
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    const auto call = static_cast<CallKind>(kind);
    if (is_nonblocking(call) || !collective_of(call)) continue;
    Rows rows;
    if (call_setting(config, call) == "native") {
      rows.push_back({choice_of(call, any_size), RowSource::setting});
      rows.back().choice.native = true;
    }
    if (shortest > 0) rows.push_back(direct_up_to(call, shortest));
    rows.push_back({choice_of(call, any_size), RowSource::built_in});
    for (auto& of_kind : rows_) merge(of_kind[kind], rows);
  }
  add_tuned(config, tuning, ranks);
}

/// Entries for exactly these ranks, and beyond their sizes those for any number. Where one says "plan" and names no
/// planner, short calls go from rank to rank as without it.
void SelectionTable::add_tuned(const Config& config, const TuningTable& tuning, std::int32_t ranks) {
  const std::int64_t shortest = config.planless_max / ranks;
  std::array<Rows, call_count> found;
  for (const std::int32_t wanted : {ranks, 0}) {
    for (const TuningChoice& choice : tuning.choices) {
      Rows& rows = found[static_cast<std::size_t>(choice.call)];
      std::int64_t before = rows.empty() ? -1 : rows.back().choice.up_to_bytes;
      if (choice.ranks != wanted || choice.up_to_bytes <= before) continue;
      if (way_name(choice) == "plan" && choice.algorithm.empty() && before < shortest) {
        before = std::min(shortest, choice.up_to_bytes);
        rows.push_back(direct_up_to(choice.call, before));
      }
      if (choice.up_to_bytes > before) rows.push_back({choice, RowSource::tuning_table});
    }
  }
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    for (auto& of_kind : rows_) merge(of_kind[kind], found[kind]);
  }
}

void SelectionTable::merge(Rows& rows, std::span<const SelectionRow> more) {
  if (more.empty()) return;
  const RowSource source = std::min_element(more.begin(), more.end(), [](const SelectionRow& a, const SelectionRow& b) {
                             return a.source < b.source;
                           })->source;
  Rows merged;
  const auto take = [&merged](const SelectionRow& row) {
    if (merged.empty() || row.choice.up_to_bytes > merged.back().choice.up_to_bytes) merged.push_back(row);
  };
  // Entries of a tuning table may have rows of their own before them that are built in.
  const auto weaker =
      std::find_if(rows.rbegin(), rows.rend(), [&](const SelectionRow& row) { return row.source <= source; }).base();
  std::for_each(rows.begin(), weaker, take);
  std::for_each(more.begin(), more.end(), take);
  std::for_each(weaker, rows.end(), take);
  rows = std::move(merged);
}

void SelectionTable::add(RowSource source, std::span<const TuningChoice> choices) {
  for (const bool order_matters : {false, true}) add(source, choices, order_matters);
}

void SelectionTable::add(RowSource source, std::span<const TuningChoice> choices, bool order_matters) {
  std::array<Rows, call_count> found;
  for (const TuningChoice& choice : choices) found[static_cast<std::size_t>(choice.call)].push_back({choice, source});
  for (std::size_t kind = 0; kind < call_count; ++kind) merge(rows_[order_matters ? 1 : 0][kind], found[kind]);
}

std::vector<PlannerName> SelectionTable::planners(CallKind call) const {
  std::vector<PlannerName> names;
  for (const SelectionRow& row : rows(call, false)) {
    const bool is_new = std::find(names.begin(), names.end(), row.choice.algorithm) == names.end();
    if (!row.choice.algorithm.empty() && is_new) names.push_back(row.choice.algorithm);
  }
  return names;
}

}  // namespace libcoll::select
