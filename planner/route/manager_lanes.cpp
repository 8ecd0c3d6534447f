#include "planner/route/manager_lanes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/route/dfsssp.h"
#include "planner/route/lash.h"
#include "planner/route/sssp.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// Where the caller does not say.
std::vector<std::int32_t> usual_switch_order(const Topology& topology) {
  std::vector<std::int32_t> order(at(topology.node_count()));
  std::iota(order.begin(), order.end(), 0);
  const bool hosts_forward = topology.host_count() == topology.node_count();
  if (!hosts_forward) std::fill_n(order.begin(), topology.host_count(), -1);
  return order;
}

/// What LASH takes; nothing where there are no two switches, or no paths between them.
std::optional<std::int32_t> lash_lanes(const Topology& topology, std::span<const std::int32_t> ports,
                                       std::span<const std::int32_t> switch_order) {
  std::vector<NodeId> switches;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (switch_order[at(node)] >= 0) switches.push_back(node);
  }
  std::sort(switches.begin(), switches.end(),
            [&](NodeId a, NodeId b) { return switch_order[at(a)] < switch_order[at(b)]; });
  std::vector<NodeId> place(at(topology.node_count()), -1);
  std::vector<Node> nodes;
  for (const NodeId node : switches) {
    place[at(node)] = static_cast<NodeId>(nodes.size());
    nodes.push_back(topology.node(node));
    nodes.back().is_switch = false;
  }
  std::vector<Link> links;
  std::vector<std::int32_t> ports_between;
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    Link link = topology.link(id);
    link.from = place[at(link.from)];
    link.to = place[at(link.to)];
    if (link.from < 0 || link.to < 0) continue;
    links.push_back(link);
    if (!ports.empty()) ports_between.push_back(ports[at(id)]);
  }
  const Result<Topology> between = Topology::make(topology.name(), std::move(nodes), std::move(links));
  if (!between) return std::nullopt;
  Result<std::vector<Route>> routes = min_hop_paths(*between, ports_between);
  if (!routes) return std::nullopt;
  return assign_layers_by_pairs(*between, *routes);
}

}  // namespace

Result<std::int32_t> manager_lanes(const Topology& topology, std::span<const std::int32_t> ports,
                                   std::span<const std::int32_t> switch_order) {
  Result<std::vector<Route>> sssp = sssp_paths(topology);
  if (!sssp) return sssp.error();
  const std::int32_t lanes = break_cycles(topology, *sssp);
  const std::vector<std::int32_t> usual = usual_switch_order(topology);
  return std::min(lanes, lash_lanes(topology, ports, switch_order.empty() ? usual : switch_order).value_or(lanes));
}

}  // namespace libcoll::route
