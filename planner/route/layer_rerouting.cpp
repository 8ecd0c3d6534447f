#include "planner/route/layer_rerouting.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/route/acyclic_layer.h"
#include "planner/route/ascending_paths.h"
#include "planner/route/layer_orders.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t most_passes = 16;
constexpr std::int32_t rerouting_patience = 4;  // passes that together do not lower the load
// A link as full as the fullest is e^0.3 times as long as one with 1 % less: routes that had to take long ways find
// shorter ones. From pass to pass more, so that at the end only what crosses the fullest links moves.
constexpr double first_steepness = 30;
constexpr double steepening = 1.2;
constexpr double least_length = 0.02;
constexpr double worth_moving = 0.98;  // of the present length

/// By node: when a breadth-first search from node 0 meets it.
std::vector<std::int32_t> breadth_first(const Topology& topology) {
  std::vector<std::int32_t> met(at(topology.node_count()), -1);
  std::vector<NodeId> queue{0};
  met[0] = 0;
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    for (const LinkId link : topology.out_links(queue[taken])) {
      const NodeId to = topology.link(link).to;
      if (met[at(to)] >= 0) continue;
      met[at(to)] = static_cast<std::int32_t>(queue.size());
      queue.push_back(to);
    }
  }
  return met;
}

/// `sequence` by ascending key, in its own order where keys are equal. By counting: there are millions of routes, and
/// few keys.
template <class Key>
std::vector<std::size_t> counted(const std::vector<std::size_t>& sequence, std::size_t keys, const Key& key) {
  std::vector<std::size_t> place(keys + 1);
  for (const std::size_t i : sequence) ++place[key(i) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::size_t> sorted(sequence.size());
  for (const std::size_t i : sequence) sorted[place[key(i)]++] = i;
  return sorted;
}

/// Orders of links that routes made, and the hops of those routes that follow none.
struct MadeOrders {
  LayerOrders orders;
  std::size_t hops_left = 0;
};

MadeOrders orders_by_routes(const Topology& topology, std::span<const Route> routes,
                            const std::vector<std::size_t>& sequence, std::int32_t layers) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  std::vector<AcyclicLayer> graphs(at(layers), AcyclicLayer(topology, places));
  MadeOrders result;
  for (const std::size_t i : sequence) {
    const bool added =
        std::any_of(graphs.begin(), graphs.end(), [&](AcyclicLayer& graph) { return graph.try_add(routes[i].links); });
    if (!added) result.hops_left += routes[i].links.size();
  }
  for (const AcyclicLayer& graph : graphs) result.orders.emplace_back(graph.order().begin(), graph.order().end());
  return result;
}

/// The orders that the routes of fewest hops make; some pair may be left without a way. What few hops leave free is
/// decided by which sources come first: neighbours one after another leave out fewer routes than a random order, by a
/// quarter on random graphs. Families number their nodes so that their own order may be better still.
LayerOrders orders_by_routes(const Topology& topology, std::span<const Route> routes, std::int32_t layers,
                             const Deadline& deadline) {
  std::vector<std::size_t> sequence(routes.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  const auto hops = [&](std::size_t i) { return routes[i].links.size(); };
  std::size_t lengths = 1;  // one more than the most hops
  for (const Route& route : routes) lengths = std::max(lengths, route.links.size() + 1);
  MadeOrders as_given = orders_by_routes(topology, routes, counted(sequence, lengths, hops), layers);
  if (deadline.passed()) return std::move(as_given.orders);
  const std::vector<std::int32_t> met = breadth_first(topology);
  const auto met_source = [&](std::size_t i) { return at(met[at(routes[i].source)] + 1); };
  sequence = counted(sequence, met.size() + 1, met_source);
  MadeOrders by_search = orders_by_routes(topology, routes, counted(sequence, lengths, hops), layers);
  return std::move(by_search.hops_left < as_given.hops_left ? by_search : as_given).orders;
}

/// Links and layers of routes as they were: a second vector for each of a million routes would be a third of a plan.
class Saved {
 public:
  explicit Saved(std::span<const Route> routes) {
    layers_.reserve(routes.size());
    ends_.reserve(routes.size());
    links_.reserve(std::accumulate(routes.begin(), routes.end(), std::size_t{0},
                                   [](std::size_t sum, const Route& route) { return sum + route.links.size(); }));
    for (const Route& route : routes) {
      layers_.push_back(route.layer);
      links_.insert(links_.end(), route.links.begin(), route.links.end());
      ends_.push_back(links_.size());
    }
  }

  [[nodiscard]] bool same_links(std::size_t i, const Route& route) const {
    const std::span<const LinkId> links = links_of(i);
    return std::equal(links.begin(), links.end(), route.links.begin(), route.links.end());
  }

  void restore(std::span<Route> routes) const {
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const std::span<const LinkId> links = links_of(i);
      routes[i].links.assign(links.begin(), links.end());
      routes[i].layer = layers_[i];
    }
  }

 private:
  [[nodiscard]] std::span<const LinkId> links_of(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(links_).subspan(begin, ends_[i] - begin);
  }

  std::vector<LinkId> links_;
  std::vector<std::size_t> ends_;  ///< by route: where its links end
  std::vector<std::int32_t> layers_;
};

