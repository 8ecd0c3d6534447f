#include "planner/route/destination_classes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/base/index.h"
#include "planner/route/lane_completion.h"
#include "planner/route/rooted_layers.h"
#include "planner/route/route_classes.h"
#include "planner/route/table_completion.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

using Order = std::vector<std::size_t>;

/// Orders in which routes get their layers, as those of LayerMethod.
std::vector<Order> orders_to_try(std::span<const Route> routes) {
  Order given(routes.size());
  std::iota(given.begin(), given.end(), std::size_t{0});
  const auto sorted = [&](const auto& less) {
    Order order = given;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return less(routes[a], routes[b]); });
    return order;
  };
  std::vector<Order> orders;
  orders.push_back(sorted([](const Route& a, const Route& b) { return a.destination < b.destination; }));
  constexpr std::size_t one_order_from = 200'000;  // beyond it each order takes seconds
  if (routes.size() >= one_order_from) return orders;
  orders.push_back(sorted([](const Route& a, const Route& b) { return a.links.size() < b.links.size(); }));
  orders.push_back(sorted([](const Route& a, const Route& b) { return a.links.size() > b.links.size(); }));
  orders.push_back(std::move(given));
  return orders;
}

/// Roots of the first tree, as many as take seconds.
std::int32_t roots_to_try(std::span<const Route> routes) {
  constexpr std::size_t most = 32;
  constexpr std::size_t routes_in_all = 100'000;
  return static_cast<std::int32_t>(std::clamp<std::size_t>(routes_in_all / (routes.size() + 1), 1, most));
}

/// Routes in layers, and in trees of their layer (route_class, from 1 on).
struct Layered {
  std::vector<Route> routes;
  LayerOrders orders;
  std::vector<std::int32_t> trees;  ///< by layer
  std::int64_t without_layer = 0;

  /// What is to be as little as can be.
  [[nodiscard]] auto cost() const {
    return std::tuple(without_layer, orders.size(), std::accumulate(trees.begin(), trees.end(), 0));
  }
  /// Of what comes from others, in which every route has its class.
  [[nodiscard]] bool is_better_than(const DestinationClasses& classes) const {
    return cost() < std::tuple(std::int64_t{0}, at(classes.layers), static_cast<std::int32_t>(classes.classes.size()));
  }
};

/// The fewest trees by destination for the routes of each layer.
void colour(const Topology& topology, Layered& layered) {
  std::vector<std::vector<std::size_t>> members(layered.orders.size());
  for (std::size_t i = 0; i < layered.routes.size(); ++i) {
    if (layered.routes[i].layer == no_layer) {
      ++layered.without_layer;
    } else {
      members[at(layered.routes[i].layer)].push_back(i);
    }
  }
  for (const std::vector<std::size_t>& layer : members) {
    std::vector<Route> together;
    together.reserve(layer.size());
    for (const std::size_t i : layer) together.push_back(layered.routes[i]);
    layered.trees.push_back(std::max(1, assign_route_classes(topology, together, Forwarding::by_destination)));
    for (std::size_t i = 0; i < layer.size(); ++i) layered.routes[layer[i]].route_class = together[i].route_class;
  }
}

Result<Layered> layer_by(const Topology& topology, std::span<const Route> routes, const ClassLimits& limits,
                         const Order& order, std::int32_t variant) {
  Layered result;
  result.routes.assign(routes.begin(), routes.end());
  Result<LayerOrders> orders =
      assign_rooted_layers(topology, limits.forwards, result.routes, order, limits.layers, variant);
  if (!orders) return orders.error();
  result.orders = std::move(orders).value();
  colour(topology, result);
  return result;
}

