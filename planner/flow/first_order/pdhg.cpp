#include "planner/flow/first_order/pdhg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/run_on_threads.h"
#include "planner/flow/problem/block_distances.h"
#include "planner/flow/problem/cycle_canceller.h"
#include "planner/flow/problem/vector_target.h"

namespace libcoll::flow::first_order {

using namespace problem;
using namespace topology;

namespace {

constexpr std::size_t lanes = float_lanes;
// Restarts when the fixed-point residual has fallen by this, or less but rises again, or after this part of all steps.
constexpr double sufficient_decay = 0.2;
constexpr double necessary_decay = 0.8;
constexpr double longest_run = 0.5;
constexpr std::int32_t first_evaluation = 20;  // steps to the first look at the gap
constexpr double evaluation_growth = 1.1;
// Evaluations that together improve neither the iterate nor the residual by a tenth: a gap may stand still for long
// while the residual falls, but what does neither has stalled.
constexpr std::int32_t restart_patience = 5;
constexpr double far_from_gap = 4;        // times the gap asked for
constexpr std::int32_t most_skipped = 4;  // looks at the bound only, in a row
constexpr double least_share = 0.05;      // of the gap, times a node's inflow: below is noise of the iteration

/// What a block's step reads and writes; [link or node][lane].
struct Block {
  const std::int32_t* in_begin = nullptr;
  const std::int32_t* from = nullptr;
  const float* price = nullptr;  ///< by link
  std::size_t nodes = 0;
  float* flow = nullptr;
  const float* anchor_flow = nullptr;
  float* potential = nullptr;
  const float* anchor_potential = nullptr;
  const float* flow_step = nullptr;  ///< τ of a link is the lesser of its ends'
  const float* node_step = nullptr;  ///< σ
  const float* demand = nullptr;     ///< by lane: of every host
  std::size_t hosts = 0;
  float* excess = nullptr;     ///< in − out of the reflected flow, by node
  float* link_load = nullptr;  ///< out, added to: the reflected flow, by link and lane
  float keep = 0;              ///< Halpern's (k+1)/(k+2)
  float pull = 0;              ///< and 1/(k+2)
  float residual[lanes] = {};  ///< out: how far the step leads
};

/// f⁺ = max(0, f − τ(π + y_tail − y_head)); the reflected 2f⁺ − f goes into excess and load; f moves on. The residual
/// is Σ (f⁺ − f)²/τ but for flows that stop at zero, which count for a little more: there is no division in it.
LIBCOLL_ALWAYS_INLINE void move_flow(Block& block) {
  const float keep = block.keep;
  const float pull = block.pull;
  float residual[lanes] = {};
  for (std::size_t v = 0; v < block.nodes; ++v) {
    float inflow[lanes] = {};
    const float* __restrict head = block.potential + v * lanes;
    const float* __restrict head_step = block.flow_step + v * lanes;
    for (std::int32_t k = block.in_begin[v]; k < block.in_begin[v + 1]; ++k) {
      const auto link = static_cast<std::size_t>(k);
      const auto u = static_cast<std::size_t>(block.from[k]);
      const float price = block.price[k];
      const float* __restrict tail = block.potential + u * lanes;
      const float* __restrict tail_step = block.flow_step + u * lanes;
      float* __restrict flow = block.flow + link * lanes;
      const float* __restrict anchor = block.anchor_flow + link * lanes;
      float* __restrict load = block.link_load + link * lanes;
      float* __restrict outflow = block.excess + u * lanes;
      LIBCOLL_INDEPENDENT
      for (std::size_t i = 0; i < lanes; ++i) {
        const float old = flow[i];
        const float cost = price + tail[i] - head[i];
        const float next = std::max(0.0F, old - std::min(tail_step[i], head_step[i]) * cost);
        const float change = next - old;
        const float reflected = next + change;
        residual[i] += std::abs(change * cost);
        inflow[i] += reflected;
        outflow[i] -= reflected;
        load[i] += reflected;
        flow[i] = keep * reflected + pull * anchor[i];
      }
    }
    float* __restrict excess = block.excess + v * lanes;
    LIBCOLL_INDEPENDENT
    for (std::size_t i = 0; i < lanes; ++i) excess[i] += inflow[i];
  }
  LIBCOLL_INDEPENDENT
  for (std::size_t i = 0; i < lanes; ++i) block.residual[i] += residual[i];
}

/// y⁺ = y + σ(demand − excess). Residual: Σ (y⁺ − y)²/σ.
LIBCOLL_ALWAYS_INLINE void move_potentials(Block& block) {
  const float keep = block.keep;
  const float pull = block.pull;
  float residual[lanes] = {};
  for (std::size_t v = 0; v < block.nodes; ++v) {
    const float wanted = v < block.hosts ? 1.0F : 0.0F;
    const float* __restrict demand = block.demand;
    const float* __restrict step = block.node_step + v * lanes;
    const float* __restrict excess = block.excess + v * lanes;
    const float* __restrict anchor = block.anchor_potential + v * lanes;
    float* __restrict potential = block.potential + v * lanes;
    LIBCOLL_INDEPENDENT
    for (std::size_t i = 0; i < lanes; ++i) {
      const float missing = wanted * demand[i] - excess[i];
      const float change = step[i] * missing;
      residual[i] += change * missing;
      potential[i] = keep * (potential[i] + 2 * change) + pull * anchor[i];
    }
  }
  LIBCOLL_INDEPENDENT
  for (std::size_t i = 0; i < lanes; ++i) block.residual[i] += residual[i];
}

LIBCOLL_FOR_EACH_TARGET(move_flow_on_target, (Block & block), (move_flow(block)), (block))
LIBCOLL_FOR_EACH_TARGET(move_potentials_on_target, (Block & block), (move_potentials(block)), (block))

/// The iterate, its anchor, and the steps that lead on.
class Iteration {
 public:
  Iteration(const FlowProblem& problem, const FlowLimits& limits)
      : problem_(problem),
        blocks_((problem.sources.size() + lanes - 1) / lanes),
        threads_(static_cast<std::int32_t>(
            std::clamp<std::size_t>(blocks_, 1, static_cast<std::size_t>(std::max(1, limits.threads))))),
        scale_(std::accumulate(problem.weight.begin(), problem.weight.end(), 0.0) /
               static_cast<double>(problem.weight.size())),
        price_(problem.links()),
        link_load_(at(threads_), std::vector<float>(problem.links() * lanes)),
        excess_(at(threads_), std::vector<float>(at(problem.nodes) * lanes)) {
    flow_.assign(blocks_ * problem.links() * lanes, 0);
    potential_.assign(blocks_ * at(problem.nodes) * lanes, 0);
    capacity_sum_ = std::accumulate(problem.capacity.begin(), problem.capacity.end(), 0.0);
  }

