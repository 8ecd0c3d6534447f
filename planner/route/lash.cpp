#include "planner/route/lash.h"

#include <numeric>
#include <vector>

#include "planner/route/acyclic_layer.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

std::int32_t assign_layers(const Topology& topology, std::span<Route> routes, std::span<const std::size_t> order,
                           std::int32_t most) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  std::vector<AcyclicLayer> layers;
  for (const std::size_t i : order) {
    std::size_t chosen = 0;
    while (chosen < layers.size() && !layers[chosen].try_add(routes[i].links)) ++chosen;
    if (chosen == layers.size()) {
      if (static_cast<std::int32_t>(chosen) == most) return most + 1;
      layers.emplace_back(topology, places).try_add(routes[i].links);
    }
    routes[i].layer = static_cast<std::int32_t>(chosen);
  }
  return static_cast<std::int32_t>(layers.size());
}

std::int32_t assign_layers_by_pairs(const Topology& topology, std::span<Route> routes) {
  const std::vector<std::int32_t> places = places_of_links(topology);
  const auto nodes = static_cast<std::size_t>(topology.host_count());
  const auto route = [&](std::size_t source, std::size_t destination) -> Route& {
    return routes[source * (nodes - 1) + destination - (destination > source ? 1 : 0)];
  };
  std::vector<AcyclicLayer> layers;
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = a + 1; b < nodes; ++b) {
      Route& there = route(a, b);
      Route& back = route(b, a);
      std::size_t chosen = 0;
      while (chosen < layers.size() && !layers[chosen].try_add(there.links, back.links)) ++chosen;
      if (chosen == layers.size()) layers.emplace_back(topology, places).try_add(there.links, back.links);
      there.layer = back.layer = static_cast<std::int32_t>(chosen);
    }
  }
  return static_cast<std::int32_t>(layers.size());
}

std::int32_t assign_layers(const Topology& topology, std::span<Route> routes) {
  std::vector<std::size_t> order(routes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return assign_layers(topology, routes, order);
}

}  // namespace libcoll::route
