#include "planner/flow/baseline/fptas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/widest_paths.h"
#include "planner/flow/problem/demand.h"
#include "planner/flow/problem/length_tree.h"

namespace libcoll::flow::baseline {

using namespace lowering;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr double default_epsilon = 0.05;
constexpr double least_epsilon = 1e-3;
constexpr double rest = 1e-12;                // of a demand, lost in rounding
constexpr double least_delta = 1e-200;        // where the scheme's own initial length would vanish
constexpr std::int64_t phases_per_bound = 5;  // a bound takes as many trees as a phase

class Approximation {
 public:
  Approximation(const Topology& topology, std::span<const double> demand, double epsilon)
      : topology_(topology),
        demand_(demand),
        epsilon_(epsilon),
        flow_(at(topology.host_count()), std::vector<double>(topology.links().size(), 0)) {
    const auto links = static_cast<double>(topology.link_count());
    const double delta = std::max(least_delta, std::pow(links / (1 - epsilon), -1 / epsilon));
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      capacity_.push_back(topology.capacity(link).to_double());
      length_.push_back(delta / capacity_.back());
    }
    best_length_.assign(length_.size(), 1);
    scale_ = upper_bound(best_length_);
    bound_ = scale_;
  }

  /// Sends every demand once, scaled so that the optimum could take about one phase at capacity.
  void run_phase() {
    for (NodeId source = 0; source < topology_.host_count(); ++source) send_from(source);
    ++phases_;
    if (phases_ % phases_per_bound != 1) return;
    const double bound = upper_bound(length_);
    if (bound >= bound_) return;
    bound_ = bound;
    best_length_ = length_;
  }

  /// F that the phases so far reach.
  [[nodiscard]] double rate() const {
    double largest = 0;
    for (std::size_t link = 0; link < capacity_.size(); ++link) {
      double load = 0;
      for (const std::vector<double>& flow : flow_) load += flow[link];
      largest = std::max(largest, load / capacity_[link]);
    }
    return static_cast<double>(phases_) * scale_ / largest;
  }

  [[nodiscard]] double bound() const { return bound_; }
  /// D(ℓ) ≥ 1 ends the scheme.
  [[nodiscard]] bool done() const { return volume() >= 1; }

  [[nodiscard]] std::vector<PairPaths> paths() const {
    std::vector<PairPaths> pairs;
    const std::int32_t hosts = topology_.host_count();
    for (NodeId source = 0; source < hosts; ++source) {
      std::vector<double> amounts(at(hosts), 0);
      for (NodeId to = 0; to < hosts; ++to) {
        if (to != source) amounts[at(to)] = share(demand_, hosts, source, to);
      }
      std::vector<double> flow = flow_[at(source)];
      for (double& amount : flow) amount /= static_cast<double>(phases_) * scale_;
      for (PairPaths& pair : extract_from_source(topology_, source, std::move(flow), amounts)) {
        pairs.push_back(std::move(pair));
      }
    }
    return pairs;
  }

  /// Link lengths of the best bound, as prices.
  [[nodiscard]] const std::vector<double>& prices() const { return best_length_; }

 private:
  [[nodiscard]] double volume() const {
    double sum = 0;
    for (std::size_t link = 0; link < capacity_.size(); ++link) sum += capacity_[link] * length_[link];
    return sum;
  }

  [[nodiscard]] double asked(NodeId source, NodeId to) const {
    return source == to ? 0 : share(demand_, topology_.host_count(), source, to);
  }

  [[nodiscard]] double upper_bound(const std::vector<double>& lengths) const {
    double capacity = 0;
    for (std::size_t link = 0; link < capacity_.size(); ++link) capacity += capacity_[link] * lengths[link];
    double distances = 0;
    for (NodeId source = 0; source < topology_.host_count(); ++source) {
      const LengthTree<double> tree = length_tree<double>(topology_, lengths, source);
      for (NodeId to = 0; to < topology_.host_count(); ++to) {
        if (asked(source, to) > 0) distances += asked(source, to) * tree.distance[at(to)];
      }
    }
    return capacity / distances;
  }

  /// Sends the source's demands in as many trees as capacities take.
  void send_from(NodeId source) {
    std::vector<double> missing(at(topology_.host_count()));
    for (NodeId to = 0; to < topology_.host_count(); ++to) missing[at(to)] = scale_ * asked(source, to);
    double largest = *std::max_element(missing.begin(), missing.end());
    while (largest > rest * scale_) {
      const LengthTree<double> tree = length_tree<double>(topology_, length_, source);
      const double fraction = send_along(tree, source, missing);
      largest = 0;
      for (double& amount : missing) {
        amount *= 1 - fraction;
        largest = std::max(largest, amount);
      }
    }
  }