  void start(const FlowSolution& solution) {
    double sum = 0;
    for (std::size_t i = 0; i < problem_.classes(); ++i) sum += solution.prices[i] * problem_.capacity[i];
    for (const double price : solution.prices) class_price_.push_back(price * capacity_sum_ / sum);
    spread_prices();
    set_steps(solution);
    std::vector<float> distance;
    for (std::size_t source = 0; source < problem_.sources.size(); ++source) {
      float* flow = flow_.data() + source / lanes * problem_.links() * lanes + source % lanes;
      for (std::size_t link = 0; link < problem_.links(); ++link) {
        flow[link * lanes] = static_cast<float>(share(source) * solution.flow[source][link]);
      }
      if (source % lanes > 0) continue;
      block_distances({problem_.in_begin, problem_.from}, price_, sources_of(source / lanes), distance);
      float* potential = potential_.data() + source * at(problem_.nodes);
      for (std::size_t i = 0; i < distance.size(); ++i) potential[i] = distance[i] < unreached_float ? distance[i] : 0;
    }
    restart();
  }

  /// One step from z to Halpern's mean of the reflected step and the anchor. Returns the fixed-point residual.
  double step() {
    const double keep = static_cast<double>(since_restart_ + 1) / static_cast<double>(since_restart_ + 2);
    std::vector<double> residuals(at(threads_), 0);
    run_on_threads(threads_, [&](std::int32_t worker) {
      std::fill(link_load_[at(worker)].begin(), link_load_[at(worker)].end(), 0.0F);
      for (std::size_t block = at(worker); block < blocks_; block += at(threads_)) {
        residuals[at(worker)] += step_block(block, worker, static_cast<float>(keep));
      }
    });
    ++since_restart_;
    return std::accumulate(residuals.begin(), residuals.end(), 0.0) + step_prices(keep);
  }

