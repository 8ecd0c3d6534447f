#include "tests/unit/support/enumeration.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/reconfigure/step_flow.h"

namespace libcoll::test {

using namespace reconfigure;

namespace {

constexpr std::int64_t max_topologies = 100'000;

/// Fills the matrix row by row.
class Enumeration {
 public:
  Enumeration(std::span<const StagedStep> steps, std::int32_t nodes, std::int32_t degree, const HarvestModel& model)
      : steps_(steps), nodes_(nodes), degree_(degree), model_(model), free_(at(nodes), degree) {}

  Result<IntervalOptimum> run() {
    fill(0, 0, degree_);
    if (error_) return *error_;
    return std::move(best_);
  }

 private:
  /// Entry (row, column) and all after it; `left` is what the row still has to get.
  void fill(std::int32_t row, std::int32_t column, std::int32_t left) {
    if (error_) return;
    if (row == nodes_) return price();
    if (column == nodes_) {
      if (left == 0) fill(row + 1, 0, degree_);
      return;
    }
    for (std::int32_t count = 0; count <= std::min(left, free_[at(column)]); ++count) {
      if (count > 0) wires_.push_back({row, column, count});
      free_[at(column)] -= count;
      fill(row, column + 1, left - count);
      free_[at(column)] += count;
      if (count > 0) wires_.pop_back();
    }
  }

  void price() {
    if (++best_.topologies > max_topologies) {
      error_ = Error{"found more than " + std::to_string(max_topologies) + " topologies of " + std::to_string(nodes_) +
                     " nodes and degree " + std::to_string(degree_) + ", expected a smaller fabric"};
      return;
    }
    const Configuration configuration = make_configuration("found by enumeration", nodes_, wires_);
    if (!(lower_bound(configuration) < best_.seconds)) return;
    double seconds = 0;
    for (const StagedStep& step : steps_) {
      const Result<CongestionFrontier> frontier = congestion_frontier(configuration, step.demands);
      if (!frontier) {
        error_ = frontier.error();
        return;
      }
      seconds += step_seconds(*frontier, model_.bytes * step.unit.to_double(), model_).seconds;
      if (!(seconds < best_.seconds)) return;
    }
    best_.configuration = configuration;
    best_.seconds = seconds;
  }

  /// Shortest distances: the longest of a step is ℓ at least, their sum crosses all wires together.
  [[nodiscard]] double lower_bound(const Configuration& configuration) const {
    std::vector<std::vector<std::int32_t>> distance(at(nodes_), std::vector<std::int32_t>(at(nodes_), nodes_));
    std::int64_t ports = 0;
    for (std::int32_t node = 0; node < nodes_; ++node) distance[at(node)][at(node)] = 0;
    for (const Wire& wire : configuration.wires) {
      distance[at(wire.from)][at(wire.to)] = 1;
      ports += wire.count;
    }
    for (std::int32_t via = 0; via < nodes_; ++via) {
      for (std::int32_t from = 0; from < nodes_; ++from) {
        for (std::int32_t to = 0; to < nodes_; ++to) {
          distance[at(from)][at(to)] =
              std::min(distance[at(from)][at(to)], distance[at(from)][at(via)] + distance[at(via)][at(to)]);
        }
      }
    }
    double seconds = 0;
    for (const StagedStep& step : steps_) {
      std::int32_t longest = 0;
      std::int64_t crossings = 0;
      for (const Demand& demand : step.demands) {
        const std::int32_t hops = distance[at(demand.from)][at(demand.to)];
        if (hops >= nodes_) return std::numeric_limits<double>::infinity();
        longest = std::max(longest, hops);
        crossings += hops * demand.units;
      }
      seconds += model_.alpha_seconds + model_.delta_seconds * longest +
                 model_.bytes * step.unit.to_double() * static_cast<double>(crossings) /
                     (static_cast<double>(std::max<std::int64_t>(ports, 1)) * model_.bytes_per_second);
    }
    return seconds;
  }

  std::span<const StagedStep> steps_;
  std::int32_t nodes_;
  std::int32_t degree_;
  const HarvestModel& model_;
  std::vector<std::int32_t> free_;  ///< of each column
  std::vector<Wire> wires_;
  IntervalOptimum best_;
  std::optional<Error> error_;
};

}  // namespace

Result<IntervalOptimum> exact_interval(std::span<const StagedStep> steps, std::int32_t nodes, std::int32_t degree,
                                       const HarvestModel& model) {
  return Enumeration(steps, nodes, degree, model).run();
}

}  // namespace libcoll::test
