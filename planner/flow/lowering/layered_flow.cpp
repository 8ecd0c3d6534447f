#include "planner/flow/lowering/layered_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/problem/demand.h"
#include "planner/route/ascending_paths.h"

namespace libcoll::flow::lowering {

using namespace flow_lp;
using namespace paths;
using namespace problem;
using namespace route;
using namespace topology;

namespace {

constexpr double step = 0.1;       // by which a link's length grows for a phase's mean load on it
constexpr double enough = 5e-3;    // gap
constexpr double most_work = 2e9;  // links relaxed
constexpr double least_phases = 20;
constexpr double most_phases = 400;
constexpr std::int32_t phases_between_bounds = 10;
constexpr std::int64_t most_layered_columns = 20'000;

class Phases {
 public:
  Phases(const Topology& topology, const LayerOrders& orders, std::span<const double> demand)
      : topology_(topology), demand_(demand), load_(topology.links().size(), 0), length_(load_.size()) {
    for (const std::vector<std::int32_t>& order : orders) layers_.emplace_back(topology, order);
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      capacity_.push_back(topology.capacity(link).to_double());
      length_[at(link)] = 1 / capacity_.back();
    }
    for (NodeId source = 0; source < topology.host_count(); ++source) {
      for (NodeId to = 0; to < topology.host_count(); ++to) {
        if (to != source) pairs_.push_back({source, to, {}});
      }
    }
    latest_.assign(pairs_.size(), 0);
  }

  void run_phase() {
    std::vector<double> before = load_;
    std::vector<LinkId> links;
    std::size_t pair = 0;
    for (NodeId source = 0; source < topology_.host_count(); ++source) {
      std::copy(load_.begin(), load_.end(), before.begin());
      for (AscendingPaths& layer : layers_) layer.search(source, length_);
      for (NodeId to = 0; to < topology_.host_count(); ++to) {
        if (to == source) continue;
        nearest(to).path_to(to, links);
        const double asked = share(demand_, topology_.host_count(), source, to);
        for (const LinkId link : links) load_[at(link)] += asked;
        count(pair++, links);
      }
      if (phases_ > 0) grow(before);
    }
    ++phases_;
    // What the first phase loads is the scale of all others.
    if (phases_ == 1) {
      scale_ = peak();
      grow(std::vector<double>(load_.size(), 0));
    }
  }

  /// Σ demand·distance / Σ capacity·length for the lengths as they are.
  double bound() {
    double distances = 0;
    for (NodeId source = 0; source < topology_.host_count(); ++source) {
      for (AscendingPaths& layer : layers_) layer.search(source, length_);
      for (NodeId to = 0; to < topology_.host_count(); ++to) {
        if (to == source) continue;
        distances += share(demand_, topology_.host_count(), source, to) * nearest(to).distance(to);
      }
    }
    double whole = 0;
    for (std::size_t link = 0; link < length_.size(); ++link) whole += capacity_[link] * length_[link];
    return distances / whole;
  }

  void set_lengths(std::span<const double> lengths) { length_.assign(lengths.begin(), lengths.end()); }

  /// The largest load per unit capacity of the mean of all phases.
  [[nodiscard]] double mean_load() const { return peak() / phases_; }
  [[nodiscard]] std::int32_t phases() const { return phases_; }

  [[nodiscard]] std::vector<PairPaths> pairs() const {
    std::vector<PairPaths> result = pairs_;
    for (PairPaths& pair : result) {
      for (WeightedPath& path : pair.paths) path.weight /= phases_;
    }
    return result;
  }

 private:
  [[nodiscard]] const AscendingPaths& nearest(NodeId to) const {
    return *std::min_element(layers_.begin(), layers_.end(), [to](const AscendingPaths& a, const AscendingPaths& b) {
      return a.distance(to) < b.distance(to);
    });
  }

  void count(std::size_t pair, const std::vector<LinkId>& links) {
    std::vector<WeightedPath>& paths = pairs_[pair].paths;
    std::size_t& latest = latest_[pair];
    if (latest >= paths.size() || paths[latest].links != links) {
      const auto known =
          std::find_if(paths.begin(), paths.end(), [&](const WeightedPath& path) { return path.links == links; });
      latest = static_cast<std::size_t>(known - paths.begin());
      if (known == paths.end()) paths.push_back({links, 0});
    }
    paths[latest].weight += 1;
  }

  [[nodiscard]] double peak() const {
    double largest = 0;
    for (std::size_t link = 0; link < load_.size(); ++link) largest = std::max(largest, load_[link] / capacity_[link]);
    return largest;
  }

  /// Lengths follow what was loaded since `before`; the largest stays 1, so that nothing overflows.
  void grow(const std::vector<double>& before) {
    double longest = 0;
    for (std::size_t link = 0; link < length_.size(); ++link) {
      length_[link] *= std::exp(step * (load_[link] - before[link]) / (capacity_[link] * scale_));
      longest = std::max(longest, length_[link]);
    }
    constexpr double least = 1e-12;
    for (double& length : length_) length = std::max(length / longest, least);
  }

  const Topology& topology_;
  std::span<const double> demand_;
  std::vector<AscendingPaths> layers_;
  std::vector<double> capacity_;  // by link, as the next two
  std::vector<double> load_;      ///< of all phases
  std::vector<double> length_;
  std::vector<PairPaths> pairs_;     ///< weights count phases
  std::vector<std::size_t> latest_;  ///< by pair: the path it took last
  double scale_ = 1;
  std::int32_t phases_ = 0;
};

}  // namespace

LayeredFlow layered_flow(const Topology& topology, const LayerOrders& orders, std::span<const double> demand,
                         const Deadline& deadline) {
  Phases phases(topology, orders, demand);
  const double work_of_phase = static_cast<double>(topology.host_count()) * static_cast<double>(orders.size()) *
                               static_cast<double>(topology.link_count());
  const double limit = std::clamp(most_work / work_of_phase, least_phases, most_phases);
  LayeredFlow result;
  do {
    phases.run_phase();
    if (phases.phases() % phases_between_bounds == 0) result.bound = std::max(result.bound, phases.bound());
  } while (phases.mean_load() > (1 + enough) * result.bound && phases.phases() < limit && !deadline.passed());
  result.bound = std::max(result.bound, phases.bound());
  result.load = phases.mean_load();
  result.pairs = phases.pairs();
  std::int64_t columns = 0;
  for (const PairPaths& pair : result.pairs) columns += static_cast<std::int64_t>(pair.paths.size());
  if (columns > most_layered_columns || result.load <= (1 + enough) * result.bound) return result;
  Result<PathFlow> again =
      solve_path_lp(topology, link_classes(topology, {}), result.pairs, demand, deadline.remaining());
  if (!again || again->load >= result.load) return result;
  result.load = again->load;
  result.pairs = std::move(again->pairs);
  constexpr double least = 1e-12;  // lengths are positive
  for (double& price : again->prices) price = std::max(price, least);
  phases.set_lengths(again->prices);
  result.bound = std::max(result.bound, phases.bound());
  return result;
}

}  // namespace libcoll::flow::lowering
