#include "planner/route/rooted_layers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "planner/base/index.h"
#include "planner/route/acyclic_layer.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// Hops over cables from the nearest of some nodes, through nodes that forward; -1 where there is no way.
class Distances {
 public:
  Distances(const Topology& topology, const std::vector<bool>& forwards, const std::vector<NodeId>& from)
      : hops_(at(topology.node_count()), -1), parent_(at(topology.node_count()), -1), order_(from) {
    for (const NodeId node : from) hops_[at(node)] = 0;
    for (std::size_t taken = 0; taken < order_.size(); ++taken) {
      const NodeId node = order_[taken];
      if (!forwards[at(node)]) continue;
      for (const LinkId link : topology.out_links(node)) {
        const NodeId next = topology.link(link).to;
        if (hops_[at(next)] >= 0 || topology.find_link(next, node) < 0) continue;
        hops_[at(next)] = hops_[at(node)] + 1;
        parent_[at(next)] = node;
        order_.push_back(next);
      }
    }
  }

  /// In the order they were reached.
  [[nodiscard]] const std::vector<NodeId>& reached() const { return order_; }
  [[nodiscard]] NodeId parent(NodeId node) const { return parent_[at(node)]; }
  [[nodiscard]] std::int32_t hops(NodeId node) const { return hops_[at(node)]; }

  /// Of the nodes that forward, the one farthest away.
  [[nodiscard]] NodeId farthest(const std::vector<bool>& forwards) const {
    const auto found = std::find_if(order_.rbegin(), order_.rend(), [&](NodeId node) { return forwards[at(node)]; });
    return found == order_.rend() ? order_.front() : *found;
  }

 private:
  std::vector<std::int32_t> hops_;
  std::vector<NodeId> parent_;
  std::vector<NodeId> order_;
};

/// Roots in turn: a node in the middle of a longest shortest path, as a double sweep finds it, then what is farthest
/// from the roots so far.
class Roots {
 public:
  Roots(const Topology& topology, const std::vector<bool>& forwards, std::int32_t variant)
      : topology_(topology), forwards_(forwards), variant_(variant) {}

  NodeId next() {
    const NodeId root = roots_.empty() ? first() : Distances(topology_, forwards_, roots_).farthest(forwards_);
    roots_.push_back(root);
    return root;
  }

 private:
  [[nodiscard]] NodeId first() const {
    const std::vector<NodeId> near = Distances(topology_, forwards_, {middle()}).reached();
    std::vector<NodeId> candidates;
    std::copy_if(near.begin(), near.end(), std::back_inserter(candidates),
                 [this](NodeId node) { return forwards_[at(node)]; });
    return candidates[at(variant_) % candidates.size()];
  }

  [[nodiscard]] NodeId middle() const {
    const auto first = std::find(forwards_.begin(), forwards_.end(), true);
    const auto some = static_cast<NodeId>(first - forwards_.begin());
    const NodeId end = Distances(topology_, forwards_, {some}).farthest(forwards_);
    const Distances sweep(topology_, forwards_, {end});
    NodeId node = sweep.farthest(forwards_);
    for (std::int32_t steps = sweep.hops(node) / 2; steps > 0; --steps) node = sweep.parent(node);
    return node;
  }

  const Topology& topology_;
  const std::vector<bool>& forwards_;
  std::int32_t variant_;
  std::vector<NodeId> roots_;
};

/// By node whether the tree between the hosts needs it: switches at its ends are on nobody's way.
std::vector<bool> on_host_tree(const Topology& topology, const Distances& tree) {
  std::vector<bool> needed(at(topology.node_count()), false);
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (NodeId node = host; node >= 0 && !needed[at(node)]; node = tree.parent(node)) needed[at(node)] = true;
  }
  return needed;
}

/// Every way between hosts along the tree: up its links, then down. They are never cyclic.
void add_tree(const Topology& topology, const Distances& tree, const std::vector<bool>& forwards, AcyclicLayer& layer) {
  const std::vector<bool> needed = on_host_tree(topology, tree);
  std::vector<std::vector<NodeId>> neighbours(at(topology.node_count()));
  for (const NodeId node : tree.reached()) {
    const NodeId parent = tree.parent(node);
    if (parent < 0 || !needed[at(node)]) continue;
    neighbours[at(node)].push_back(parent);
    neighbours[at(parent)].push_back(node);
  }
  for (const NodeId node : tree.reached()) {
    if (!forwards[at(node)]) continue;
    for (const NodeId before : neighbours[at(node)]) {
      for (const NodeId after : neighbours[at(node)]) {
        if (before == after) continue;
        layer.try_add(std::array{topology.find_link(before, node), topology.find_link(node, after)});
      }
    }
  }
}

