#include "planner/route/dor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "planner/route/lash.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll {
namespace {

/// The first dimension is the one whose neighbours' ids differ most (row-major numbering).
struct Grid {
  std::vector<std::int32_t> sizes;
  bool wraps = true;
};

Result<Grid> grid_of(const std::string& name) {
  const Error unknown{
      "dimension-ordered routes need a topology named torus:AxBx..., mesh:AxBx..., ring:N or "
      "hypercube:D, found '" +
      name + "'"};
  const std::optional<Specification> parts = split_specification(name);
  if (!parts) return unknown;
  const std::string_view family = parts->family;
  const bool listed = family == "torus" || family == "mesh";
  if (!listed && family != "ring" && family != "hypercube") return unknown;
  const auto numbers = parse_numbers(parts->arguments, listed ? 'x' : ',', 1, max_nodes);
  if (!numbers) return unknown;
  if (family != "hypercube") return Grid{*numbers, family != "mesh"};
  return Grid{std::vector<std::int32_t>(static_cast<std::size_t>(numbers->front()), 2), true};
}

/// Whether the links are those of the name, no more and no less.
Status check_links(const Topology& topology, const Topology& promised) {
  const std::string which = "dimension-ordered routes need every link of " + topology.name() + " and no other: ";
  if (topology.node_count() != promised.node_count() || topology.host_count() != promised.host_count()) {
    return Error{which + "found " + std::to_string(topology.host_count()) + " hosts and " +
                 std::to_string(topology.node_count() - topology.host_count()) + " switches, expected " +
                 std::to_string(promised.host_count()) + " hosts"};
  }
  for (const Link& link : promised.links()) {
    if (topology.find_link(link.from, link.to) >= 0) continue;
    return Error{which + "found none from node '" + topology.node(link.from).name + "' to node '" +
                 topology.node(link.to).name + "'"};
  }
  if (topology.link_count() == promised.link_count()) return {};
  return Error{which + "found " + std::to_string(topology.link_count()) + " links, expected " +
               std::to_string(promised.link_count())};
}

/// +1 or -1: which way the coordinate `from` goes to become `to`.
std::int32_t direction(std::int32_t from, std::int32_t to, std::int32_t size, bool wraps) {
  if (!wraps) return to > from ? 1 : -1;
  const std::int32_t up = (to - from + size) % size;
  if (2 * up == size) return from % 2 == 0 ? 1 : -1;
  return 2 * up < size ? 1 : -1;
}

Route route_between(const Topology& topology, const Grid& grid, NodeId source, NodeId destination) {
  Route route{source, destination, {}, 0, 0};
  NodeId node = source;
  std::int32_t stride = topology.node_count();
  for (const std::int32_t size : grid.sizes) {
    stride /= size;
    std::int32_t c = source / stride % size;
    const std::int32_t goal = destination / stride % size;
    const std::int32_t way = direction(c, goal, size, grid.wraps);
    while (c != goal) {
      const std::int32_t next = (c + way + size) % size;
      const NodeId neighbour = node + (next - c) * stride;
      route.links.push_back(topology.find_link(node, neighbour));
      node = neighbour;
      c = next;
    }
  }
  return route;
}

}  // namespace

Result<std::vector<Route>> dor_routes(const Topology& topology) {
  const Result<Grid> grid = grid_of(topology.name());
  if (!grid) return grid.error();
  const Result<Topology> promised = generate(topology.name());
  if (!promised) return promised.error();
  if (const Status status = check_links(topology, *promised); !status) return status.error();
  std::vector<Route> routes;
  for (NodeId source = 0; source < topology.host_count(); ++source) {
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      if (source != destination) routes.push_back(route_between(topology, *grid, source, destination));
    }
  }
  assign_layers(topology, routes);
  return routes;
}

}  // namespace libcoll
