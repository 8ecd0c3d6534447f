// Tables of the papers, made again: our figures beside theirs. One file for the reports of each paper.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "planner/flow/lowering/lowering.h"

namespace libcoll::command {

/// How much a report may cover, and for how long.
struct ReportScope {
  bool full = true;  ///< false: only what takes seconds
  std::int32_t threads = 1;
  Deadline deadline{0};
  double limit_seconds = 0;            ///< for each plan of tables of planners; 0: a share of the deadline
  std::vector<std::string> only = {};  ///< algorithms of fig7, by the names that its rows have; empty: all
};

/// What the paper says, and the range of figures that agrees with it where it gives one.
struct PaperFigure {
  std::string text;
  std::optional<double> least;
  std::optional<double> most;
};

/// A figure that agrees when it is `value` to within `rounding`, half of the last digit printed.
PaperFigure printed(std::string text, double value, double rounding);

/// Something said without a figure, or a figure that only stands beside ours.
PaperFigure said(std::string text);

/// One figure of ours, beside that of the paper.
struct ReportRow {
  std::vector<Json> cells;     ///< what it is the figure of, by ReportTable::columns
  std::optional<double> ours;  ///< nothing where there was no time, or no way, to make it
  PaperFigure paper;
  std::string why;  ///< it is not that of the paper, or not there
};

struct ReportTable {
  std::vector<std::string> columns;  ///< JSON names
  std::string figure;                ///< what ours and the paper's are, as JSON name
  std::vector<ReportRow> rows;
  std::string note = {};  ///< on the whole table: what of the paper's our text of it has lost, what is ours
};

/// One table. `make` never fails: what could not be made is a row that says why.
struct Report {
  std::string_view name;   ///< "fig8", "harvest-fig5": no two alike
  std::string_view paper;  ///< "003": the number of the paper in the list of the design
  std::string_view what;   ///< one line
  ReportTable (*make)(const ReportScope& scope);
  bool limits_plans = false;  ///< goes by ReportScope::limit_seconds
  /// What ReportScope::only may name, where it goes by that.
  std::vector<std::string> (*names)() = nullptr;
};

/// Every report there is, in the order of papers.
std::span<const Report> reports();

/// Allgather on direct-connect topologies, expansions and the topology finder (paper 000).
std::span<const Report> direct_connect_reports();
/// MultiTree (paper 001).
std::span<const Report> multitree_reports();
/// Harvest (paper 002).
std::span<const Report> harvest_reports();
/// All-to-all (paper 003).
std::span<const Report> all_to_all_reports();
/// ForestColl (paper 004).
std::span<const Report> forestcoll_reports();

/// How far ours is from what the paper says, as a fraction of that: 0 within its range, nothing where one is missing.
std::optional<double> difference(const ReportRow& row);

Json report_json(const Report& report, const ReportTable& table, double seconds);
std::string report_text(const Report& report, const ReportTable& table, double seconds);

/// How an algorithm's time grows with the size, learnt from the times it took: who may have another try.
class Pace {
 public:
  /// The power of the size that its times grow with, by the last two; nothing while they say little of it.
  [[nodiscard]] std::optional<double> growth(const std::string& name) const;
  /// Seconds that `name` will take at `size`, by its growth, or by this power before that is known; 0 before the first
  /// time.
  [[nodiscard]] double expected(const std::string& name, double size, double power) const;
  void took(const std::string& name, double size, double seconds);

 private:
  std::map<std::string, std::vector<std::pair<double, double>>> times_;  ///< (size, seconds)
};

}  // namespace libcoll::command
