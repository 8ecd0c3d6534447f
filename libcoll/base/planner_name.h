// A planner's name as a value without memory of its own.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace libcoll {

/// A planner by name, as --algorithm takes it; empty: the one that is configured.
class PlannerName {
 public:
  static constexpr std::size_t most_letters = 31;
  PlannerName() = default;
  /// Precondition: most_letters at most.
  explicit PlannerName(std::string_view name) { name.copy(letters_.data(), most_letters); }
  [[nodiscard]] std::string_view view() const { return letters_.data(); }
  [[nodiscard]] bool empty() const { return letters_.front() == '\0'; }
  friend bool operator==(const PlannerName&, const PlannerName&) = default;

 private:
  std::array<char, most_letters + 1> letters_{};  ///< the rest 0: choices are sent as they lie in memory
};

}  // namespace libcoll
