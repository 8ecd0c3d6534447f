#include "planner/flow/problem/negotiation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "planner/base/index.h"

namespace libcoll::flow::problem {
namespace {

constexpr std::int32_t most_negotiation_rounds = 100;  // of negotiation, per step to gain
constexpr double congestion = 1;                       // price of a unit of overload
constexpr double size_tolerance = 1e-6;                // of the LP solution behind the weights, and of sums of sizes
constexpr double least_gain = 1e-3;                    // of a group's load: what a step aims to gain at least

/// Whether every load is a whole number of chunks.
bool whole(const ChunkProblem& problem) {
  return std::all_of(problem.size.begin(), problem.size.end(),
                     [](double size) { return std::abs(size - std::round(size)) < size_tolerance; });
}

std::vector<std::int32_t> round_commodity(const std::vector<Choice>& choices, std::int32_t chunks) {
  std::vector<std::int32_t> counts;
  std::vector<double> remainder;
  for (const Choice& choice : choices) {
    const double exact = choice.weight * chunks;
    counts.push_back(static_cast<std::int32_t>(std::floor(exact + size_tolerance)));
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

/// The state of a search: chunks on choices and the loads they make, in chunks of size 1. Choices and their uses lie
/// one after the other, as a search passes over all of them again and again.
class Negotiation {
 public:
  Negotiation(const ChunkProblem& problem, const ChunkSolution& start)
      : problem_(problem),
        load_(problem.capacity.size(), 0),
        room_(load_.size(), std::numeric_limits<double>::infinity()),
        history_(load_.size(), 1),
        overloaded_(load_.size(), 0),
        best_chunks_(start.chunks) {
    smallest_ = std::numeric_limits<double>::infinity();
    whole_ = whole(problem);
    for (std::size_t i = 0; i < problem.commodities.size(); ++i) {
      if (problem.size[i] > 0) smallest_ = std::min(smallest_, problem.size[i]);
      if (problem.size[i] > 0 && problem.commodities[i].size() > 1) movable_.push_back(i);
      for (const Choice& choice : problem.commodities[i]) {
        uses_.insert(uses_.end(), choice.uses.begin(), choice.uses.end());
        first_use_.push_back(uses_.size());
      }
      first_choice_.push_back(first_use_.size() - 1);
      best_counts_.insert(best_counts_.end(), start.counts[i].begin(), start.counts[i].end());
    }
    restore();
    keep();
  }

  ChunkSolution run(double enough) {
    std::int32_t refused = 0;
    for (std::int32_t group = 0; refused < problem_.groups && best_cost_ > enough;
         group = (group + 1) % problem_.groups) {
      if (gain(group)) {
        refused = 0;
        best_counts_ = counts_;
        keep();
      } else {
        ++refused;
        restore();
      }
    }
    ChunkSolution result{best_chunks_, best_cost_, {}};
    result.counts.reserve(problem_.commodities.size());
    for (std::size_t i = 0; i < problem_.commodities.size(); ++i) {
      const auto begin = best_counts_.begin();
      result.counts.emplace_back(begin + static_cast<std::ptrdiff_t>(first_choice_[i]),
                                 begin + static_cast<std::ptrdiff_t>(first_choice_[i + 1]));
    }
    return result;
  }

 private:
  [[nodiscard]] std::span<const ClassLoad> uses(std::size_t choice) const {
    return std::span(uses_).subspan(first_use_[choice], first_use_[choice + 1] - first_use_[choice]);
  }

  void add(std::size_t commodity, std::size_t choice, std::int32_t chunks) {
    const double amount = problem_.size[commodity] * chunks;
    for (const ClassLoad& use : uses(choice)) {
      const std::size_t i = at(use.link_class);
      load_[i] += amount * use.times;
      overloaded_[i] = load_[i] > room_[i] ? 1 : 0;
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

  /// The loads are those of the best choices.
  void keep() {
    best_peaks_ = peaks();
    best_cost_ = std::accumulate(best_peaks_.begin(), best_peaks_.end(), 0.0) / best_chunks_;
  }

  void restore() {
    std::fill(load_.begin(), load_.end(), 0);
    counts_ = best_counts_;
    for (std::size_t i = 0; i < problem_.commodities.size(); ++i) {
      for (std::size_t k = first_choice_[i]; k < first_choice_[i + 1]; ++k) {
        if (counts_[k] > 0) add(i, k, counts_[k]);
      }
    }
  }

  /// Aims below the peak of one group, the others staying where they are, and says whether it got there.
  bool gain(std::int32_t group) {
    for (std::size_t i = 0; i < load_.size(); ++i) {
      const double peak = best_peaks_[at(problem_.group[i])] * problem_.capacity[i];
      const bool aim = problem_.group[i] == group;
      if (whole_) {
        room_[i] = aim ? std::ceil(peak - size_tolerance) - 1 : std::floor(peak + size_tolerance);
      } else {
        room_[i] = aim ? peak - std::max(smallest_ / 2, least_gain * peak) : peak;
      }
      room_[i] += size_tolerance;
      history_[i] = 1;
      overloaded_[i] = load_[i] > room_[i] ? 1 : 0;
    }
    for (std::int32_t round = 0; round < most_negotiation_rounds; ++round) {
      if (!raise_prices()) return true;
      for (const std::size_t i : movable_) {
        for (std::size_t k = first_choice_[i]; k < first_choice_[i + 1]; ++k) {
          if (counts_[k] > 0 && overloads(k)) reroute(i, k);
        }
      }
    }
    return !raise_prices();
  }

  /// False when nothing is overloaded.
  bool raise_prices() {
    bool any = false;
    for (std::size_t i = 0; i < load_.size(); ++i) {
      if (overloaded_[i] == 0) continue;
      any = true;
      history_[i] += load_[i] - room_[i];
    }
    return any;
  }

  [[nodiscard]] bool overloads(std::size_t choice) const {
    const std::span<const ClassLoad> all = uses(choice);
    return std::any_of(all.begin(), all.end(),
                       [&](const ClassLoad& use) { return overloaded_[at(use.link_class)] != 0; });
  }

  /// Takes one chunk off its path and puts it on the cheapest.
  void reroute(std::size_t commodity, std::size_t from) {
    add(commodity, from, -1);
    std::size_t cheapest = from;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = first_choice_[commodity]; k < first_choice_[commodity + 1]; ++k) {
      const double candidate = price(k, problem_.size[commodity]);
      if (candidate >= least) continue;
      least = candidate;
      cheapest = k;
    }
    add(commodity, cheapest, 1);
    --counts_[from];
    ++counts_[cheapest];
  }

  [[nodiscard]] double price(std::size_t choice, double size) const {
    double sum = 0;
    for (const ClassLoad& use : uses(choice)) {
      const std::size_t i = at(use.link_class);
      const double excess = std::max(0.0, load_[i] + size * use.times - room_[i]);
      sum += history_[i] * use.times * (1 + congestion * excess);
    }
    return sum;
  }

  const ChunkProblem& problem_;
  std::vector<std::size_t> movable_;          ///< commodities with a choice
  std::vector<std::size_t> first_choice_{0};  ///< by commodity, and the number of all choices
  std::vector<std::size_t> first_use_{0};     ///< by choice, and the number of all uses
  std::vector<ClassLoad> uses_;
  std::vector<std::int32_t> counts_;  ///< by choice, as best_counts_
  std::vector<double> load_;          // by resource, as the next three
  std::vector<double> room_;
  std::vector<double> history_;           ///< price of a unit of load
  std::vector<std::uint8_t> overloaded_;  ///< the load is above the room
  std::int32_t best_chunks_;
  double best_cost_ = 0;
  std::vector<double> best_peaks_;  ///< by group
  std::vector<std::int32_t> best_counts_;
  double smallest_ = 0;  ///< size of any commodity
  bool whole_ = false;   ///< as the function says
};

}  // namespace

double least_cost(const ChunkProblem& problem, double fluid_cost, std::int32_t chunks) {
  if (problem.groups != 1 || !whole(problem)) return fluid_cost;
  double least = std::numeric_limits<double>::infinity();
  for (const double capacity : problem.capacity) {
    const double most = std::ceil(fluid_cost * chunks * capacity - size_tolerance * chunks);
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
  return Negotiation(problem, solution).run(std::numeric_limits<double>::infinity());
}

ChunkSolution negotiate(const ChunkProblem& problem, const ChunkSolution& start, double enough) {
  return Negotiation(problem, start).run(enough);
}

}  // namespace libcoll::flow::problem
