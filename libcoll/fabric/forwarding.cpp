#include "libcoll/fabric/forwarding.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::fabric {

using namespace schedule;
using namespace topology;

namespace {

auto key(const SourceHop& hop) { return std::tuple(hop.route_class, hop.source, hop.destination); }

std::string described(const Route& route) {
  return "the route from node " + std::to_string(route.source) + " to node " + std::to_string(route.destination) +
         (route.route_class > 0 ? " in class " + std::to_string(route.route_class) : "");
}

/// Source and destination are different hosts and the links lead from one to the other without passing a node twice.
Status check_route(const Topology& topology, const Route& route) {
  const auto is_host = [&](NodeId id) { return id >= 0 && id < topology.host_count(); };
  if (!is_host(route.source) || !is_host(route.destination)) {
    return Error{described(route) + " does not join two hosts of the fabric"};
  }
  std::vector<NodeId> passed = {route.source};
  for (const LinkId id : route.links) {
    if (id < 0 || id >= topology.link_count() || topology.link(id).from != passed.back()) {
      return Error{described(route) + " is not a path over links of the fabric"};
    }
    passed.push_back(topology.link(id).to);
  }
  if (passed.back() != route.destination) return Error{described(route) + " does not end there"};
  std::sort(passed.begin(), passed.end());
  if (std::adjacent_find(passed.begin(), passed.end()) != passed.end()) {
    return Error{described(route) + " passes a node twice"};
  }
  return {};
}

using Pair = std::pair<NodeId, NodeId>;
using RoutesOfPairs = std::map<Pair, const Route*>;

Result<RoutesOfPairs> default_of_pairs(const Topology& topology, std::span<const Route> defaults) {
  RoutesOfPairs routes;
  for (const Route& route : defaults) {
    if (Status good = check_route(topology, route); !good) return good.error();
    if (!routes.emplace(Pair{route.source, route.destination}, &route).second) {
      return Error{described(route) + " is there twice, expected one default route for every pair"};
    }
  }
  const std::size_t hosts = at(topology.host_count());
  if (routes.size() != hosts * (hosts - 1)) {
    return Error{"there are default routes for " + std::to_string(routes.size()) + " pairs of hosts, expected " +
                 std::to_string(hosts * (hosts - 1))};
  }
  return routes;
}

/// For every node and destination the way that most default routes take.
std::vector<std::vector<NodeId>> usual_ways(const Topology& topology, std::span<const Route> defaults) {
  std::map<std::tuple<NodeId, NodeId, NodeId>, std::int32_t> votes;  // node, destination, next
  for (const Route& route : defaults) {
    for (const LinkId id : route.links) ++votes[{topology.link(id).from, route.destination, topology.link(id).to}];
  }
  std::vector<std::vector<NodeId>> ways(at(topology.node_count()), std::vector<NodeId>(at(topology.host_count()), -1));
  std::map<Pair, std::int32_t> most;
  for (const auto& [way, count] : votes) {
    const auto& [node, destination, next] = way;
    std::int32_t& best = most[{node, destination}];
    if (count <= best) continue;
    best = count;
    ways[at(node)][at(destination)] = next;
  }
  return ways;
}

bool follows(const Topology& topology, const Route& route, const std::vector<std::vector<NodeId>>& ways) {
  return std::all_of(route.links.begin(), route.links.end(), [&](LinkId id) {
    return ways[at(topology.link(id).from)][at(route.destination)] == topology.link(id).to;
  });
}

/// Source hops along the route, where the tables by destination would lead elsewhere.
void add_route(const Topology& topology, const Route& route, std::int32_t route_class, ForwardingTables& tables) {
  if (follows(topology, route, tables.by_destination)) return;
  for (const LinkId id : route.links) {
    const Link& link = topology.link(id);
    tables.by_source[at(link.from)].push_back({route_class, route.source, route.destination, link.to});
  }
}

/// The planned routes of one class by pair.
Result<std::vector<RoutesOfPairs>> planned_of_pairs(const Topology& topology, std::span<const Route> planned,
                                                    std::int32_t classes) {
  std::vector<RoutesOfPairs> routes(at(classes) + 1);
  for (const Route& route : planned) {
    if (Status good = check_route(topology, route); !good) return good.error();
    if (route.route_class < 1 || route.route_class > classes) {
      return Error{described(route) + " has class " + std::to_string(route.route_class) + ", expected 1 to " +
                   std::to_string(classes)};
    }
    const auto [place, is_new] = routes[at(route.route_class)].emplace(Pair{route.source, route.destination}, &route);
    if (!is_new && place->second->links != route.links) {
      return Error{described(route) + " has two paths, expected one path for every pair and class"};
    }
  }
  return routes;
}

}  // namespace

Result<ForwardingTables> forwarding_tables(const Topology& topology, std::span<const Route> defaults,
                                           std::span<const Route> planned, std::int32_t classes) {
  const Result<RoutesOfPairs> usual = default_of_pairs(topology, defaults);
  if (!usual) return usual.error();
  const Result<std::vector<RoutesOfPairs>> steered = planned_of_pairs(topology, planned, classes);
  if (!steered) return steered.error();
  ForwardingTables tables;
  tables.classes = classes;
  tables.by_destination = usual_ways(topology, defaults);
  tables.by_source.resize(at(topology.node_count()));
  for (std::int32_t route_class = 0; route_class <= classes; ++route_class) {
    const RoutesOfPairs& of_class = (*steered)[at(route_class)];
    for (const auto& [pair, route] : *usual) {
      const auto found = of_class.find(pair);
      add_route(topology, found == of_class.end() ? *route : *found->second, route_class, tables);
    }
  }
  for (std::vector<SourceHop>& hops : tables.by_source) {
    std::sort(hops.begin(), hops.end(), [](const SourceHop& a, const SourceHop& b) { return key(a) < key(b); });
  }
  return tables;
}

}  // namespace libcoll::fabric