/// Whether the routes have classes already, each a tree to every destination, in one layer.
bool has_destination_classes(const Topology& topology, std::span<const Route> routes, const ClassLimits& limits) {
  std::vector<std::int32_t> layer_of_class;
  std::map<std::tuple<std::int32_t, NodeId, NodeId>, LinkId> next;
  for (const Route& route : routes) {
    if (route.route_class < 1 || route.route_class > limits.classes) return false;
    if (route.layer < 0 || route.layer >= limits.layers) return false;
    if (layer_of_class.size() < at(route.route_class)) layer_of_class.resize(at(route.route_class), no_layer);
    std::int32_t& layer = layer_of_class[at(route.route_class) - 1];
    if (layer != no_layer && layer != route.layer) return false;
    layer = route.layer;
    for (const LinkId link : route.links) {
      const auto [entry, is_new] =
          next.try_emplace({route.route_class, route.destination, topology.link(link).from}, link);
      if (!is_new && entry->second != link) return false;
    }
  }
  return true;
}

/// The routes in the classes that they have, numbered anew by layer. Nothing without orders.
std::optional<Layered> layered_as_given(std::span<const Route> routes, std::optional<LayerOrders> orders) {
  if (!orders) return std::nullopt;
  Layered result;
  result.routes.assign(routes.begin(), routes.end());
  result.orders = std::move(*orders);
  result.trees.assign(result.orders.size(), 0);
  std::map<std::int32_t, std::int32_t> tree_of_class;
  for (Route& route : result.routes) {
    const auto [tree, is_new] = tree_of_class.try_emplace(route.route_class, 0);
    if (is_new) tree->second = ++result.trees[at(route.layer)];
    route.route_class = tree->second;
  }
  for (std::int32_t& trees : result.trees) trees = std::max(trees, 1);
  return result;
}

/// Whether every host has an ascending path to every other in each layer.
bool leave_ways(const Topology& topology, const std::vector<bool>& forwards, const LayerOrders& orders) {
  const TableCompletion completion(topology, forwards);
  for (const std::vector<std::int32_t>& order : orders) {
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      const std::vector<LinkId> next = completion.fill(destination, order);
      for (NodeId host = 0; host < topology.host_count(); ++host) {
        if (host != destination && next[at(host)] == no_entry) return false;
      }
    }
  }
  return true;
}

/// The routes in the layers that they have, and the classes that they have or colouring finds. Nothing where that is
/// beyond the limits, or leaves a host without a way in some layer.
std::optional<Layered> layered_bare(const Topology& topology, std::span<const Route> routes, const ClassLimits& limits,
                                    bool has_classes) {
  const auto has_layer = [](const Route& route) { return route.layer >= 0; };
  if (routes.empty() || !std::all_of(routes.begin(), routes.end(), has_layer)) return std::nullopt;
  if (layer_count(routes) > limits.layers) return std::nullopt;
  std::optional<LayerOrders> orders = orders_of_layers(topology, limits.forwards, routes);
  if (!orders || !leave_ways(topology, limits.forwards, *orders)) return std::nullopt;
  if (has_classes) return layered_as_given(routes, std::move(orders));
  Layered result;
  result.routes.assign(routes.begin(), routes.end());
  result.orders = std::move(*orders);
  colour(topology, result);
  const std::int32_t classes = std::accumulate(result.trees.begin(), result.trees.end(), 0);
  return classes <= limits.classes ? std::optional(std::move(result)) : std::nullopt;
}

/// The classes, and the routes in them.
struct Assigned {
  DestinationClasses classes;
  std::vector<Route> routes;
};

/// The tables while routes are placed in them.
class Tables {
 public:
  Tables(const Topology& topology, const ClassLimits& limits, LayerOrders orders)
      : topology_(topology), completion_(topology, limits.forwards), orders_(std::move(orders)) {}

  [[nodiscard]] std::size_t size() const { return tables_.size(); }
  [[nodiscard]] std::size_t layers() const { return orders_.size(); }
  [[nodiscard]] std::int32_t layer(std::size_t table) const { return tables_[table].layer; }

  void add(std::int32_t layer) {
    const auto nodes = at(topology_.node_count());
    tables_.push_back({layer, std::vector<std::vector<LinkId>>(nodes, std::vector<LinkId>(nodes, no_entry))});
  }

