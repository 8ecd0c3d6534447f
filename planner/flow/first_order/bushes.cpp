#include "planner/flow/first_order/bushes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/infinity.h"
#include "planner/flow/problem/cycle_canceller.h"

namespace libcoll::flow::first_order {

using namespace problem;
using namespace topology;

namespace {

constexpr double first_power = 8;
constexpr double power_growth = 1.6;
constexpr double fastest_growth = 4;
constexpr double largest_power = 1e6;
constexpr double power_for_gap = 8;  // over a gap: what p is to be near a solution with that gap
// Prices stay above zero so that lengths grow strictly along every link: that is what orders a bush.
constexpr double least_price = 1e-9;
constexpr double least_bush_flow = 1e-11;  // below is dust of cancellation
// A shift has to gain this part of the gap that is left, or it waits until the gap is smaller.
constexpr double worth_shifting = 0.05;
constexpr double worth_copying = 0.7;
constexpr std::int32_t patience = 15;      // passes that together improve the gap by less than a tenth
constexpr std::int32_t most_halvings = 4;  // of a Newton step that overshoots

/// Loads and prices of classes.
class Prices {
 public:
  struct Entry {
    double load = 0;
    double price = 0;
  };

  explicit Prices(const FlowProblem& problem) : capacity_(&problem.capacity), load_(problem.classes(), 0) {
    price_.assign(problem.classes(), 1);
  }

  void set(std::vector<double> loads, double power, double scale) {
    load_ = std::move(loads);
    power_ = power;
    scale_ = scale;
    for (std::size_t i = 0; i < load_.size(); ++i) price_[i] = price_at(i, load_[i]);
  }

  void add(std::size_t link_class, double amount) {
    load_[link_class] = std::max(0.0, load_[link_class] + amount);
    price_[link_class] = price_at(link_class, load_[link_class]);
  }

  void put(std::size_t link_class, Entry entry) {
    load_[link_class] = entry.load;
    price_[link_class] = entry.price;
  }

  /// Without a new price, which takes most of the time.
  void add_load(std::size_t link_class, double amount) { load_[link_class] += amount; }

  [[nodiscard]] double price_at(std::size_t link_class, double load) const {
    const double relative = load / ((*capacity_)[link_class] * scale_);
    return relative > 0 ? std::max(least_price, std::exp(power_ * std::log(relative))) : least_price;
  }

  /// dπ/dload.
  [[nodiscard]] double slope(std::size_t link_class) const {
    return power_ * price_[link_class] / std::max(load_[link_class], least_bush_flow);
  }

  [[nodiscard]] double price(std::size_t link_class) const { return price_[link_class]; }
  [[nodiscard]] double load(std::size_t link_class) const { return load_[link_class]; }
  [[nodiscard]] const std::vector<double>& loads() const { return load_; }
  [[nodiscard]] const std::vector<double>& prices() const { return price_; }

 private:
  const std::vector<double>* capacity_;
  std::vector<double> load_;
  std::vector<double> price_;
  double power_ = 1;
  double scale_ = 1;
};

/// One source's acyclic flow and a topological order of the links it uses.
struct Bush {
  std::vector<double> flow;
  std::vector<NodeId> order;
};

/// Works on one source's bush after the other.
class Equilibrator {
 public:
  explicit Equilibrator(const FlowProblem& problem)
      : problem_(problem),
        rank_(at(problem.nodes)),
        low_(at(problem.nodes)),
        high_(at(problem.nodes)),
        tree_(at(problem.nodes)),
        busiest_(at(problem.nodes)),
        times_(problem.classes(), 0),
        wanted_(at(problem.nodes)),
        own_classes_(problem.classes() == problem.links()) {}

  /// A first bush: one path to every host, shortest by hops and then by the prices so far.
  void plant_tree(std::size_t source, Bush& bush, Prices& prices) {
    order_by_hops(source, bush);
    find_shortest(bush, prices);
    load_tree(source, bush, prices);
  }

  /// Another: all paths to every host that are shortest by hops, in equal parts (EwSP).
  void plant_all_shortest(std::size_t source, Bush& bush, Prices& prices) {
    order_by_hops(source, bush);
    load_all_shortest(source, bush, prices);
  }

