#include "planner/reconfigure/birkhoff.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

namespace libcoll::reconfigure {

using namespace topology;

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// A square matrix whose rows and columns have equal sums, and a matching on its entries of at least a threshold.
class LineSumMatrix {
 public:
  /// Adds what rows and columns lack.
  LineSumMatrix(std::span<const std::int64_t> matrix, std::size_t size)
      : size_(size), entries_(matrix.begin(), matrix.end()), column_of_(size, none), row_of_(size, none) {
    std::vector<std::int64_t> rows(size, 0);
    std::vector<std::int64_t> columns(size, 0);
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t column = 0; column < size; ++column) {
        rows[row] += at(row, column);
        columns[column] += at(row, column);
      }
    }
    left_ = std::max(*std::ranges::max_element(rows), *std::ranges::max_element(columns));
    for (std::size_t row = 0, column = 0; row < size && column < size;) {
      const std::int64_t lacking = std::min(left_ - rows[row], left_ - columns[column]);
      at(row, column) += lacking;
      rows[row] += lacking;
      columns[column] += lacking;
      if (rows[row] == left_) {
        ++row;
      } else {
        ++column;
      }
    }
  }

  [[nodiscard]] std::int64_t left() const { return left_; }
  [[nodiscard]] std::size_t column_of(std::size_t row) const { return column_of_[row]; }

  /// Makes the matching perfect on entries of at least the threshold; false when there is none such.
  bool match(std::int64_t threshold) {
    for (std::size_t row = 0; row < size_; ++row) {
      if (column_of_[row] == none || at(row, column_of_[row]) >= threshold) continue;
      row_of_[column_of_[row]] = none;
      column_of_[row] = none;
    }
    for (std::size_t row = 0; row < size_; ++row) {
      if (column_of_[row] == none && !augment(row, threshold)) return false;
    }
    return true;
  }

  /// Takes the least entry of the perfect matching off all of them.
  std::int64_t take() {
    std::int64_t least = left_;
    for (std::size_t row = 0; row < size_; ++row) least = std::min(least, at(row, column_of_[row]));
    for (std::size_t row = 0; row < size_; ++row) at(row, column_of_[row]) -= least;
    left_ -= least;
    return least;
  }

 private:
  std::int64_t& at(std::size_t row, std::size_t column) { return entries_[row * size_ + column]; }

  /// Breadth-first search for an augmenting path.
  bool augment(std::size_t start, std::int64_t threshold) {
    std::vector<std::size_t> came_from(size_, none);  // by column
    std::vector<std::size_t> rows{start};
    for (std::size_t next = 0; next < rows.size(); ++next) {
      for (std::size_t column = 0; column < size_; ++column) {
        if (came_from[column] != none || at(rows[next], column) < threshold) continue;
        came_from[column] = rows[next];
        if (row_of_[column] != none) {
          rows.push_back(row_of_[column]);
          continue;
        }
        for (std::size_t free = column; free != none;) {
          const std::size_t row = came_from[free];
          row_of_[free] = row;
          free = std::exchange(column_of_[row], free);
        }
        return true;
      }
    }
    return false;
  }

  std::size_t size_;
  std::vector<std::int64_t> entries_;
  std::vector<std::size_t> column_of_;
  std::vector<std::size_t> row_of_;
  std::int64_t left_ = 0;
};

}  // namespace

std::vector<MatchingTerm> birkhoff_von_neumann(std::span<const std::int64_t> matrix, std::int32_t nodes) {
  const auto size = static_cast<std::size_t>(nodes);
  std::vector<std::int64_t> wanted(matrix.begin(), matrix.end());
  for (std::size_t node = 0; node < size; ++node) wanted[node * size + node] = 0;
  std::vector<MatchingTerm> terms;
  LineSumMatrix sums(wanted, size);
  auto threshold = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(sums.left())));
  while (sums.left() > 0) {
    if (!sums.match(threshold)) {
      threshold /= 2;
      continue;
    }
    MatchingTerm term{sums.take(), {}};
    for (std::size_t row = 0; row < size; ++row) {
      std::int64_t& rest = wanted[row * size + sums.column_of(row)];
      const std::int64_t units = std::min(rest, term.coefficient);
      if (units == 0) continue;
      rest -= units;
      term.demands.push_back({static_cast<NodeId>(row), static_cast<NodeId>(sums.column_of(row)), units});
    }
    if (!term.demands.empty()) terms.push_back(std::move(term));
  }
  std::ranges::stable_sort(terms, std::greater<>(), &MatchingTerm::coefficient);
  return terms;
}

}  // namespace libcoll::reconfigure