  /// Enters a route where its links ascend in the table's layer, agree with the routes that are there, and leave every
  /// node a path; says whether it did.
  bool place(const Route& route, std::size_t table) {
    std::vector<LinkId>& entries = tables_[table].given[at(route.destination)];
    std::optional<std::vector<LinkId>> given = with(route, entries, tables_[table].layer);
    if (!given) return false;
    entries = std::move(*given);
    return true;
  }

  /// The same in a table of its own, which is added where it does.
  bool place_in_new(const Route& route, std::int32_t layer) {
    const std::vector<LinkId> none(at(topology_.node_count()), no_entry);
    std::optional<std::vector<LinkId>> given = with(route, none, layer);
    if (!given) return false;
    add(layer);
    tables_.back().given[at(route.destination)] = std::move(*given);
    return true;
  }

  /// Enters routes to one destination without a look at each; false, and nothing done, where that leaves a node
  /// without a path.
  bool place_all(std::span<const Route* const> routes, NodeId destination, std::size_t table) {
    Table& into = tables_[table];
    std::vector<LinkId> given = into.given[at(destination)];
    for (const Route* route : routes) {
      for (const LinkId link : route->links) given[at(topology_.link(link).from)] = link;
    }
    if (!completion_.complete(destination, given, orders_[at(into.layer)])) return false;
    into.given[at(destination)] = std::move(given);
    return true;
  }

  /// By node the links towards a destination. To a host there is always a way: the layer's tree, or what was found when
  /// its routes were placed.
  [[nodiscard]] std::vector<LinkId> completed(std::size_t table, NodeId destination) const {
    const Table& from = tables_[table];
    const std::vector<std::int32_t>& order = orders_[at(from.layer)];
    std::optional<std::vector<LinkId>> whole = completion_.complete(destination, from.given[at(destination)], order);
    return whole ? std::move(*whole) : completion_.fill(destination, order);
  }

  /// The entries of a table's routes to the route's destination and its own, where they agree. Of no table: its own.
  [[nodiscard]] std::optional<std::vector<LinkId>> given_with(const Route& route,
                                                              std::optional<std::size_t> table) const {
    std::vector<LinkId> given = table ? tables_[*table].given[at(route.destination)]
                                      : std::vector<LinkId>(at(topology_.node_count()), no_entry);
    for (const LinkId link : route.links) {
      LinkId& entry = given[at(topology_.link(link).from)];
      if (entry != no_entry && entry != link) return std::nullopt;
      entry = link;
    }
    return given;
  }

  void set_given(NodeId destination, std::size_t table, std::vector<LinkId> given) {
    tables_[table].given[at(destination)] = std::move(given);
  }

  /// Tables in the order of `kept`, without the others.
  void keep(const std::vector<std::size_t>& kept) {
    std::vector<Table> left;
    left.reserve(kept.size());
    for (const std::size_t table : kept) left.push_back(std::move(tables_[table]));
    tables_ = std::move(left);
  }

 private:
  struct Table {
    std::int32_t layer = 0;
    std::vector<std::vector<LinkId>> given;  ///< by destination and node: of routes
  };

  /// Entries towards the route's destination with its own, where its links ascend in the layer, agree with them, and
  /// leave every node a path.
  [[nodiscard]] std::optional<std::vector<LinkId>> with(const Route& route, const std::vector<LinkId>& entries,
                                                        std::int32_t layer) const {
    std::vector<LinkId> given = entries;
    std::int32_t before = -2;
    for (const LinkId link : route.links) {
      const std::int32_t order = orders_[at(layer)][at(link)];
      LinkId& entry = given[at(topology_.link(link).from)];
      if (order <= before || (entry != no_entry && entry != link)) return std::nullopt;
      before = order;
      entry = link;
    }
    if (given != entries && !completion_.complete(route.destination, given, orders_[at(layer)])) return std::nullopt;
    return given;
  }

  const Topology& topology_;
  TableCompletion completion_;
  LayerOrders orders_;
  std::vector<Table> tables_;
};

class Assignment {
 public:
  Assignment(const Topology& topology, const ClassLimits& limits, Layered layered, std::span<Route> routes)
      : topology_(topology),
        limits_(limits),
        tables_(topology, limits, layered.orders),
        layered_(std::move(layered)),
        routes_(routes) {}