  /// One that is given: a flow without cycles. Its order holds the nodes within reach that the flow leaves out, too.
  void take(std::size_t source, const std::vector<double>& flow, CycleCanceller& cycles, Bush& bush) {
    order_by_hops(source, bush);
    const std::vector<NodeId> within_reach = bush.order;
    bush.flow = flow;
    cycles.run(problem_.sources[source], bush.flow, bush.order);
    for (const NodeId node : bush.order) rank_[at(node)] = -1;
    for (const NodeId node : within_reach) {
      if (rank_[at(node)] >= 0) bush.order.push_back(node);
    }
  }

  void equilibrate(std::size_t source, Bush& bush, Prices& prices, double least_gain) {
    renew_order(bush, prices);
    find_shortest(bush, prices);
    for (std::size_t i = bush.order.size(); i-- > 1;)
      shift_to_shortest(source, bush, prices, bush.order[i], least_gain);
  }

 private:
  [[nodiscard]] std::size_t class_of(std::int32_t link) const { return at(problem_.link_class[at(link)]); }

  /// The nodes within reach by their distance, which becomes their rank_.
  void order_by_hops(std::size_t source, Bush& bush) {
    const NodeId root = problem_.sources[source];
    std::fill(rank_.begin(), rank_.end(), -1);
    bush.order.assign(1, root);
    rank_[at(root)] = 0;
    for (std::size_t head = 0; head < bush.order.size(); ++head) {
      const NodeId node = bush.order[head];
      for (std::int32_t k = problem_.out_begin[at(node)]; k < problem_.out_begin[at(node) + 1]; ++k) {
        const NodeId next = problem_.to[at(problem_.out_link[at(k)])];
        if (rank_[at(next)] >= 0) continue;
        rank_[at(next)] = rank_[at(node)] + 1;
        bush.order.push_back(next);
      }
    }
  }

  /// Sorts the nodes by their longest used path (unused nodes by the shortest way from their forward neighbours), which
  /// keeps every used link forward and lets as many others be forward as the flow allows.
  void renew_order(Bush& bush, const Prices& prices) {
    std::fill(rank_.begin(), rank_.end(), -1);
    for (std::size_t i = 0; i < bush.order.size(); ++i) rank_[at(bush.order[i])] = static_cast<std::int32_t>(i);
    high_[at(bush.order.front())] = 0;
    for (std::size_t i = 1; i < bush.order.size(); ++i) {
      const auto v = at(bush.order[i]);
      double used = -1;
      double unused = infinity;
      double most = 0;
      busiest_[v] = -1;
      for (std::int32_t link = problem_.in_begin[v]; link < problem_.in_begin[v + 1]; ++link) {
        const auto u = at(problem_.from[at(link)]);
        if (rank_[u] < 0 || rank_[u] >= static_cast<std::int32_t>(i)) continue;
        const double length = high_[u] + prices.price(class_of(link));
        const double flow = bush.flow[at(link)];
        if (flow > 0) {
          used = std::max(used, length);
          if (flow > most) busiest_[v] = link;
          most = std::max(most, flow);
        } else {
          unused = std::min(unused, length);
        }
      }
      high_[v] = used >= 0 ? used : unused;
    }
    insertion_sort(bush.order);
    for (std::size_t i = 0; i < bush.order.size(); ++i) rank_[at(bush.order[i])] = static_cast<std::int32_t>(i);
  }

