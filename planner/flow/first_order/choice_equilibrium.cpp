#include "planner/flow/first_order/choice_equilibrium.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/infinity.h"

namespace libcoll::flow::first_order {

using namespace problem;
namespace {

class Equilibration {
  static constexpr double first_power = 8;
  static constexpr double power_growth = 1.6;
  static constexpr double fastest_growth = 2;
  static constexpr double largest_power = 1e6;
  static constexpr double least_weight = 1e-9;      // below is dust
  static constexpr double worth_shifting = 0.05;    // a shift has to gain this part of the gap
  static constexpr std::int32_t patience = 25;      // passes that together improve the gap by less than a tenth
  static constexpr std::int32_t most_halvings = 8;  // of a Newton step that overshoots

 public:
  explicit Equilibration(const ChunkProblem& problem)
      : problem_(problem),
        load_(problem.capacity.size(), 0),
        price_(problem.capacity.size(), 0),
        change_(problem.capacity.size(), 0),
        peak_(at(problem.groups), 0),
        factor_(at(problem.groups), 0) {
    for (const std::vector<Choice>& choices : problem.commodities) {
      for (const Choice& choice : choices) {
        uses_.insert(uses_.end(), choice.uses.begin(), choice.uses.end());
        first_use_.push_back(uses_.size());
        weight_.push_back(choice.weight);
      }
      first_choice_.push_back(weight_.size());
    }
  }

  ChoiceEquilibrium run(double gap, const Deadline& deadline) {
    ChoiceEquilibrium best;
    best.cost = infinity;
    std::vector<double> best_weight;
    double power = first_power;
    double last_progress = infinity;
    for (std::int32_t waiting = 0;; ++waiting) {
      add_up();
      price_all(power);
      const double cost = std::accumulate(peak_.begin(), peak_.end(), 0.0);
      if (cost < best.cost) {
        best.cost = cost;
        best_weight = weight_;
      }
      const double bound = cheapest();
      if (bound > best.bound) {
        best.bound = bound;
        best.prices = price_;
      }
      if (best.gap() < 0.9 * last_progress) {
        last_progress = best.gap();
        waiting = 0;
      }
      if (best.gap() <= gap || waiting > patience || deadline.passed()) break;
      const double mean = std::inner_product(load_.begin(), load_.end(), price_.begin(), 0.0);
      const double equilibrium = std::max(0.0, mean / bound - 1);
      const double smoothing = std::max(0.0, cost / mean - 1);
      if (equilibrium < smoothing && power < largest_power) {
        const double wanted = equilibrium > 0 ? std::sqrt(smoothing / equilibrium) : fastest_growth;
        power = std::min(largest_power, power * std::clamp(wanted, power_growth, fastest_growth));
        price_all(power);
      }
      pass(power, worth_shifting * std::min(best.gap(), 1.0));
    }
    weight_ = std::move(best_weight);
    return best;
  }

  [[nodiscard]] double weight(std::size_t commodity, std::size_t choice) const {
    return weight_[first_choice_[commodity] + choice];
  }

 private:
  [[nodiscard]] std::span<const ClassLoad> uses(std::size_t choice) const {
    return std::span(uses_).subspan(first_use_[choice], first_use_[choice + 1] - first_use_[choice]);
  }

  /// The loads of the weights, without what rounding left in them.
  void add_up() {
    std::fill(load_.begin(), load_.end(), 0);
    for (std::size_t i = 0; i < problem_.commodities.size(); ++i) {
      for (std::size_t k = first_choice_[i]; k < first_choice_[i + 1]; ++k) {
        if (weight_[k] <= 0) continue;
        for (const ClassLoad& use : uses(k)) load_[at(use.link_class)] += problem_.size[i] * weight_[k] * use.times;
      }
    }
    std::fill(peak_.begin(), peak_.end(), 0);
    for (std::size_t i = 0; i < load_.size(); ++i) {
      double& peak = peak_[at(problem_.group[i])];
      peak = std::max(peak, load_[i] / problem_.capacity[i]);
    }
  }

  /// Prices with Σ capacity·price = 1 in every group; a group without load has equal ones.
  void price_all(double power) {
    std::vector<double> sum(factor_.size(), 0);
    std::fill(factor_.begin(), factor_.end(), 1);
    for (std::size_t i = 0; i < load_.size(); ++i) {
      price_[i] = price_at(i, load_[i], power);
      sum[at(problem_.group[i])] += problem_.capacity[i] * price_[i];
    }
    for (std::size_t g = 0; g < sum.size(); ++g) factor_[g] = 1 / sum[g];
    for (std::size_t i = 0; i < load_.size(); ++i) price_[i] *= factor_[at(problem_.group[i])];
  }

