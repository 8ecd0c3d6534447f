#include "planner/flow/paths/widest_paths.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/problem/length_tree.h"

namespace libcoll::flow::paths {

using namespace problem;
using namespace topology;

namespace {

constexpr double least_widest_weight = 1e-7;

/// The links of source→destination by the last links of a tree; empty where the tree does not lead there.
std::vector<LinkId> path_of(const Topology& topology, const std::vector<LinkId>& last_link, NodeId source,
                            NodeId destination) {
  std::vector<LinkId> links;
  for (NodeId node = destination; node != source; node = topology.link(links.back()).from) {
    if (last_link[at(node)] < 0) return {};
    links.push_back(last_link[at(node)]);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

std::vector<LinkId> fewest_hops(const Topology& topology, NodeId source, NodeId destination) {
  const std::vector<std::int32_t> hops(topology.links().size(), 1);
  return path_of(topology, length_tree<std::int32_t>(topology, hops, source).last_link, source, destination);
}

/// Over links that carry more than `least`; empty when there is no path.
std::vector<LinkId> widest_path(const Topology& topology, NodeId source, NodeId destination,
                                const std::vector<double>& flow, double least) {
  std::vector<double> width(at(topology.node_count()), 0);
  std::vector<std::int32_t> hops(at(topology.node_count()), 0);
  std::vector<LinkId> last_link(at(topology.node_count()), -1);
  using Entry = std::tuple<double, std::int32_t, NodeId>;  // width, −hops, node: the largest is on top
  std::priority_queue<Entry> queue;
  width[at(source)] = std::numeric_limits<double>::infinity();
  queue.emplace(width[at(source)], 0, source);
  while (!queue.empty()) {
    const auto [wide, minus_hops, node] = queue.top();
    queue.pop();
    if (node == destination) break;
    if (wide < width[at(node)] || -minus_hops > hops[at(node)]) continue;
    for (const LinkId link : topology.out_links(node)) {
      const NodeId to = topology.link(link).to;
      const double candidate = std::min(wide, flow[at(link)]);
      const std::int32_t length = hops[at(node)] + 1;
      const bool better = std::pair(candidate, -length) > std::pair(width[at(to)], -hops[at(to)]);
      if (candidate <= least || to == source || !better) continue;
      width[at(to)] = candidate;
      hops[at(to)] = length;
      last_link[at(to)] = link;
      queue.emplace(candidate, -length, to);
    }
  }
  return path_of(topology, last_link, source, destination);
}

}  // namespace

PairPaths extract_widest_paths(const Topology& topology, NodeId source, NodeId destination, std::vector<double>& flow,
                               double amount) {
  PairPaths pair{source, destination, {}};
  const double noise = least_widest_weight * amount;
  double missing = amount;
  while (missing > noise) {
    std::vector<LinkId> links = widest_path(topology, source, destination, flow, noise);
    if (links.empty()) break;
    double rate = missing;
    for (const LinkId link : links) rate = std::min(rate, flow[at(link)]);
    for (const LinkId link : links) flow[at(link)] -= rate;
    missing -= rate;
    const auto known = std::find_if(pair.paths.begin(), pair.paths.end(),
                                    [&](const WeightedPath& path) { return path.links == links; });
    if (known != pair.paths.end()) {
      known->weight += rate;
    } else {
      pair.paths.push_back({std::move(links), rate});
    }
  }
  if (pair.paths.empty()) pair.paths.push_back({fewest_hops(topology, source, destination), amount});
  double total = 0;
  for (const WeightedPath& path : pair.paths) total += path.weight;
  for (WeightedPath& path : pair.paths) path.weight /= total;
  return pair;
}

std::vector<PairPaths> extract_from_source(const Topology& topology, NodeId source, std::vector<double> flow,
                                           std::span<const double> amounts) {
  const std::vector<std::int32_t> hops(topology.links().size(), 1);
  const auto tree = length_tree<std::int32_t>(topology, hops, source);
  std::vector<NodeId> order;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    if (host != source) order.push_back(host);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return tree.distance[at(a)] > tree.distance[at(b)]; });
  std::vector<PairPaths> pairs;
  for (const NodeId destination : order) {
    if (amounts[at(destination)] > 0) {
      pairs.push_back(extract_widest_paths(topology, source, destination, flow, amounts[at(destination)]));
    } else {
      pairs.push_back({source, destination, {{path_of(topology, tree.last_link, source, destination), 1}}});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const PairPaths& a, const PairPaths& b) { return a.destination < b.destination; });
  return pairs;
}

}  // namespace libcoll::flow::paths
