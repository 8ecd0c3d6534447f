#include "planner/route/sssp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "planner/base/index.h"
#include "planner/route/lash.h"
#include "planner/topology/facts.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

constexpr double weight_of_unit = 1 << 16;  // what a path adds to a link of capacity 1; integers make ties exact

std::vector<std::int64_t> weights_of_one_path(const Topology& topology) {
  std::vector<std::int64_t> weights;
  weights.reserve(topology.links().size());
  for (const Link& link : topology.links()) {
    const double share = static_cast<double>(topology.unit_bandwidth_bytes_per_second()) /
                         static_cast<double>(link.bandwidth_bytes_per_second);
    weights.push_back(std::max<std::int64_t>(1, std::llround(weight_of_unit * share)));
  }
  return weights;
}

/// The in-tree towards a destination: by node its next link, -1 for the destination and where there is no path.
/// Minimal in hops, and among those in the sum of weights; what is equal in both takes the link of lowest rank and id.
std::vector<LinkId> in_tree(const Topology& topology, const std::vector<std::int64_t>& weights,
                            std::span<const std::int32_t> ranks, NodeId destination) {
  const auto comes_before = [ranks](LinkId a, LinkId b) {
    return ranks.empty() || ranks[at(a)] == ranks[at(b)] ? a < b : ranks[at(a)] < ranks[at(b)];
  };
  std::vector<std::int32_t> hops(at(topology.node_count()), -1);
  std::vector<std::int64_t> cost(at(topology.node_count()), 0);
  std::vector<LinkId> next(at(topology.node_count()), -1);
  std::vector<NodeId> order{destination};
  hops[at(destination)] = 0;
  for (std::size_t taken = 0; taken < order.size(); ++taken) {
    // Everything one hop nearer has its final cost, as breadth-first order finishes a level before the next.
    const NodeId node = order[taken];
    for (const LinkId link : topology.in_links(node)) {
      const NodeId from = topology.link(link).from;
      if (hops[at(from)] < 0) {
        hops[at(from)] = hops[at(node)] + 1;
        order.push_back(from);
      } else if (hops[at(from)] != hops[at(node)] + 1) {
        continue;
      }
      const std::int64_t candidate = cost[at(node)] + weights[at(link)];
      const LinkId known = next[at(from)];
      if (known < 0 || candidate < cost[at(from)] || (candidate == cost[at(from)] && comes_before(link, known))) {
        cost[at(from)] = candidate;
        next[at(from)] = link;
      }
    }
  }
  return next;
}

std::vector<LinkId> path_along(const Topology& topology, const std::vector<LinkId>& next, NodeId source) {
  std::vector<LinkId> links;
  for (NodeId node = source; next[at(node)] >= 0; node = topology.link(links.back()).to) {
    links.push_back(next[at(node)]);
  }
  return links;
}

/// `growth` by link: what a path adds to its weight.
Result<std::vector<Route>> tree_paths(const Topology& topology, const std::vector<std::int64_t>& growth,
                                      std::span<const std::int32_t> ranks) {
  if (const Status status = check_connected(topology); !status) {
    return Error{"shortest paths on " + topology.name() + ": " + status.error().message};
  }
  std::vector<std::int64_t> weights(growth.size(), 0);
  const NodeId others = topology.host_count() - 1;
  std::vector<Route> routes(at(topology.host_count()) * at(others));
  for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
    const std::vector<LinkId> next = in_tree(topology, weights, ranks, destination);
    for (NodeId source = 0; source < topology.host_count(); ++source) {
      if (source == destination) continue;
      Route& route = routes[at(source) * at(others) + at(destination - (destination > source ? 1 : 0))];
      route = {source, destination, path_along(topology, next, source), 0, 0};
      for (const LinkId link : route.links) weights[at(link)] += growth[at(link)];
    }
  }
  return routes;
}

}  // namespace

Result<std::vector<Route>> sssp_paths(const Topology& topology) {
  return tree_paths(topology, weights_of_one_path(topology), {});
}

Result<std::vector<Route>> min_hop_paths(const Topology& topology, std::span<const std::int32_t> ranks) {
  return tree_paths(topology, std::vector<std::int64_t>(at(topology.link_count()), 0), ranks);
}

Result<std::vector<Route>> sssp_routes(const Topology& topology) {
  Result<std::vector<Route>> routes = sssp_paths(topology);
  if (routes.ok()) assign_layers(topology, *routes);
  return routes;
}

}  // namespace libcoll::route