  /// The order is nearly right; far from it, a merge sort is faster. Stable, both.
  void insertion_sort(std::vector<NodeId>& order) const {
    std::size_t moves = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
      const NodeId node = order[i];
      const double key = high_[at(node)];
      std::size_t j = i;
      for (; j > 0 && high_[at(order[j - 1])] > key; --j) order[j] = order[j - 1];
      order[j] = node;
      moves += i - j;
      if (moves > 16 * order.size()) {
        std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return high_[at(a)] < high_[at(b)]; });
        return;
      }
    }
  }

  /// low_ and tree_: shortest paths over links that are forward in rank_.
  void find_shortest(const Bush& bush, const Prices& prices) {
    low_[at(bush.order.front())] = 0;
    tree_[at(bush.order.front())] = -1;
    for (std::size_t i = 1; i < bush.order.size(); ++i) {
      const auto v = at(bush.order[i]);
      double best = infinity;
      std::int32_t arg = -1;
      for (std::int32_t link = problem_.in_begin[v]; link < problem_.in_begin[v + 1]; ++link) {
        const auto u = at(problem_.from[at(link)]);
        if (rank_[u] < 0 || rank_[u] >= rank_[v]) continue;
        const double length = low_[u] + prices.price(class_of(link));
        if (length < best) {
          best = length;
          arg = link;
        }
      }
      low_[v] = best;
      tree_[v] = arg;
    }
  }

  void load_tree(std::size_t source, Bush& bush, Prices& prices) {
    bush.flow.assign(problem_.links(), 0);
    std::fill(wanted_.begin(), wanted_.end(), 0);
    for (std::size_t i = bush.order.size(); i-- > 1;) {
      const NodeId node = bush.order[i];
      wanted_[at(node)] += node < problem_.hosts ? 1 : 0;
      if (wanted_[at(node)] <= 0) continue;
      const std::int32_t link = tree_[at(node)];
      bush.flow[at(link)] = wanted_[at(node)];
      wanted_[at(problem_.from[at(link)])] += wanted_[at(node)];
      prices.add(class_of(link), problem_.weight[source] * wanted_[at(node)]);
    }
  }

  /// What passes a node comes from its predecessors in proportion to their paths, which low_ counts.
  void load_all_shortest(std::size_t source, Bush& bush, Prices& prices) {
    bush.flow.assign(problem_.links(), 0);
    std::fill(wanted_.begin(), wanted_.end(), 0);
    std::fill(low_.begin(), low_.end(), 0);
    low_[at(bush.order.front())] = 1;
    const auto precedes = [&](std::int32_t link, NodeId node) {
      const std::int32_t before = rank_[at(problem_.from[at(link)])];
      return before >= 0 && before + 1 == rank_[at(node)];
    };
    for (std::size_t i = 1; i < bush.order.size(); ++i) {
      const NodeId node = bush.order[i];
      for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
        if (precedes(link, node)) low_[at(node)] += low_[at(problem_.from[at(link)])];
      }
    }
    for (std::size_t i = bush.order.size(); i-- > 1;) {
      const NodeId node = bush.order[i];
      wanted_[at(node)] += node < problem_.hosts ? 1 : 0;
      if (wanted_[at(node)] <= 0) continue;
      for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
        if (!precedes(link, node)) continue;
        const NodeId before = problem_.from[at(link)];
        bush.flow[at(link)] = wanted_[at(node)] * low_[at(before)] / low_[at(node)];
        wanted_[at(before)] += bush.flow[at(link)];
        prices.add_load(class_of(link), problem_.weight[source] * bush.flow[at(link)]);
      }
    }
  }

  void shift_to_shortest(std::size_t source, Bush& bush, Prices& prices, NodeId node, double least_gain) {
    const std::int32_t shortest = tree_[at(node)];
    for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
      if (link == shortest || bush.flow[at(link)] <= 0) continue;
      // Nothing that ends with this link can gain enough.
      const double longest = high_[at(problem_.from[at(link)])] + prices.price(class_of(link));
      if (longest - low_[at(node)] <= least_gain * low_[at(node)]) continue;
      if (trace(bush, link, shortest)) shift(source, bush, prices, least_gain);
    }
  }

  /// The used link into a node that has most flow.
  [[nodiscard]] std::int32_t used_link(const Bush& bush, NodeId node) {
    std::int32_t& best = busiest_[at(node)];
    if (best >= 0) return best;
    double most = 0;
    for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
      if (bush.flow[at(link)] <= most) continue;
      most = bush.flow[at(link)];
      best = link;
    }
    return best;
  }

  /// Follows the used link and the shortest one back to where they part: used_ and shortest_. False when dust of
  /// flow ends on the way.
  bool trace(const Bush& bush, std::int32_t used, std::int32_t shortest) {
    used_.assign(1, used);
    shortest_.assign(1, shortest);
    NodeId a = problem_.from[at(used)];
    NodeId b = problem_.from[at(shortest)];
    while (a != b) {
      if (rank_[at(a)] > rank_[at(b)]) {
        const std::int32_t link = used_link(bush, a);
        if (link < 0) return false;
        used_.push_back(link);
        a = problem_.from[at(link)];
      } else {
        const std::int32_t link = tree_[at(b)];
        shortest_.push_back(link);
        b = problem_.from[at(link)];
      }
    }
    return true;
  }

  /// Moves flow from used_ to shortest_ until they cost the same, or nothing is left. Newton's step on the difference
  /// of the costs; prices are steep, so a step that turns the difference around is halved.
  void shift(std::size_t source, Bush& bush, Prices& prices, double least_gain) {
    double used = 0;
    double shortest = 0;
    double most = infinity;
    for (const std::int32_t link : used_) {
      used += prices.price(class_of(link));
      most = std::min(most, bush.flow[at(link)]);
    }
    for (const std::int32_t link : shortest_) shortest += prices.price(class_of(link));
    const double difference = used - shortest;
    if (difference <= least_gain * used) return;
    count_classes();
    const double weight = problem_.weight[source];
    double slope = 0;
    for (const std::size_t link_class : touched_) {
      slope += weight * times_[link_class] * times_[link_class] * prices.slope(link_class);
    }
    double amount = slope > 0 ? std::min(most, difference / slope) : most;
    after_.resize(touched_.size());
    for (std::int32_t i = 0;; ++i) {
      double rest = 0;
      for (std::size_t k = 0; k < touched_.size(); ++k) {
        const double times = times_[touched_[k]];
        after_[k].load = std::max(0.0, prices.load(touched_[k]) + weight * times * amount);
        after_[k].price = prices.price_at(touched_[k], after_[k].load);
        rest -= times * after_[k].price;
      }
      if (rest > -0.5 * difference || i == most_halvings) break;
      amount /= 2;
    }
    for (std::size_t k = 0; k < touched_.size(); ++k) {
      if (times_[touched_[k]] != 0) prices.put(touched_[k], after_[k]);
      times_[touched_[k]] = 0;
    }
    for (const std::int32_t link : used_) {
      double& flow = bush.flow[at(link)];
      flow = flow - amount > least_bush_flow ? flow - amount : 0;
      busiest_[at(problem_.to[at(link)])] = -1;
    }
    for (const std::int32_t link : shortest_) {
      bush.flow[at(link)] += amount;
      busiest_[at(problem_.to[at(link)])] = -1;
    }
  }

  /// touched_ and times_: by how much a unit of shift changes each class.
  void count_classes() {
    touched_.clear();
    const auto count = [&](std::int32_t link, double change) {
      const std::size_t link_class = class_of(link);
      // Neither way meets a link twice.
      if (own_classes_ || std::find(touched_.begin(), touched_.end(), link_class) == touched_.end()) {
        touched_.push_back(link_class);
      }
      times_[link_class] += change;
    };
    for (const std::int32_t link : used_) count(link, -1);
    for (const std::int32_t link : shortest_) count(link, 1);
  }

  const FlowProblem& problem_;
  std::vector<std::int32_t> rank_;  ///< position in the order at hand; -1: out of the source's reach
  std::vector<double> low_;
  std::vector<double> high_;
  std::vector<std::int32_t> tree_;
  std::vector<std::int32_t> busiest_;  ///< by node: the link with most flow into it; -1: to be found
  std::vector<std::int32_t> used_;
  std::vector<std::int32_t> shortest_;
  std::vector<double> times_;
  std::vector<std::size_t> touched_;
  std::vector<Prices::Entry> after_;  ///< of touched_: once the shift is done
  std::vector<double> wanted_;
  bool own_classes_;  ///< every link is a class of its own
};

}  // namespace