  /// Sends as much of everything missing as no link is overfilled by; returns that fraction.
  double send_along(const LengthTree<double>& tree, NodeId source, const std::vector<double>& missing) {
    // Amounts flow up the tree from the farthest nodes.
    order_.resize(at(topology_.node_count()));
    for (NodeId node = 0; node < topology_.node_count(); ++node) order_[at(node)] = node;
    std::sort(order_.begin(), order_.end(),
              [&](NodeId a, NodeId b) { return tree.distance[at(a)] > tree.distance[at(b)]; });
    through_.assign(order_.size(), 0);
    std::copy(missing.begin(), missing.end(), through_.begin());
    double overload = 1;
    for (const NodeId node : order_) {
      const LinkId link = tree.last_link[at(node)];
      if (node == source || link < 0 || through_[at(node)] <= 0) continue;
      overload = std::max(overload, through_[at(node)] / capacity_[at(link)]);
      through_[at(topology_.link(link).from)] += through_[at(node)];
    }
    for (const NodeId node : order_) {
      const LinkId link = tree.last_link[at(node)];
      if (node == source || link < 0 || through_[at(node)] <= 0) continue;
      const double amount = through_[at(node)] / overload;
      flow_[at(source)][at(link)] += amount;
      length_[at(link)] *= 1 + epsilon_ * amount / capacity_[at(link)];
    }
    return 1 / overload;
  }

  const Topology& topology_;
  std::span<const double> demand_;
  double epsilon_;
  std::vector<std::vector<double>> flow_;  ///< [source][link], of all phases
  std::vector<double> capacity_;
  std::vector<double> length_;
  std::vector<double> best_length_;
  double scale_ = 1;  ///< demands of a phase are multiplied by this
  double bound_ = 0;
  std::int64_t phases_ = 0;
  std::vector<NodeId> order_;
  std::vector<double> through_;  ///< by node: what its last link carries
};

}  // namespace

ConcurrentFlow approximate_flow(const Topology& topology, std::span<const double> demand, double epsilon, double gap,
                                const Deadline& deadline) {
  Approximation approximation(topology, demand, epsilon);
  do {
    approximation.run_phase();
  } while (approximation.bound() > (1 + gap) * approximation.rate() && !approximation.done() && !deadline.passed());
  ConcurrentFlow result;
  result.classes = link_classes(topology, {});
  result.pairs = approximation.paths();
  result.certificate = demand.empty() ? certify_flow(topology, approximation.prices())
                                      : certify_demand_flow(topology, approximation.prices(), demand);
  result.flow = std::min(1 / largest_load(result.classes, result.pairs, topology.host_count(), demand),
                         result.certificate.flow_upper_bound);
  return result;
}

Result<Schedule> plan_fptas(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, "fptas");
  if (!network) return network.error();
  const double epsilon = options.epsilon > 0 ? std::clamp(options.epsilon, least_epsilon, 0.5) : default_epsilon;
  const double gap = options.gap > 0 ? options.gap : epsilon;
  FluidPlan plan;
  plan.flow = approximate_flow(network->topology, options.demand, epsilon, gap, deadline);
  plan.network = std::move(*network);
  plan.method = "Fleischer";
  return lower_to_routes(topology, std::move(plan), options, "fptas", deadline);
}

FluidPlan plan_in_haste(InjectionNetwork network, const PlanOptions& options, const Deadline& deadline) {
  FluidPlan plan;
  plan.method = "fptas";
  if (options.demand.empty()) {
    // A few per cent take less than the approximation's first phases.
    FlowOptions wanted;
    wanted.gap = default_epsilon;
    wanted.symmetry = false;
    constexpr double least_seconds = 0.1;
    wanted.time_limit_seconds = std::max(least_seconds, deadline.remaining());
    if (Result<ConcurrentFlow> flow = max_concurrent_flow(network.topology, wanted); flow.ok()) {
      plan.flow = std::move(*flow);
      plan.method = plan.flow.method;
    }
  }
  if (plan.flow.pairs.empty()) {
    plan.flow = approximate_flow(network.topology, options.demand, default_epsilon, default_epsilon, deadline);
  }
  plan.network = std::move(network);
  plan.method += ", as the time limit was hit";
  return plan;
}

}  // namespace libcoll::flow::baseline