  void restart() {
    anchor_flow_ = flow_;
    anchor_potential_ = potential_;
    anchor_class_price_ = class_price_;
    since_restart_ = 0;
  }

  [[nodiscard]] std::int64_t since_restart() const { return since_restart_; }
  [[nodiscard]] std::vector<double> prices() const {
    std::vector<double> result;
    for (const double price : class_price_) result.push_back(std::max(0.0, price));
    return result;
  }

  /// The iterate made feasible, without links of less than `least_part` of their head's inflow: its flows and loads.
  std::vector<double> feasible_loads(double least_part, std::vector<std::vector<double>>& flows) const {
    std::vector<std::vector<double>> loads(at(threads_), std::vector<double>(problem_.classes(), 0));
    flows.resize(problem_.sources.size());
    // Lengths well above zero order the nodes along every shortest path.
    std::vector<float> lengths;
    for (const float price : price_) lengths.push_back(std::max(price, 1e-3F));
    run_on_threads(threads_, [&](std::int32_t worker) {
      std::vector<float> distance;
      Scratch scratch{CycleCanceller(problem_), {}, {}, {}};
      for (std::size_t block = at(worker); block < blocks_; block += at(threads_)) {
        const std::span<const NodeId> sources = sources_of(block);
        block_distances({problem_.in_begin, problem_.from}, lengths, sources, distance);
        for (std::size_t i = 0; i < sources.size(); ++i) {
          const std::size_t source = block * lanes + i;
          std::vector<double>& flow = flows[source];
          make_feasible(source, least_part, lengths, distance, scratch, flow);
          for (std::size_t link = 0; link < flow.size(); ++link) {
            loads[at(worker)][at(problem_.link_class[link])] += problem_.weight[source] * flow[link];
          }
        }
      }
    });
    for (std::size_t worker = 1; worker < loads.size(); ++worker) {
      for (std::size_t i = 0; i < loads[0].size(); ++i) loads[0][i] += loads[worker][i];
    }
    return std::move(loads[0]);
  }

 private:
  /// Of one thread, for make_feasible.
  struct Scratch {
    CycleCanceller cycles;
    std::vector<NodeId> order;
    std::vector<std::int32_t> rank;
    std::vector<double> wanted;
  };

  /// Demand per destination of a source, in units of the mean.
  [[nodiscard]] double share(std::size_t source) const { return problem_.weight[source] / scale_; }

  [[nodiscard]] std::span<const NodeId> sources_of(std::size_t block) const {
    const std::size_t first = block * lanes;
    return {problem_.sources.data() + first, std::min(lanes, problem_.sources.size() - first)};
  }

  /// Pock and Chambolle's diagonal steps for columns in units of what they may carry: a link close to the source
  /// carries a hundred times what one far from it does, and has as much farther to go. A link's unit is the lesser of
  /// what its ends pass on in the solution; then τ = unit/3, as a column has three entries, and σ = 1/Σ units of the
  /// row.
  void set_steps(const FlowSolution& solution) {
    const auto nodes = at(problem_.nodes);
    flow_step_.assign(potential_.size(), 0);
    node_step_.assign(potential_.size(), 0);
    class_step_.assign(problem_.classes(), 0);
    std::vector<double> unit(nodes);
    std::vector<double> row(nodes);
    for (std::size_t source = 0; source < problem_.sources.size(); ++source) {
      std::fill(unit.begin(), unit.end(), 0);
      std::fill(row.begin(), row.end(), 0);
      for (std::size_t link = 0; link < problem_.links(); ++link) {
        unit[at(problem_.to[link])] += solution.flow[source][link];
      }
      unit[at(problem_.sources[source])] = problem_.hosts;
      for (double& each : unit) each = share(source) * std::max(1.0, each);
      for (std::size_t link = 0; link < problem_.links(); ++link) {
        const std::size_t from = at(problem_.from[link]);
        const std::size_t to = at(problem_.to[link]);
        const double least = std::min(unit[from], unit[to]);
        row[from] += least;
        row[to] += least;
        class_step_[at(problem_.link_class[link])] += least;
      }
      const std::size_t first = source / lanes * nodes * lanes + source % lanes;
      for (std::size_t v = 0; v < nodes; ++v) {
        flow_step_[first + v * lanes] = static_cast<float>(unit[v] / 3);
        node_step_[first + v * lanes] = row[v] > 0 ? static_cast<float>(1 / row[v]) : 0;
      }
    }
    for (double& each : class_step_) each = 1 / each;
  }