/// All sources' bushes.
class Bushes::Forest {
 public:
  explicit Forest(const FlowProblem& problem)
      : problem_(problem), bushes_(problem.sources.size()), prices_(problem), equilibrator_(problem) {
    best_.load = infinity;
    // A graph with many shortest paths, such as a torus with holes, is all but solved by them; one with few is not.
    const double all_shortest = plant(&Equilibrator::plant_all_shortest);
    std::vector<Bush> others(bushes_.size());
    bushes_.swap(others);
    std::vector<double> loads = prices_.loads();
    if (plant(&Equilibrator::plant_tree) > all_shortest) {
      bushes_ = std::move(others);
      prices_.set(std::move(loads), first_power, all_shortest);
    }
  }

  void start_from(const FlowSolution& solution) {
    CycleCanceller cycles(problem_);
    for (std::size_t i = 0; i < bushes_.size(); ++i) equilibrator_.take(i, solution.flow[i], cycles, bushes_[i]);
    prices_.set(class_loads(problem_, solution.flow), 1, 1);
    power_ = std::min(largest_power, power_for_gap / std::max(solution.gap(), 1 / largest_power));
    best_ = solution;
    kept_gap_ = solution.gap();
    kept_load_ = current_load_ = solution.load;
  }

  FlowSolution solve(const FlowLimits& limits, double handover_gap) {
    std::int32_t waiting = 0;
    std::int32_t lagging = 0;  // looks in a row at which the equilibrium was the farther one
    double last_progress = infinity;
    for (;;) {
      const double load = restart_prices(power_);
      const double bound = load_bound(problem_, prices_.prices(), limits.threads);
      keep(load, bound);
      ++waiting;
      if (best_.gap() < 0.9 * last_progress) {
        last_progress = best_.gap();
        waiting = 0;
      }
      if (best_.gap() <= limits.gap || waiting > patience || limits.late()) break;
      // What the smoothed objective costs beside what is missing to its optimum.
      const double equilibrium = mean_load() / bound - 1;
      const double smoothing = load / mean_load() - 1;
      // Once may be a step of p that was too large.
      lagging = equilibrium < smoothing ? 0 : lagging + 1;
      if (lagging > 1 && best_.gap() <= handover_gap) break;
      if (equilibrium < smoothing) {
        const double growth = std::clamp(std::sqrt(smoothing / equilibrium), power_growth, fastest_growth);
        power_ = std::min(largest_power, power_ * growth);
      }
      restart_prices(power_);
      pass(worth_shifting * std::min(best_.gap(), 1.0));
    }
    return best();
  }

