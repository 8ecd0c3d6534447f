#include "planner/route/fewer_classes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/route/destination_classes.h"
#include "planner/route/rooted_layers.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::size_t most_pairs = 50'000;
constexpr std::int32_t variants = 4;  // of the trees that layers begin with
constexpr double load_step = 1.03;    // what one limit on the load has to be below another to be worth a search
constexpr double most_growth = 64;    // of the load
// Links that searches may look at, for all numbers of classes and for one: some seconds. Not a time, so that plans are
// the same everywhere.
constexpr std::int64_t all_effort = 2'000'000'000;
constexpr std::int64_t effort_of_one = all_effort / 4;

class Search {
 public:
  Search(const Topology& topology, std::span<const Route> routes, std::span<const PairDemand> pairs,
         const ClassBudget& budget, const Deadline& deadline)
      : topology_(topology), routes_(routes), pairs_(pairs), budget_(budget), deadline_(deadline) {
    if (budget_.forwards.empty()) budget_.forwards = forwarding_nodes(topology);
    order_.resize(routes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return routes[a].links.size() < routes[b].links.size(); });
  }

  std::optional<FewerClasses> run() {
    const std::optional<Count> present = count(routes_);
    if (!present) return std::nullopt;
    layers_ = std::min(present->layers, budget_.layers);
    FewerClasses best{std::nullopt, 1, present->classes, present->layers};
    const std::size_t most = budget_.most > 0 ? std::min(at(budget_.most), present->classes) : present->classes;
    // More classes hold what fewer do: by halves.
    for (std::size_t none = 0; none + 1 < best.classes && !spent();) {
      const std::size_t classes = std::min((none + best.classes) / 2, most);
      if (classes <= none) break;
      if (std::optional<FewerClasses> found = with(classes, budget_.load)) {
        best = std::move(*found);
      } else {
        none = classes;
      }
    }
    return best.classes <= most ? best : at_some_load(most, std::move(best));
  }

 private:
  struct Count {
    std::size_t classes;
    std::int32_t layers;
  };

  [[nodiscard]] std::optional<Count> count(std::span<const Route> routes) const {
    std::vector<Route> copy(routes.begin(), routes.end());
    ClassLimits limits;
    limits.forwards = budget_.forwards;
    const Result<DestinationClasses> assigned = assign_destination_classes(topology_, copy, limits);
    if (!assigned || assigned->rerouted > 0) return std::nullopt;
    return Count{assigned->classes.size(), assigned->layers};
  }

  [[nodiscard]] std::optional<FewerClasses> with(std::size_t classes, double load) {
    std::int64_t effort = std::min(effort_, effort_of_one);
    effort_ -= effort;
    std::optional<FewerClasses> found = with(classes, load, effort);
    effort_ += effort;
    return found;
  }

  /// `effort` is what may be spent, and then what is left of it. In as many lanes as there were it is easiest.
  [[nodiscard]] std::optional<FewerClasses> with(std::size_t classes, double load, std::int64_t& effort) const {
    std::optional<FewerClasses> best;
    auto layers = static_cast<std::int32_t>(std::min(at(layers_), classes));
    for (; layers >= 1; layers = best->layers - 1) {
      std::optional<FewerClasses> found = in_layers(classes, layers, load, effort);
      if (!found) break;
      best = std::move(found);
    }
    return best;
  }

  [[nodiscard]] std::optional<FewerClasses> in_layers(std::size_t classes, std::int32_t layers, double load,
                                                      std::int64_t& effort) const {
    for (std::int32_t finer = 1; finer == 1 || finest(classes) >= finer; finer *= 2) {
      if (budget_.routes > 0 && std::min(at(finer * pairs_.front().chunks), classes) > at(budget_.routes)) break;
      for (std::int32_t variant = -1; variant < variants; ++variant) {
        if (effort <= 0 || deadline_.passed()) return std::nullopt;
        std::optional<LayerOrders> orders = orders_of(layers, variant);
        if (!orders) continue;
        if (auto found = attempt(classes, finer, std::move(*orders), load, effort)) return found;
      }
    }
    return std::nullopt;
  }

  /// -1: those of the routes.
  [[nodiscard]] std::optional<LayerOrders> orders_of(std::int32_t layers, std::int32_t variant) const {
    if (variant < 0) return budget_.orders.size() == at(layers) ? std::optional(budget_.orders) : std::nullopt;
    Result<LayerOrders> rooted = rooted_orders(topology_, budget_.forwards, routes_, order_, layers, variant);
    return rooted ? std::optional(std::move(rooted).value()) : std::nullopt;
  }

  /// So many classes at the least load that is found, or what there was.
  FewerClasses at_some_load(std::size_t classes, FewerClasses otherwise) {
    double least = budget_.load;
    double load = budget_.load;
    FewerClasses best = std::move(otherwise);
    for (bool some = false; !some && load < budget_.load * most_growth;) {
      least = load;
      load *= 2;
      effort_ = std::max(effort_, effort_of_one);
      std::optional<FewerClasses> found = with(classes, load);
      some = found.has_value();
      if (found) best = std::move(*found);
    }
    while (best.found && load > least * load_step && !spent()) {
      const double middle = std::sqrt(least * load);
      std::optional<FewerClasses> found = with(classes, middle);
      (found ? load : least) = middle;
      if (found) best = std::move(*found);
    }
    return best;
  }

  [[nodiscard]] bool spent() const { return effort_ <= 0 || deadline_.passed(); }

  /// How fine chunks may be cut: one class has no use for parts.
  [[nodiscard]] std::int32_t finest(std::size_t classes) const {
    return classes == 1 ? 1 : budget_.chunks / pairs_.front().chunks;
  }

  [[nodiscard]] std::optional<FewerClasses> attempt(std::size_t classes, std::int32_t finer, LayerOrders orders,
                                                    double load, std::int64_t& effort) const {
    const auto layers = static_cast<std::int32_t>(orders.size());
    TreeLimits limits{std::move(orders), {}, budget_.forwards, load};
    for (std::size_t number = 0; number < classes; ++number) {
      limits.lanes.push_back(static_cast<std::int32_t>(number % at(layers)));
    }
    std::vector<PairDemand> pairs(pairs_.begin(), pairs_.end());
    for (PairDemand& pair : pairs) {
      pair.chunks *= finer;
      pair.size /= finer;
    }
    std::optional<TreeRoutes> found = route_in_trees(topology_, pairs, limits, effort, deadline_);
    if (!found) return std::nullopt;
    const std::optional<Count> counted = count(found->routes);
    if (!counted || counted->classes > classes || counted->layers > layers) return std::nullopt;
    return FewerClasses{std::move(*found), finer, counted->classes, counted->layers};
  }

  const Topology& topology_;
  std::span<const Route> routes_;
  std::span<const PairDemand> pairs_;
  ClassBudget budget_;
  const Deadline& deadline_;
  std::vector<std::size_t> order_;  ///< of the routes: short ones first
  std::int32_t layers_ = 1;
  std::int64_t effort_ = all_effort;
};

}  // namespace

std::optional<FewerClasses> route_in_fewer_classes(const Topology& topology, std::span<const Route> routes,
                                                   std::span<const PairDemand> pairs, const ClassBudget& budget,
                                                   const Deadline& deadline) {
  if (pairs.empty() || pairs.size() > most_pairs) return std::nullopt;
  return Search(topology, routes, pairs, budget, deadline).run();
}

std::vector<bool> forwarding_nodes(const Topology& topology) {
  const bool hosts_alone = topology.node_count() == topology.host_count();
  std::vector<bool> forwards(at(topology.node_count()), true);
  for (NodeId host = 0; host < topology.host_count() && !hosts_alone; ++host) {
    forwards[at(host)] = topology.nics_forward() && topology.out_links(host).size() > 1;
  }
  return forwards;
}

}  // namespace libcoll::route