  void spread_prices() {
    for (std::size_t link = 0; link < price_.size(); ++link) {
      price_[link] = static_cast<float>(class_price_[at(problem_.link_class[link])]);
    }
  }

  double step_block(std::size_t index, std::int32_t worker, float keep) {
    const std::size_t links = problem_.links() * lanes;
    const std::size_t nodes = at(problem_.nodes) * lanes;
    std::vector<float>& excess = excess_[at(worker)];
    std::fill(excess.begin(), excess.end(), 0.0F);
    Block block;
    block.in_begin = problem_.in_begin.data();
    block.from = problem_.from.data();
    block.price = price_.data();
    block.nodes = at(problem_.nodes);
    block.flow = flow_.data() + index * links;
    block.anchor_flow = anchor_flow_.data() + index * links;
    block.potential = potential_.data() + index * nodes;
    block.anchor_potential = anchor_potential_.data() + index * nodes;
    block.flow_step = flow_step_.data() + index * nodes;
    block.node_step = node_step_.data() + index * nodes;
    block.hosts = at(problem_.hosts);
    block.excess = excess.data();
    block.link_load = link_load_[at(worker)].data();
    block.keep = keep;
    block.pull = 1 - keep;
    move_flow_on_target(block);
    const std::span<const NodeId> sources = sources_of(index);
    float demand[lanes] = {};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      demand[i] = static_cast<float>(share(index * lanes + i));
      excess[at(sources[i]) * lanes + i] = demand[i];  // the source has no row: its potential stays 0
    }
    block.demand = demand;
    move_potentials_on_target(block);
    return std::accumulate(std::begin(block.residual), std::end(block.residual), 0.0);
  }

  /// π⁺: the projection of π + σ·load on the simplex Σ cap·π = Σ cap, π ≥ 0.
  double step_prices(double keep) {
    std::vector<double> target(problem_.classes(), 0);
    for (std::size_t link = 0; link < problem_.links(); ++link) {
      double load = 0;
      for (const std::vector<float>& loads : link_load_) {
        for (std::size_t i = 0; i < lanes; ++i) load += loads[link * lanes + i];
      }
      target[at(problem_.link_class[link])] += load;
    }
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = class_price_[i] + class_step_[i] * target[i];
    project(target);
    double residual = 0;
    for (std::size_t i = 0; i < target.size(); ++i) {
      const double change = target[i] - class_price_[i];
      residual += change * change / class_step_[i];
      class_price_[i] = keep * (target[i] + change) + (1 - keep) * anchor_class_price_[i];
    }
    spread_prices();
    return residual;
  }

