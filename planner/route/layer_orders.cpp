#include "planner/route/layer_orders.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "planner/route/acyclic_layer.h"
#include "planner/route/sssp.h"
#include "planner/topology/facts.h"

namespace libcoll {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool both_ways(const Topology& topology) {
  return std::all_of(topology.links().begin(), topology.links().end(),
                     [&](const Link& link) { return topology.find_link(link.to, link.from) >= 0; });
}

/// Hops from a node from which no other is farther than it has to be.
std::vector<std::int32_t> levels(const Topology& topology) {
  DistanceMatrix distance = hop_distances(topology);
  const auto farthest = [](const std::vector<std::int32_t>& row) { return *std::max_element(row.begin(), row.end()); };
  return *std::min_element(distance.begin(), distance.end(),
                           [&](const auto& a, const auto& b) { return farthest(a) < farthest(b); });
}

/// Every turn but those from a link away from the root to one towards it.
void add_up_down(const Topology& topology, AcyclicLayer& layer) {
  const std::vector<std::int32_t> level = levels(topology);
  const auto is_up = [&](const Link& link) {
    return std::pair(level[at(link.to)], link.to) < std::pair(level[at(link.from)], link.from);
  };
  for (LinkId first = 0; first < topology.link_count(); ++first) {
    for (const LinkId second : topology.out_links(topology.link(first).to)) {
      const Link& next = topology.link(second);
      if (next.to == topology.link(first).from || (!is_up(topology.link(first)) && is_up(next))) continue;
      layer.try_add(std::array{first, second});
    }
  }
}

bool add_to_any(std::vector<AcyclicLayer>& layers, const Route& route) {
  return std::any_of(layers.begin(), layers.end(), [&](AcyclicLayer& layer) { return layer.try_add(route.links); });
}

}  // namespace

Result<LayerOrders> layer_orders(const Topology& topology, std::span<const Route> wanted, std::int32_t layers) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  std::vector<AcyclicLayer> graphs;
  graphs.reserve(at(layers));
  for (std::int32_t i = 0; i < layers; ++i) graphs.emplace_back(topology, places);
  if (both_ways(topology)) {
    add_up_down(topology, graphs.back());
  } else {
    const Result<std::vector<Route>> shortest = sssp_routes(topology);
    if (!shortest) return shortest.error();
    for (const Route& route : *shortest) {
      if (add_to_any(graphs, route)) continue;
      std::int32_t needed = 0;
      for (const Route& each : *shortest) needed = std::max(needed, each.layer + 1);
      return Error{"the one-way links of " + topology.name() + " leave some pair without a way in " +
                   std::to_string(layers) + (layers == 1 ? " layer" : " layers") + ", expected " +
                   std::to_string(needed) + " or more"};
    }
  }
  for (const Route& route : wanted) add_to_any(graphs, route);
  LayerOrders orders;
  for (const AcyclicLayer& graph : graphs) orders.emplace_back(graph.order().begin(), graph.order().end());
  return orders;
}

std::int32_t layer_of(const LayerOrders& orders, std::span<const LinkId> links) {
  for (std::size_t layer = 0; layer < orders.size(); ++layer) {
    const auto descends = [&](LinkId a, LinkId b) { return orders[layer][at(a)] >= orders[layer][at(b)]; };
    if (std::adjacent_find(links.begin(), links.end(), descends) == links.end()) {
      return static_cast<std::int32_t>(layer);
    }
  }
  return -1;
}

}  // namespace libcoll
