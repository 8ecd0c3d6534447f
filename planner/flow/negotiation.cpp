#include "planner/flow/negotiation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/index.h"

namespace libcoll {
namespace {

constexpr std::int32_t most_rounds = 100;  // of negotiation, per step to gain
constexpr double congestion = 1;           // price of a unit of overload
constexpr double tolerance = 1e-6;         // of the LP solution behind the weights, and of sums of sizes
constexpr double least_gain = 1e-3;        // of a group's load: what a step aims to gain at least

/// Whether every load is a whole number of chunks.
bool whole(const ChunkProblem& problem) {
  return std::all_of(problem.size.begin(), problem.size.end(),
                     [](double size) { return std::abs(size - std::round(size)) < tolerance; });
}

std::vector<std::int32_t> round_commodity(const std::vector<Choice>& choices, std::int32_t chunks) {
  std::vector<std::int32_t> counts;
  std::vector<double> remainder;
  for (const Choice& choice : choices) {
    const double exact = choice.weight * chunks;
    counts.push_back(static_cast<std::int32_t>(std::floor(exact + tolerance)));
    remainder.push_back(exact - counts.back());
  }
  std::vector<std::size_t> order(choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  std::int32_t missing = chunks - std::accumulate(counts.begin(), counts.end(), 0);
  for (std::size_t i = 0; missing > 0; ++i, --missing) ++counts[order[i % order.size()]];
  return counts;
}

/// The state of a search: chunks on choices and the loads they make, in chunks of size 1.
class Negotiation {
 public:
  Negotiation(const ChunkProblem& problem, ChunkSolution start)
      : problem_(problem),
        best_(std::move(start)),
        counts_(best_.counts),
        load_(problem.capacity.size(), 0),
        room_(load_.size(), 0),
        history_(load_.size(), 1) {
    smallest_ = std::numeric_limits<double>::infinity();
    whole_ = whole(problem);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (problem.size[i] > 0) smallest_ = std::min(smallest_, problem.size[i]);
      for (std::size_t k = 0; k < counts_[i].size(); ++k) add(i, k, counts_[i][k]);
    }
    best_peaks_ = peaks();
    best_.cost = cost();
  }

  ChunkSolution run(double enough) {
    std::int32_t refused = 0;
    for (std::int32_t group = 0; refused < problem_.groups && best_.cost > enough;
         group = (group + 1) % problem_.groups) {
      if (gain(group)) {
        refused = 0;
        best_.counts = counts_;
        best_peaks_ = peaks();
        best_.cost = cost();
      } else {
        ++refused;
        restore();
      }
    }
    return std::move(best_);
  }

 private:
  void add(std::size_t commodity, std::size_t choice, std::int32_t chunks) {
    const double amount = problem_.size[commodity] * chunks;
    for (const ClassLoad& use : problem_.commodities[commodity][choice].uses) {
      load_[at(use.link_class)] += amount * use.times;
    }
  }

  [[nodiscard]] std::vector<double> peaks() const {
    std::vector<double> result(at(problem_.groups), 0);
    for (std::size_t i = 0; i < load_.size(); ++i) {
      double& peak = result[at(problem_.group[i])];
      peak = std::max(peak, load_[i] / problem_.capacity[i]);
    }
    return result;
  }

  [[nodiscard]] double cost() const {
    return std::accumulate(best_peaks_.begin(), best_peaks_.end(), 0.0) / best_.chunks;
  }

  void restore() {
    std::fill(load_.begin(), load_.end(), 0);
    counts_ = best_.counts;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      for (std::size_t k = 0; k < counts_[i].size(); ++k) add(i, k, counts_[i][k]);
    }
  }