  DestinationClasses run() {
    std::vector<std::size_t> left = place_trees();
    left = place_elsewhere(left);
    std::vector<std::size_t> dropped = drop_classes();
    dropped = place_in_existing(dropped);
    left.insert(left.end(), dropped.begin(), dropped.end());
    return finish(left);
  }

 private:
  [[nodiscard]] std::int64_t amount(std::size_t route) const {
    return limits_.amount.empty() ? 1 : limits_.amount[route];
  }

  void assign(std::size_t route, std::size_t table) {
    routes_[route].route_class = static_cast<std::int32_t>(table) + 1;
    routes_[route].layer = tables_.layer(table);
  }

  /// Every layer's trees as the colouring has them. Returns the routes that have no class yet.
  std::vector<std::size_t> place_trees() {
    std::vector<std::size_t> first_table;
    for (std::size_t layer = 0; layer < layered_.orders.size(); ++layer) {
      first_table.push_back(tables_.size());
      for (std::int32_t tree = 0; tree < layered_.trees[layer]; ++tree) tables_.add(static_cast<std::int32_t>(layer));
    }
    std::vector<std::size_t> left;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < routes_.size(); ++i) (layered_.routes[i].layer == no_layer ? left : order).push_back(i);
    const auto key = [this](std::size_t i) {
      const Route& route = layered_.routes[i];
      return std::tuple(route.layer, route.route_class, route.destination);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t first = 0; first < order.size();) {
      std::size_t last = first;
      std::vector<const Route*> together;
      for (; last < order.size() && key(order[last]) == key(order[first]); ++last) {
        together.push_back(&layered_.routes[order[last]]);
      }
      const std::size_t table = first_table[at(together.front()->layer)] + at(together.front()->route_class) - 1;
      const bool all = tables_.place_all(together, together.front()->destination, table);
      for (std::size_t i = first; i < last; ++i) {
        if (all || tables_.place(layered_.routes[order[i]], table)) {
          assign(order[i], table);
        } else {
          left.push_back(order[i]);
        }
      }
      first = last;
    }
    return left;
  }

  bool place_in_some(std::size_t route) {
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      if (!tables_.place(layered_.routes[route], table)) continue;
      assign(route, table);
      return true;
    }
    return false;
  }

  std::vector<std::size_t> place_in_existing(const std::vector<std::size_t>& waiting) {
    std::vector<std::size_t> left;
    for (const std::size_t route : waiting) {
      if (!place_in_some(route)) left.push_back(route);
    }
    return left;
  }

  bool place_in_new(std::size_t route) {
    for (std::size_t layer = 0; layer < tables_.layers(); ++layer) {
      if (!tables_.place_in_new(layered_.routes[route], static_cast<std::int32_t>(layer))) continue;
      assign(route, tables_.size() - 1);
      return true;
    }
    return false;
  }

  std::vector<std::size_t> place_elsewhere(const std::vector<std::size_t>& waiting) {
    std::vector<std::size_t> left;
    for (const std::size_t route : waiting) {
      if (!place_in_some(route) && !place_in_new(route)) left.push_back(route);
    }
    return left;
  }

  /// Down to the limit, those of the least amount first; the first class stays the first. Returns the routes that lose
  /// theirs.
  std::vector<std::size_t> drop_classes() {
    if (tables_.size() <= at(limits_.classes)) return {};
    std::vector<std::int64_t> carried(tables_.size(), 0);
    std::vector<bool> waits(routes_.size());
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (routes_[i].route_class > 0) carried[at(routes_[i].route_class) - 1] += amount(i);
    }
    std::vector<std::size_t> kept(tables_.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    std::stable_sort(kept.begin() + 1, kept.end(),
                     [&](std::size_t a, std::size_t b) { return carried[a] > carried[b]; });
    kept.resize(at(limits_.classes));
    std::sort(kept.begin(), kept.end());
    std::vector<std::size_t> dropped;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      const std::int32_t old = std::exchange(routes_[i].route_class, 0);
      if (old == 0) continue;
      const auto place = std::lower_bound(kept.begin(), kept.end(), at(old) - 1);
      if (place != kept.end() && *place == at(old) - 1) {
        routes_[i].route_class = static_cast<std::int32_t>(place - kept.begin()) + 1;
      } else {
        dropped.push_back(i);
      }
    }
    tables_.keep(kept);
    return dropped;
  }

  /// Layers that no class has any more are left out.
  void number_layers(DestinationClasses& result) {
    std::vector<std::int32_t> number(tables_.layers(), -1);
    for (DestinationClass& each : result.classes) {
      std::int32_t& known = number[at(each.layer)];
      if (known < 0) known = result.layers++;
      each.layer = known;
    }
    for (Route& route : routes_) route.layer = result.classes[at(route.route_class) - 1].layer;
  }

  DestinationClasses finish(const std::vector<std::size_t>& without) {
    DestinationClasses result;
    result.classes.resize(tables_.size());
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      result.classes[table].layer = tables_.layer(table);
      for (NodeId node = 0; node < topology_.node_count(); ++node) {
        result.classes[table].next.push_back(tables_.completed(table, node));
      }
    }
    reroute(result, place_late(result, without));
    number_layers(result);
    return result;
  }

  /// Routes that no order of a layer leaves room for may still fit what its tables are by now. Returns the others.
  std::vector<std::size_t> place_late(DestinationClasses& result, const std::vector<std::size_t>& waiting) {
    if (waiting.empty()) return {};
    const std::vector<std::int32_t> places = places_of_links(topology_);
    std::vector<LaneCompletion> lanes(tables_.layers(), LaneCompletion(topology_, limits_.forwards, places));
    for (const DestinationClass& each : result.classes) {
      for (const std::vector<LinkId>& next : each.next) lanes[at(each.layer)].add(next);
    }
    std::vector<std::size_t> left;
    for (const std::size_t route : waiting) {
      if (!place_late(result, lanes, route)) left.push_back(route);
    }
    return left;
  }

  bool place_late(DestinationClasses& result, std::vector<LaneCompletion>& lanes, std::size_t route) {
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      if (place_late(result, lanes[at(tables_.layer(table))], route, table)) return true;
    }
    if (tables_.size() == at(limits_.classes)) return false;
    for (std::size_t layer = 0; layer < lanes.size(); ++layer) {
      const auto of_layer = [&](const DestinationClass& each) { return at(each.layer) == layer; };
      const auto first = std::find_if(result.classes.begin(), result.classes.end(), of_layer);
      if (first != result.classes.end() && place_late(result, lanes[layer], route, std::nullopt, &*first)) return true;
    }
    return false;
  }

  /// Of no table: in a new one, like `model`, which adds no dependencies but the route's.
  bool place_late(DestinationClasses& result, LaneCompletion& lane, std::size_t i, std::optional<std::size_t> table,
                  const DestinationClass* model = nullptr) {
    const Route& route = layered_.routes[i];
    std::optional<std::vector<LinkId>> given = tables_.given_with(route, table);
    if (!given) return false;
    std::optional<std::vector<LinkId>> next = lane.complete(route.destination, *given);
    if (!next) return false;
    if (!table) {
      table = tables_.size();
      tables_.add(model->layer);
      DestinationClass copy = *model;
      result.classes.push_back(std::move(copy));
    }
    result.classes[*table].next[at(route.destination)] = std::move(*next);
    tables_.set_given(route.destination, *table, std::move(*given));
    assign(i, *table);
    return true;
  }

  void reroute(DestinationClasses& result, const std::vector<std::size_t>& without) {
    if (without.empty()) return;
    std::vector<std::int64_t> load(at(topology_.link_count()), 0);
    std::vector<bool> waits(routes_.size(), false);
    for (const std::size_t i : without) waits[i] = true;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (waits[i]) continue;
      for (const LinkId link : routes_[i].links) load[at(link)] += amount(i);
    }
    for (const std::size_t i : without) {
      Route& route = routes_[i];
      std::optional<std::pair<double, std::size_t>> best;
      for (std::size_t table = 0; table < result.classes.size(); ++table) {
        const std::vector<LinkId> path = path_in(result.classes[table], route);
        double worst = 0;
        for (const LinkId link : path) {
          const double capacity = topology_.capacity(link).to_double();
          worst = std::max(worst, static_cast<double>(load[at(link)] + amount(i)) / capacity);
        }
        const std::pair cost(worst, path.size());
        if (best && *best <= cost) continue;
        best = cost;
        route.links = path;
        route.route_class = static_cast<std::int32_t>(table) + 1;
      }
      for (const LinkId link : route.links) load[at(link)] += amount(i);
      ++result.rerouted;
    }
  }

  [[nodiscard]] std::vector<LinkId> path_in(const DestinationClass& table, const Route& route) const {
    std::vector<LinkId> links;
    for (NodeId node = route.source; node != route.destination; node = topology_.link(links.back()).to) {
      links.push_back(table.next[at(route.destination)][at(node)]);
    }
    return links;
  }

  const Topology& topology_;
  const ClassLimits& limits_;
  Tables tables_;
  Layered layered_;
  std::span<Route> routes_;
};