  /// π_c = max(0, z_c − μ σ_c cap_c) with the μ that makes Σ cap·π right: Newton's method on a convex, piecewise linear
  /// function, from a point where its value is too large.
  void project(std::vector<double>& target) const {
    double multiplier = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < target.size(); ++i) {
      // With one class alone and the whole sum it would be positive; below the least such value nothing is at zero.
      multiplier = std::min(
          multiplier, (target[i] - capacity_sum_ / problem_.capacity[i]) / (class_step_[i] * problem_.capacity[i]));
    }
    constexpr std::int32_t most_steps = 60;
    for (std::int32_t step = 0; step < most_steps; ++step) {
      double sum = -capacity_sum_;
      double slope = 0;
      for (std::size_t i = 0; i < target.size(); ++i) {
        const double width = class_step_[i] * problem_.capacity[i];
        const double price = target[i] - multiplier * width;
        if (price <= 0) continue;
        sum += problem_.capacity[i] * price;
        slope += problem_.capacity[i] * width;
      }
      if (sum <= 1e-12 * capacity_sum_ || slope <= 0) break;
      multiplier += sum / slope;
    }
    for (std::size_t i = 0; i < target.size(); ++i) {
      target[i] = std::max(0.0, target[i] - multiplier * class_step_[i] * problem_.capacity[i]);
    }
  }

  /// Every node, against a topological order of the iterate without its cycles, draws what it needs in proportion to
  /// what the iterate brings it; what the iterate does not reach is fed along a shortest path.
  void make_feasible(std::size_t source, double least_part, const std::vector<float>& lengths,
                     const std::vector<float>& distance, Scratch& scratch, std::vector<double>& flow) const {
    const std::size_t lane = source % lanes;
    const float* iterate = flow_.data() + source / lanes * problem_.links() * lanes + lane;
    flow.assign(problem_.links(), 0);
    for (NodeId v = 0; v < problem_.nodes; ++v) {
      if (v == problem_.sources[source]) continue;
      double inflow = 0;
      for (std::int32_t k = problem_.in_begin[at(v)]; k < problem_.in_begin[at(v) + 1]; ++k) {
        inflow += std::max(0.0F, iterate[at(k) * lanes]);
      }
      for (std::int32_t k = problem_.in_begin[at(v)]; k < problem_.in_begin[at(v) + 1]; ++k) {
        const double part = iterate[at(k) * lanes];
        if (part > least_part * inflow) flow[at(k)] = part;
      }
    }
    scratch.cycles.run(problem_.sources[source], flow, scratch.order);
    scratch.rank.assign(at(problem_.nodes), problem_.nodes);
    for (std::size_t i = 0; i < scratch.order.size(); ++i) scratch.rank[at(scratch.order[i])] = static_cast<NodeId>(i);
    const auto reached = static_cast<std::int32_t>(scratch.order.size());
    for (NodeId v = 0; v < problem_.nodes; ++v) {
      if (scratch.rank[at(v)] == problem_.nodes && distance[at(v) * lanes + lane] < unreached_float) {
        scratch.order.push_back(v);
      }
    }
    std::sort(scratch.order.begin() + reached, scratch.order.end(),
              [&](NodeId a, NodeId b) { return distance[at(a) * lanes + lane] < distance[at(b) * lanes + lane]; });
    scratch.wanted.assign(at(problem_.nodes), 0);
    for (std::size_t i = scratch.order.size(); i-- > 1;) {
      const NodeId v = scratch.order[i];
      scratch.wanted[at(v)] += v < problem_.hosts ? 1 : 0;
      if (i < at(reached)) {
        draw(v, scratch, flow);
      } else {
        draw_shortest(v, lane, lengths, distance, scratch, flow);
      }
    }
  }

  void draw(NodeId v, Scratch& scratch, std::vector<double>& flow) const {
    double total = 0;
    const auto earlier = [&](std::int32_t link) {
      return scratch.rank[at(problem_.from[at(link)])] < scratch.rank[at(v)];
    };
    for (std::int32_t link = problem_.in_begin[at(v)]; link < problem_.in_begin[at(v) + 1]; ++link) {
      if (earlier(link)) total += flow[at(link)];
    }
    for (std::int32_t link = problem_.in_begin[at(v)]; link < problem_.in_begin[at(v) + 1]; ++link) {
      flow[at(link)] = earlier(link) ? scratch.wanted[at(v)] * flow[at(link)] / total : 0;
      scratch.wanted[at(problem_.from[at(link)])] += flow[at(link)];
    }
  }