/// Whether a route can come to the link from another one.
bool has_predecessor(const Topology& topology, const std::vector<bool>& forwards, LinkId id) {
  const Link& link = topology.link(id);
  const std::span<const LinkId> before = topology.in_links(link.from);
  return forwards[at(link.from)] &&
         std::any_of(before.begin(), before.end(), [&](LinkId other) { return topology.link(other).from != link.to; });
}

std::vector<std::int32_t> order_of(const Topology& topology, const std::vector<bool>& forwards,
                                   const AcyclicLayer& layer) {
  std::vector<std::int32_t> order(layer.order().begin(), layer.order().end());
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    if (!has_predecessor(topology, forwards, link)) order[at(link)] = -1;
  }
  return order;
}

/// Layers that begin with trees.
class RootedLayers {
 public:
  RootedLayers(const Topology& topology, const std::vector<bool>& forwards, std::int32_t variant)
      : topology_(topology),
        forwards_(forwards),
        places_(places_of_links(topology)),
        roots_(topology, forwards, variant) {}

  [[nodiscard]] std::size_t size() const { return layers_.size(); }
  AcyclicLayer& operator[](std::size_t layer) { return layers_[layer]; }
  void remove_last() { layers_.pop_back(); }

  /// With the tree of the next root.
  Status open() {
    const Distances tree(topology_, forwards_, {roots_.next()});
    if (tree.reached().size() != at(topology_.node_count())) {
      return Error{"found nodes that no cables join to the others, expected every node joined"};
    }
    add_tree(topology_, tree, forwards_, layers_.emplace_back(topology_, places_));
    return {};
  }

  [[nodiscard]] LayerOrders orders() const {
    LayerOrders orders;
    orders.reserve(layers_.size());
    for (const AcyclicLayer& layer : layers_) orders.push_back(order_of(topology_, forwards_, layer));
    return orders;
  }

 private:
  const Topology& topology_;
  const std::vector<bool>& forwards_;
  std::vector<std::int32_t> places_;
  Roots roots_;
  std::vector<AcyclicLayer> layers_;
};

}  // namespace

Result<LayerOrders> assign_rooted_layers(const Topology& topology, const std::vector<bool>& forwards,
                                         std::span<Route> routes, std::span<const std::size_t> order, std::int32_t most,
                                         std::int32_t variant) {
  RootedLayers layers(topology, forwards, variant);
  if (const Status status = layers.open(); !status) return status.error();
  for (const std::size_t i : order) {
    std::size_t chosen = 0;
    while (chosen < layers.size() && !layers[chosen].try_add(routes[i].links)) ++chosen;
    if (chosen == layers.size() && static_cast<std::int32_t>(chosen) < most) {
      if (const Status status = layers.open(); !status) return status.error();
      if (!layers[chosen].try_add(routes[i].links)) layers.remove_last();  // it crosses the tree against its order
    }
    routes[i].layer = chosen < layers.size() ? static_cast<std::int32_t>(chosen) : no_layer;
  }
  return layers.orders();
}

Result<LayerOrders> rooted_orders(const Topology& topology, const std::vector<bool>& forwards,
                                  std::span<const Route> routes, std::span<const std::size_t> order,
                                  std::int32_t layers, std::int32_t variant) {
  RootedLayers rooted(topology, forwards, variant);
  while (rooted.size() < at(layers)) {
    if (const Status status = rooted.open(); !status) return status.error();
  }
  for (const std::size_t i : order) {
    std::size_t chosen = 0;
    while (chosen < rooted.size() && !rooted[chosen].try_add(routes[i].links)) ++chosen;
  }
  return rooted.orders();
}

std::optional<LayerOrders> rooted_orders_of_layers(const Topology& topology, const std::vector<bool>& forwards,
                                                   std::span<const Route> routes, std::int32_t variant) {
  RootedLayers rooted(topology, forwards, variant);
  for (const Route& route : routes) {
    while (rooted.size() <= at(route.layer)) {
      if (!rooted.open()) return std::nullopt;
    }
    if (!rooted[at(route.layer)].try_add(route.links)) return std::nullopt;
  }
  return rooted.orders();
}

std::optional<LayerOrders> orders_of_layers(const Topology& topology, const std::vector<bool>& forwards,
                                            std::span<const Route> routes) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  std::vector<AcyclicLayer> layers(at(layer_count(routes)), AcyclicLayer(topology, places));
  for (const Route& route : routes) {
    if (!layers[at(route.layer)].try_add(route.links)) return std::nullopt;
  }
  LayerOrders orders;
  for (const AcyclicLayer& layer : layers) orders.push_back(order_of(topology, forwards, layer));
  return orders;
}

}  // namespace libcoll::route
