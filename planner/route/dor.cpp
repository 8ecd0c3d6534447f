#include "planner/route/dor.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/route/lash.h"
#include "planner/topology/generators.h"
#include "planner/topology/grid.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// Whether the links are those of the name, no more and no less; as many hosts there are.
Status check_links(const Topology& topology, const Topology& promised) {
  const std::string which = "dimension-ordered routes need every link of " + topology.name() + " and no other: ";
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
  for (std::size_t dimension = 0; dimension < grid.sizes.size(); ++dimension) {
    const std::int32_t goal = grid.coordinate(destination, dimension);
    std::int32_t c = grid.coordinate(source, dimension);
    const std::int32_t way = direction(c, goal, grid.sizes[dimension], grid.wraps);
    while (c != goal) {
      const NodeId neighbour = grid.moved(node, dimension, c + way);
      route.links.push_back(topology.find_link(node, neighbour));
      node = neighbour;
      c = grid.coordinate(node, dimension);
    }
  }
  return route;
}

}  // namespace

Result<std::vector<Route>> dor_routes(const Topology& topology) {
  const Result<Grid> grid = grid_of(topology);
  if (!grid) return Error{"dimension-ordered routes: " + grid.error().message};
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

}  // namespace libcoll::route