  void draw_shortest(NodeId v, std::size_t lane, const std::vector<float>& lengths, const std::vector<float>& distance,
                     Scratch& scratch, std::vector<double>& flow) const {
    std::int32_t shortest = -1;
    float best = unreached_float;
    for (std::int32_t link = problem_.in_begin[at(v)]; link < problem_.in_begin[at(v) + 1]; ++link) {
      flow[at(link)] = 0;
      const float length = distance[at(problem_.from[at(link)]) * lanes + lane] + lengths[at(link)];
      if (length >= best) continue;
      best = length;
      shortest = link;
    }
    flow[at(shortest)] = scratch.wanted[at(v)];
    scratch.wanted[at(problem_.from[at(shortest)])] += scratch.wanted[at(v)];
  }

  const FlowProblem& problem_;
  std::size_t blocks_;
  std::int32_t threads_;
  double scale_;
  double capacity_sum_ = 0;
  std::vector<float> price_;                   ///< by link
  std::vector<std::vector<float>> link_load_;  ///< by thread, then [link][lane]
  std::vector<std::vector<float>> excess_;     ///< by thread, then [node][lane]
  std::vector<double> class_step_;
  std::vector<float> flow_step_, node_step_;         ///< [block][node][lane]
  std::vector<float> flow_, anchor_flow_;            ///< [block][link][lane]
  std::vector<float> potential_, anchor_potential_;  ///< [block][node][lane]
  std::vector<double> class_price_, anchor_class_price_;
  std::int64_t since_restart_ = 0;
};

}  // namespace

FlowSolution solve_by_pdhg(const FlowProblem& problem, FlowSolution start, const FlowLimits& limits) {
  FlowSolution best = std::move(start);
  if (best.gap() <= limits.gap || limits.late()) return best;
  Iteration iteration(problem, limits);
  iteration.start(best);
  double at_restart = 0;
  double before = 0;
  std::int64_t next_evaluation = first_evaluation;
  double last_progress = std::numeric_limits<double>::infinity();
  double last_residual = std::numeric_limits<double>::infinity();
  std::int32_t waiting = 0;
  std::int32_t skipped = 0;
  double own_gap = 0;
  std::vector<std::vector<double>> candidate;
  for (std::int64_t steps = 1;; ++steps) {
    const double residual = std::sqrt(iteration.step());
    if (iteration.since_restart() == 1) {
      at_restart = residual;
    } else if (residual <= sufficient_decay * at_restart ||
               (residual <= necessary_decay * at_restart && residual > before) ||
               static_cast<double>(iteration.since_restart()) >= longest_run * static_cast<double>(steps)) {
      iteration.restart();
    }
    before = residual;
    const bool late = limits.late();
    if (steps < next_evaluation && !late) continue;
    next_evaluation =
        std::max(steps + first_evaluation, static_cast<std::int64_t>(evaluation_growth * static_cast<double>(steps)));
    std::vector<double> prices = iteration.prices();
    const double bound = load_bound(problem, prices, limits.threads);
    if (bound > best.bound) {
      best.bound = bound;
      best.prices = std::move(prices);
    }
    if (best.gap() <= limits.gap) return best;
    // A flow far from the gap is not worth making feasible at every look, as the bound goes ahead of it.
    const bool far = own_gap > far_from_gap * limits.gap && !late;
    if (far && ++skipped < most_skipped) {
      if (residual < 0.9 * last_residual) {
        last_residual = residual;
        waiting = 0;
      }
      continue;
    }
    skipped = 0;
    const double least_part = least_share * best.gap();
    const double load = largest_load(problem, iteration.feasible_loads(least_part, candidate));
    if (load < best.load) {
      best.load = load;
      std::swap(best.flow, candidate);
    }
    // The start may be better than the iterate for long while that comes nearer.
    own_gap = load / best.bound - 1;
    if (own_gap < 0.9 * last_progress || residual < 0.9 * last_residual) {
      last_progress = std::min(last_progress, own_gap);
      last_residual = std::min(last_residual, residual);
      waiting = 0;
    } else {
      ++waiting;
    }
    if (best.gap() <= limits.gap || late || waiting > restart_patience) return best;
  }
}

}  // namespace libcoll::flow::first_order
