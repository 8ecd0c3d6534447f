// One small interface to linear programs. Knows nothing of networks; the solver behind it can be exchanged.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace libcoll::lp {

inline constexpr double no_bound = std::numeric_limits<double>::infinity();
inline constexpr std::int32_t no_column = -1;  ///< where a variable is left out

enum class Sense : std::uint8_t { minimise, maximise };

/// lower ≤ x ≤ upper with `cost` per unit in the objective; ±`no_bound` where there is no bound. `integer` counts for
/// integer programs only.
struct LpColumn {
  double lower = 0;
  double upper = no_bound;
  double cost = 0;
  bool integer = false;
};

/// A non-zero of a row. Within a row every column occurs at most once.
struct LpEntry {
  std::int32_t column = 0;
  double value = 0;
};

/// lower ≤ Σ value·x ≤ upper.
struct LpRow {
  double lower = -no_bound;
  double upper = no_bound;
  std::vector<LpEntry> entries;
};

struct LinearProgram {
  Sense sense = Sense::minimise;
  std::vector<LpColumn> columns;
  std::vector<LpRow> rows;

  /// Both return the index of what they added.
  std::int32_t add_column(LpColumn column) {
    columns.push_back(column);
    return static_cast<std::int32_t>(columns.size()) - 1;
  }
  std::int32_t add_row(LpRow row) {
    rows.push_back(std::move(row));
    return static_cast<std::int32_t>(rows.size()) - 1;
  }
};

enum class LpStatus : std::uint8_t { optimal, infeasible, unbounded, time_limit };

/// `primal` has one entry per column, `row_duals` one per row: the change of the objective per unit by which the
/// row's active bound grows. Empty unless the status is optimal.
struct LpSolution {
  LpStatus status = LpStatus::optimal;
  double objective = 0;
  std::vector<double> primal;
  std::vector<double> row_duals;
};

/// What an integer program came to. `primal` is the best solution found, empty when there is none, and `objective` its
/// value; no solution is better than `bound`. `optimal`: within the gap asked for. `infeasible`: there is no solution.
struct IntegerSolution {
  LpStatus status = LpStatus::optimal;
  double objective = 0;
  double bound = 0;
  std::vector<double> primal;
};

/// Simplex ends in a vertex, exact to about 1e-12, and is fastest on small programs. Interior point ends inside the
/// optimal face, exact to about 1e-8, and is fastest on large sparse ones.
enum class LpMethod : std::uint8_t { simplex, interior_point };

}  // namespace libcoll::lp