 private:
  /// All bushes anew; returns the largest load.
  double plant(void (Equilibrator::*plant_one)(std::size_t, Bush&, Prices&)) {
    // Prices that grow with the load, whatever its final size: the exponent is what counts.
    prices_.set(std::vector<double>(problem_.classes(), 0), 2, 1);
    for (std::size_t i = 0; i < bushes_.size(); ++i) (equilibrator_.*plant_one)(i, bushes_[i], prices_);
    return largest_load(problem_, prices_.loads());
  }

  /// Prices from exact loads; returns the largest load.
  double restart_prices(double power) {
    std::vector<double> loads = prices_.loads();
    const double largest = largest_load(problem_, loads);
    prices_.set(std::move(loads), power, largest);
    return largest;
  }

  /// Σ π·load / Σ π·cap: what the bound would be at the equilibrium.
  [[nodiscard]] double mean_load() const {
    double loads = 0;
    double capacity = 0;
    for (std::size_t i = 0; i < problem_.classes(); ++i) {
      loads += prices_.price(i) * prices_.load(i);
      capacity += prices_.price(i) * problem_.capacity[i];
    }
    return loads / capacity;
  }

  void keep(double load, double bound) {
    if (bound > best_.bound) {
      best_.bound = bound;
      best_.prices = prices_.prices();
    }
    best_.load = std::min(best_.load, load);
    current_load_ = load;
    // A copy costs a good part of a pass, and the next pass is nearly always better.
    if (load <= best_.load && best_.gap() < worth_copying * kept_gap_) {
      kept_gap_ = best_.gap();
      kept_load_ = load;
      copy_flow(best_);
    }
  }

  void copy_flow(FlowSolution& solution) const {
    solution.flow.resize(bushes_.size());
    for (std::size_t i = 0; i < bushes_.size(); ++i) solution.flow[i] = bushes_[i].flow;
  }

  [[nodiscard]] FlowSolution best() const {
    FlowSolution solution;
    solution.bound = best_.bound;
    solution.prices = best_.prices;
    if (current_load_ > kept_load_) {
      solution.load = kept_load_;
      solution.flow = best_.flow;
    } else {
      solution.load = current_load_;
      copy_flow(solution);
    }
    return solution;
  }

  void pass(double least_gain) {
    for (std::size_t i = 0; i < bushes_.size(); ++i) equilibrator_.equilibrate(i, bushes_[i], prices_, least_gain);
  }

  const FlowProblem& problem_;
  std::vector<Bush> bushes_;
  Prices prices_;
  Equilibrator equilibrator_;
  double power_ = first_power;
  FlowSolution best_;
  double current_load_ = infinity;
  double kept_load_ = infinity;  ///< of the flow in best_, as next
  double kept_gap_ = infinity;
};

Bushes::Bushes(const FlowProblem& problem) : forest_(std::make_unique<Forest>(problem)) {}
Bushes::~Bushes() = default;

void Bushes::start_from(const FlowSolution& solution) { forest_->start_from(solution); }

FlowSolution Bushes::solve(const FlowLimits& limits, double handover_gap) {
  return forest_->solve(limits, handover_gap);
}

}  // namespace libcoll::flow::first_order