  /// Aims below the peak of one group, the others staying where they are, and says whether it got there.
  bool gain(std::int32_t group) {
    for (std::size_t i = 0; i < load_.size(); ++i) {
      const double peak = best_peaks_[at(problem_.group[i])] * problem_.capacity[i];
      const bool aim = problem_.group[i] == group;
      if (whole_) {
        room_[i] = aim ? std::ceil(peak - tolerance) - 1 : std::floor(peak + tolerance);
      } else {
        room_[i] = aim ? peak - std::max(smallest_ / 2, least_gain * peak) : peak;
      }
      room_[i] += tolerance;
      history_[i] = 1;
    }
    for (std::int32_t round = 0; round < most_rounds; ++round) {
      if (!raise_prices()) return true;
      for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (problem_.size[i] <= 0 || counts_[i].size() < 2) continue;
        for (std::size_t k = 0; k < counts_[i].size(); ++k) {
          if (counts_[i][k] > 0 && overloads(problem_.commodities[i][k])) reroute(i, k);
        }
      }
    }
    return !raise_prices();
  }

  /// False when nothing is overloaded.
  bool raise_prices() {
    bool overloaded = false;
    for (std::size_t i = 0; i < load_.size(); ++i) {
      if (load_[i] <= room_[i]) continue;
      overloaded = true;
      history_[i] += load_[i] - room_[i];
    }
    return overloaded;
  }

  [[nodiscard]] bool overloads(const Choice& choice) const {
    return std::any_of(choice.uses.begin(), choice.uses.end(),
                       [&](const ClassLoad& use) { return load_[at(use.link_class)] > room_[at(use.link_class)]; });
  }

  /// Takes one chunk off its path and puts it on the cheapest.
  void reroute(std::size_t commodity, std::size_t from) {
    const std::vector<Choice>& choices = problem_.commodities[commodity];
    add(commodity, from, -1);
    std::size_t cheapest = from;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < choices.size(); ++k) {
      const double candidate = price(choices[k], problem_.size[commodity]);
      if (candidate >= least) continue;
      least = candidate;
      cheapest = k;
    }
    add(commodity, cheapest, 1);
    --counts_[commodity][from];
    ++counts_[commodity][cheapest];
  }

  [[nodiscard]] double price(const Choice& choice, double size) const {
    double sum = 0;
    for (const ClassLoad& use : choice.uses) {
      const std::size_t i = at(use.link_class);
      const double excess = std::max(0.0, load_[i] + size * use.times - room_[i]);
      sum += history_[i] * use.times * (1 + congestion * excess);
    }
    return sum;
  }

  const ChunkProblem& problem_;
  ChunkSolution best_;
  std::vector<double> best_peaks_;  ///< by group
  std::vector<std::vector<std::int32_t>> counts_;
  std::vector<double> load_;  // by resource, as the next two
  std::vector<double> room_;
  std::vector<double> history_;  ///< price of a unit of load
  double smallest_ = 0;          ///< size of any commodity
  bool whole_ = false;           ///< as the function says
};

}  // namespace

double least_cost(const ChunkProblem& problem, double fluid_cost, std::int32_t chunks) {
  if (problem.groups != 1 || !whole(problem)) return fluid_cost;
  double least = std::numeric_limits<double>::infinity();
  for (const double capacity : problem.capacity) {
    const double most = std::ceil(fluid_cost * chunks * capacity - tolerance * chunks);
    least = std::min(least, most / (capacity * chunks));
  }
  return std::max(least, fluid_cost);
}

ChunkSolution round_weights(const ChunkProblem& problem, std::int32_t chunks) {
  ChunkSolution solution;
  solution.chunks = chunks;
  for (const std::vector<Choice>& choices : problem.commodities) {
    solution.counts.push_back(round_commodity(choices, chunks));
  }
  // A search that is satisfied with anything only adds the loads up.
  return Negotiation(problem, std::move(solution)).run(std::numeric_limits<double>::infinity());
}

ChunkSolution negotiate(const ChunkProblem& problem, ChunkSolution start, double enough) {
  return Negotiation(problem, std::move(start)).run(enough);
}

}  // namespace libcoll
