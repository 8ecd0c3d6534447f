#include "planner/flow/baseline/ewsp.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/paths/path_sets.h"
#include "planner/flow/paths/widest_paths.h"
#include "planner/flow/problem/demand.h"

namespace libcoll::flow::baseline {

using namespace lowering;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {}  // namespace

std::vector<double> equal_shortest_flow(const Topology& topology, NodeId source, std::span<const double> amounts) {
  std::vector<std::int32_t> hops(at(topology.node_count()), -1);
  std::vector<double> paths(hops.size(), 0);
  std::vector<NodeId> order{source};
  hops[at(source)] = 0;
  paths[at(source)] = 1;
  for (std::size_t taken = 0; taken < order.size(); ++taken) {
    const NodeId node = order[taken];
    for (const LinkId link : topology.out_links(node)) {
      const NodeId to = topology.link(link).to;
      if (hops[at(to)] < 0) {
        hops[at(to)] = hops[at(node)] + 1;
        order.push_back(to);
      }
      if (hops[at(to)] == hops[at(node)] + 1) paths[at(to)] += paths[at(node)];
    }
  }
  // What passes a node goes back to its predecessors in proportion to their paths.
  std::vector<double> through(hops.size(), 0);
  std::vector<double> flow(topology.links().size(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    const NodeId node = order[i];
    if (node < topology.host_count()) through[at(node)] += amounts[at(node)];
    for (const LinkId link : topology.in_links(node)) {
      const NodeId from = topology.link(link).from;
      if (hops[at(from)] + 1 != hops[at(node)] || hops[at(from)] < 0) continue;
      flow[at(link)] = through[at(node)] * paths[at(from)] / paths[at(node)];
      through[at(from)] += flow[at(link)];
    }
  }
  return flow;
}

Result<Schedule> plan_ewsp(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, "ewsp");
  if (!network) return network.error();
  LinkClasses classes = flow_classes(*network, options);
  Result<std::vector<PairPaths>> pairs = candidate_paths(topology, {PathSet::Kind::shortest, 0}, classes.sources);
  const bool listed = pairs.ok();
  if (!listed) {
    pairs = std::vector<PairPaths>();
    for (const NodeId source : classes.sources) {
      std::vector<double> amounts(at(topology.host_count()), 0);
      for (NodeId to = 0; to < topology.host_count(); ++to) {
        if (to != source) amounts[at(to)] = share(options.demand, topology.host_count(), source, to);
      }
      std::vector<double> flow = equal_shortest_flow(topology, source, amounts);
      for (PairPaths& pair : extract_from_source(topology, source, std::move(flow), amounts)) {
        pairs->push_back(std::move(pair));
      }
    }
  }
  for (PairPaths& pair : *pairs) {
    for (WeightedPath& path : pair.paths) path.links = network_path(*network, topology, path.links);
  }
  FluidPlan plan;
  plan.flow = certified_flow(network->topology, std::move(classes), std::move(*pairs), {}, options.demand, deadline);
  plan.network = std::move(*network);
  plan.chunk_paths = ChunkPaths::weighted;
  if (options.figures != nullptr) {
    options.figures->more.emplace_back("paths", std::string(listed ? "all shortest" : "fewer, of equal loads"));
  }
  return lower_to_routes(topology, std::move(plan), options, "ewsp", deadline);
}

}  // namespace libcoll::flow::baseline
