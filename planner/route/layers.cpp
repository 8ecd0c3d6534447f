#include "planner/route/layers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "planner/route/dfsssp.h"
#include "planner/route/lash.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

// Hops of all routes beyond which one method has to do: each takes a second or two there.
constexpr std::int64_t most_hops_to_compare = 2'000'000;
constexpr std::array<LayerMethod, 5> methods = {LayerMethod::lash_destination, LayerMethod::lash,
                                                LayerMethod::lash_shortest, LayerMethod::lash_longest,
                                                LayerMethod::dfsssp};

/// LASH with the routes in ascending order of `key`.
template <class Key>
std::int32_t assign_ordered(const Topology& topology, std::span<Route> routes, const Key& key,
                            std::int32_t most = any_layers) {
  std::vector<std::size_t> order(routes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(routes[a]) < key(routes[b]); });
  return assign_layers(topology, routes, order, most);
}

Layers assign_by_destination(const Topology& topology, std::span<Route> routes, std::int32_t most = any_layers) {
  return {assign_ordered(
              topology, routes, [](const Route& route) { return route.destination; }, most),
          LayerMethod::lash_destination};
}

std::int64_t hops(const Route& route) { return static_cast<std::int64_t>(route.links.size()); }

Layers assign_fewest(const Topology& topology, std::span<Route> routes, std::int32_t most, const Deadline& deadline) {
  std::int64_t all_hops = 0;
  for (const Route& route : routes) all_hops += hops(route);
  if (all_hops > most_hops_to_compare) return assign_by_destination(topology, routes, most);
  const double before = deadline.remaining();
  Layers best = assign_layers_by(methods.front(), topology, routes);
  const double took = before - deadline.remaining();
  std::vector<std::int32_t> layers(routes.size());
  const auto keep = [&] {
    std::transform(routes.begin(), routes.end(), layers.begin(), [](const Route& route) { return route.layer; });
  };
  keep();
  for (const LayerMethod method : methods) {
    if (method == methods.front() || best.count <= 1) continue;
    if (deadline.passed() || (deadline.limited() && took > deadline.remaining())) break;
    const Layers found = assign_layers_by(method, topology, routes);
    if (found.count >= best.count) continue;
    best = found;
    keep();
  }
  for (std::size_t i = 0; i < routes.size(); ++i) routes[i].layer = layers[i];
  return best;
}

}  // namespace

std::string_view to_string(LayerMethod method) {
  switch (method) {
    case LayerMethod::automatic:
      return "auto";
    case LayerMethod::lash:
      return "lash";
    case LayerMethod::lash_longest:
      return "lash-longest";
    case LayerMethod::lash_shortest:
      return "lash-shortest";
    case LayerMethod::lash_destination:
      return "lash-destination";
    case LayerMethod::dfsssp:
      return "dfsssp";
  }
  return "unknown";
}

Result<LayerMethod> parse_layer_method(std::string_view text) {
  if (text == to_string(LayerMethod::automatic)) return LayerMethod::automatic;
  for (const LayerMethod method : methods) {
    if (text == to_string(method)) return method;
  }
  return Error{"found layer method '" + std::string(text) +
               "', expected auto, lash, lash-longest, lash-shortest, lash-destination or dfsssp"};
}

Layers assign_layers_by(LayerMethod method, const Topology& topology, std::span<Route> routes, std::int32_t most,
                        const Deadline& deadline) {
  switch (method) {
    case LayerMethod::automatic:
      return assign_fewest(topology, routes, most, deadline);
    case LayerMethod::lash_longest:
      return {assign_ordered(topology, routes, [](const Route& route) { return -hops(route); }), method};
    case LayerMethod::lash_shortest:
      return {assign_ordered(topology, routes, hops), method};
    case LayerMethod::lash_destination:
      return assign_by_destination(topology, routes);
    case LayerMethod::dfsssp:
      return {break_cycles(topology, routes), method};
    case LayerMethod::lash:
      break;
  }
  return {assign_layers(topology, routes), LayerMethod::lash};
}

}  // namespace libcoll::route