/// Routes on their way into the layers, in place.
class Rerouter {
 public:
  Rerouter(const Topology& topology, std::span<Route> routes, std::span<const double> amount, const LayerOrders& orders)
      : topology_(topology),
        amount_(amount),
        routes_(routes),
        by_source_(at(topology.node_count())),
        load_(topology.links().size(), 0),
        length_(load_.size(), 0) {
    for (const std::vector<std::int32_t>& order : orders) layers_.emplace_back(topology, order);
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      capacity_.push_back(topology.capacity(link).to_double());
    }
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      by_source_[at(routes_[i].source)].push_back(i);
      add(i, 1);
    }
    scale_ = load();
    std::fill(load_.begin(), load_.end(), 0);
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      routes_[i].layer = layer_of(orders, routes_[i].links);
      if (routes_[i].layer >= 0) add(i, 1);
    }
  }

  /// Ways for the routes without a layer, the others as they are; false when one finds none.
  bool place() {
    return pass([this](std::size_t i) { return routes_[i].layer >= 0 || place(i); });
  }

  /// Moves what gains by it.
  void improve() {
    pass([this](std::size_t i) {
      move(i);
      return true;
    });
  }

  /// The largest, per unit capacity.
  [[nodiscard]] double load() const {
    double largest = 0;
    for (std::size_t link = 0; link < load_.size(); ++link) largest = std::max(largest, load_[link] / capacity_[link]);
    return largest;
  }

  /// What the loads are compared with, at first what the largest was before.
  void aim_at(double load) { scale_ = load; }
  [[nodiscard]] double aim() const { return scale_; }
  void steepen() { steepness_ *= steepening; }

 private:
  void add(std::size_t route, double times) {
    for (const LinkId link : routes_[route].links) {
      load_[at(link)] += times * amount_[route];
    }
  }

  void measure(LinkId link) {
    const double full = load_[at(link)] / (capacity_[at(link)] * scale_);
    length_[at(link)] = std::exp(steepness_ * (full - 1)) + least_length;
  }

  void add_and_measure(std::size_t route, double times) {
    add(route, times);
    for (const LinkId link : routes_[route].links) measure(link);
  }

  [[nodiscard]] double length_of(const std::vector<LinkId>& links) const {
    return std::accumulate(links.begin(), links.end(), 0.0,
                           [&](double sum, LinkId link) { return sum + length_[at(link)]; });
  }

  /// Every route against the lengths that those before it left, until one is given up.
  template <class Step>
  bool pass(const Step& step) {
    for (LinkId link = 0; link < topology_.link_count(); ++link) measure(link);
    for (const std::vector<std::size_t>& routes : by_source_) {
      if (routes.empty()) continue;
      for (AscendingPaths& layer : layers_) layer.search(routes_[routes.front()].source, length_);
      if (!std::all_of(routes.begin(), routes.end(), step)) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t nearest_layer(NodeId destination) const {
    const auto nearest =
        std::min_element(layers_.begin(), layers_.end(), [&](const AscendingPaths& a, const AscendingPaths& b) {
          return a.distance(destination) < b.distance(destination);
        });
    return static_cast<std::size_t>(nearest - layers_.begin());
  }

  bool place(std::size_t i) {
    Route& route = routes_[i];
    const std::size_t layer = nearest_layer(route.destination);
    if (layers_[layer].distance(route.destination) == std::numeric_limits<double>::infinity()) return false;
    layers_[layer].path_to(route.destination, route.links);
    route.layer = static_cast<std::int32_t>(layer);
    add_and_measure(i, 1);
    return true;
  }

  void move(std::size_t i) {
    Route& route = routes_[i];
    const std::size_t layer = nearest_layer(route.destination);
    if (layers_[layer].distance(route.destination) >= worth_moving * length_of(route.links)) return;
    // Lengths have changed since the search: the route's own part in them goes first.
    add_and_measure(i, -1);
    layers_[layer].path_to(route.destination, links_);
    if (length_of(links_) < length_of(route.links)) {
      std::swap(route.links, links_);
      route.layer = static_cast<std::int32_t>(layer);
    }
    add_and_measure(i, 1);
  }

  const Topology& topology_;
  std::span<const double> amount_;
  std::span<Route> routes_;
  std::vector<std::vector<std::size_t>> by_source_;
  std::vector<AscendingPaths> layers_;
  std::vector<double> capacity_, load_, length_;  ///< by link
  std::vector<LinkId> links_;
  double scale_ = 1;
  double steepness_ = first_steepness;
};

/// Passes until they gain no more, of which the best counts: its load. Nothing where there is a pair without a way.
std::optional<double> settle(Rerouter& rerouter, std::span<Route> routes, const Deadline& deadline) {
  if (!rerouter.place()) return std::nullopt;
  double least = rerouter.load();
  rerouter.aim_at(least);
  std::optional<Saved> best;  // where the routes are not the best themselves
  for (std::int32_t pass = 0, waiting = 0; pass < most_passes && waiting < rerouting_patience && !deadline.passed();
       ++pass, ++waiting) {
    if (!best) best.emplace(routes);
    rerouter.improve();
    rerouter.steepen();
    const double load = rerouter.load();
    if (load >= least) continue;
    best.reset();
    waiting = 0;
    least = load;
    rerouter.aim_at(load);
  }
  if (best) best->restore(routes);
  return least;
}

}  // namespace

std::optional<Rerouting> reroute_into_layers(const Topology& topology, std::span<Route> routes,
                                             std::span<const double> amount, std::int32_t layers, double accepted,
                                             const Deadline& deadline) {
  const Saved before(routes);
  const auto give_up = [&] {
    before.restore(routes);
    return std::nullopt;
  };
  std::optional<Rerouter> rerouter(std::in_place, topology, routes, amount,
                                   orders_by_routes(topology, routes, layers, deadline));
  Rerouting result;
  result.load_before = rerouter->aim();
  std::optional<double> load = settle(*rerouter, routes, deadline);
  if (!load) {
    before.restore(routes);
    const Result<LayerOrders> orders = layer_orders(topology, routes, layers);
    if (!orders) return std::nullopt;
    rerouter.emplace(topology, routes, amount, *orders);
    load = settle(*rerouter, routes, deadline);
    if (!load) return give_up();
  }
  result.load = *load;
  if (result.load > (1 + accepted) * result.load_before) return give_up();
  for (std::size_t i = 0; i < routes.size(); ++i) result.rerouted += before.same_links(i, routes[i]) ? 0 : 1;
  return result;
}

}  // namespace libcoll::route