  [[nodiscard]] double price_at(std::size_t i, double load, double power) const {
    const auto group = at(problem_.group[i]);
    if (peak_[group] <= 0) return factor_[group] / problem_.capacity[i];
    const double relative = load / (problem_.capacity[i] * peak_[group]);
    return relative > 0 ? factor_[group] * std::exp(power * std::log(relative)) / problem_.capacity[i] : 0;
  }

  [[nodiscard]] double price(std::size_t choice) const {
    double sum = 0;
    for (const ClassLoad& use : uses(choice)) sum += use.times * price_[at(use.link_class)];
    return sum;
  }

  /// A commodity's cheapest choice, and its price.
  [[nodiscard]] std::pair<std::size_t, double> cheapest_of(std::size_t commodity) const {
    std::size_t best = first_choice_[commodity];
    double least = infinity;
    for (std::size_t k = first_choice_[commodity]; k < first_choice_[commodity + 1]; ++k) {
      const double candidate = price(k);
      if (candidate >= least) continue;
      least = candidate;
      best = k;
    }
    return {best, least};
  }

  [[nodiscard]] double cheapest() const {
    double sum = 0;
    for (std::size_t i = 0; i < problem_.commodities.size(); ++i) {
      if (problem_.size[i] > 0) sum += problem_.size[i] * cheapest_of(i).second;
    }
    return sum;
  }

  void pass(double power, double least_gain) {
    for (std::size_t i = 0; i < problem_.commodities.size(); ++i) {
      if (problem_.size[i] <= 0 || problem_.commodities[i].size() < 2) continue;
      const std::size_t best = cheapest_of(i).first;
      for (std::size_t k = first_choice_[i]; k < first_choice_[i + 1]; ++k) {
        if (k != best && weight_[k] > 0) shift(problem_.size[i], k, best, power, least_gain);
      }
    }
  }

  /// Moves weight until both choices cost the same or nothing is left.
  void shift(double size, std::size_t from, std::size_t to, double power, double least_gain) {
    const double dearer = price(from);
    const double difference = dearer - price(to);
    if (difference <= least_gain * dearer) return;
    touched_.clear();
    for (const ClassLoad& use : uses(from)) touch(use, -1);
    for (const ClassLoad& use : uses(to)) touch(use, 1);
    double slope = 0;
    for (const std::size_t i : touched_) {
      if (load_[i] > 0) slope += change_[i] * change_[i] * power * price_[i] / load_[i];
    }
    const double most = size * weight_[from];
    double amount = slope > 0 ? std::min(most, difference / slope) : most;
    for (std::int32_t i = 0; i < most_halvings; ++i) {
      double rest = 0;
      for (const std::size_t k : touched_) {
        rest -= change_[k] * price_at(k, std::max(0.0, load_[k] + change_[k] * amount), power);
      }
      if (rest > -0.5 * difference) break;
      amount /= 2;
    }
    for (const std::size_t i : touched_) {
      if (change_[i] != 0) {
        load_[i] = std::max(0.0, load_[i] + change_[i] * amount);
        price_[i] = price_at(i, load_[i], power);
      }
      change_[i] = 0;
    }
    const double moved = std::min(weight_[from], amount / size);
    const bool all = weight_[from] - moved <= least_weight;
    weight_[to] += all ? weight_[from] : moved;
    weight_[from] = all ? 0 : weight_[from] - moved;
  }

  void touch(const ClassLoad& use, double sign) {
    const std::size_t i = at(use.link_class);
    if (std::find(touched_.begin(), touched_.end(), i) == touched_.end()) touched_.push_back(i);
    change_[i] += sign * use.times;
  }

  const ChunkProblem& problem_;
  std::vector<std::size_t> first_choice_{0};  ///< by commodity, and the number of all choices
  std::vector<std::size_t> first_use_{0};     ///< by choice, and the number of all uses
  std::vector<ClassLoad> uses_;
  std::vector<double> weight_;  ///< by choice
  std::vector<double> load_;    ///< by resource, as the next two
  std::vector<double> price_;
  std::vector<double> change_;  ///< per unit moved; 0 but during a shift
  std::vector<double> peak_;    ///< by group: largest load per unit capacity, as the pass begins
  std::vector<double> factor_;  ///< by group: of its prices
  std::vector<std::size_t> touched_;
};

}  // namespace

ChoiceEquilibrium equilibrate_choices(ChunkProblem& problem, double gap, const Deadline& deadline) {
  Equilibration equilibration(problem);
  ChoiceEquilibrium result = equilibration.run(gap, deadline);
  for (std::size_t i = 0; i < problem.commodities.size(); ++i) {
    for (std::size_t k = 0; k < problem.commodities[i].size(); ++k) {
      problem.commodities[i][k].weight = equilibration.weight(i, k);
    }
  }
  return result;
}

}  // namespace libcoll::flow::first_order