Status check_forwarding(const Topology& topology, std::span<const Route> routes, const std::vector<bool>& forwards) {
  for (const Route& route : routes) {
    for (const LinkId link : route.links) {
      const NodeId to = topology.link(link).to;
      if (to == route.destination || forwards[at(to)]) continue;
      return Error{"found a route from '" + topology.node(route.source).name + "' to '" +
                   topology.node(route.destination).name + "' through '" + topology.node(to).name +
                   "', expected none through a host, which does not forward"};
    }
  }
  return {};
}

}  // namespace

std::int32_t lmc_for(std::size_t classes) {
  std::int32_t lmc = 0;
  while ((std::size_t{1} << static_cast<unsigned>(lmc)) < classes) ++lmc;
  return lmc;
}

Result<DestinationClasses> assign_destination_classes(const Topology& topology, std::span<Route> routes,
                                                      const ClassLimits& limits) {
  ClassLimits wanted = limits;
  if (wanted.forwards.empty()) wanted.forwards.assign(at(topology.node_count()), true);
  if (const Status status = check_forwarding(topology, routes, wanted.forwards); !status) return status.error();
  std::optional<Layered> best;
  const std::vector<Order> orders = orders_to_try(routes);
  const bool given = has_destination_classes(topology, routes, wanted);
  for (std::int32_t variant = 0; variant < roots_to_try(routes); ++variant) {
    if (given) {
      std::optional<Layered> layered =
          layered_as_given(routes, rooted_orders_of_layers(topology, wanted.forwards, routes, variant));
      if (layered && (!best || layered->cost() < best->cost())) best = std::move(*layered);
    }
    for (const Order& order : orders) {
      Result<Layered> layered = layer_by(topology, routes, wanted, order, variant);
      if (!layered) return layered.error();
      if (!best || layered->cost() < best->cost()) best = std::move(layered).value();
    }
  }
  const auto assign = [&](Layered layered) {
    Assigned assigned{{}, {routes.begin(), routes.end()}};
    for (Route& route : assigned.routes) {
      route.route_class = 0;
      route.layer = 0;
    }
    assigned.classes = Assignment(topology, wanted, std::move(layered), assigned.routes).run();
    return assigned;
  };
  Assigned chosen;
  std::optional<Layered> bare = layered_bare(topology, routes, wanted, given);
  if (bare && bare->cost() < best->cost()) chosen = assign(std::move(*bare));
  // Some host may have been left without a way.
  const bool is_worse = chosen.classes.rerouted > 0 || best->is_better_than(chosen.classes);
  if (chosen.routes.empty() || is_worse) chosen = assign(std::move(*best));
  std::move(chosen.routes.begin(), chosen.routes.end(), routes.begin());
  return std::move(chosen.classes);
}

}  // namespace libcoll::route
