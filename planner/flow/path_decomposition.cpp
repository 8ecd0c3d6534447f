#include "planner/flow/path_decomposition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "planner/flow/link_classes.h"
#include "planner/flow/run_on_threads.h"
#include "planner/index.h"

namespace libcoll {
namespace {

// Demands are 1, so these are relative to a pair's data: what is below is noise of the LP solver.
constexpr double least_flow = 1e-9;
constexpr double least_weight = 1e-7;
constexpr std::size_t least_sources_for_threads = 64;

void rescale(std::vector<WeightedPath>& paths) {
  double total = 0;
  for (const WeightedPath& path : paths) total += path.weight;
  for (WeightedPath& path : paths) path.weight /= total;
}

FlowProblem graph_of(const Topology& topology) { return flow_problem(topology, source_orbits(topology, {})); }

void in_problem_order(const FlowProblem& problem, const std::vector<double>& by_id, std::vector<double>& flow) {
  flow.resize(problem.links());
  for (std::size_t link = 0; link < flow.size(); ++link) flow[link] = by_id[at(problem.link_id[link])];
}

}  // namespace

PathDecomposition::PathDecomposition(const FlowProblem& problem) : problem_(problem), cycles_(problem) {}

std::vector<PairPaths> PathDecomposition::split(NodeId source, std::vector<double> flow) {
  std::vector<PairPaths> pairs(at(problem_.hosts - 1));
  split_into(source, flow, pairs);
  return pairs;
}

void PathDecomposition::split_into(NodeId source, std::vector<double>& flow, std::span<PairPaths> pairs) {
  for (double& amount : flow) amount = amount > least_flow ? amount : 0;
  // Flow back into the source is part of a cycle by definition.
  std::fill(flow.begin() + problem_.in_begin[at(source)], flow.begin() + problem_.in_begin[at(source) + 1], 0.0);
  cycles_.run(source, flow, order_);
  if (order_.size() < at(problem_.nodes)) {
    // What flows where the source's own flow does not come is noise, and could go round in circles.
    std::vector<bool> reached(at(problem_.nodes), false);
    for (const NodeId node : order_) reached[at(node)] = true;
    for (std::size_t link = 0; link < flow.size(); ++link) {
      if (!reached[at(problem_.from[link])]) flow[link] = 0;
    }
  }

  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto host = static_cast<NodeId>(i);
    pairs[i].source = source;
    pairs[i].destination = host < source ? host : host + 1;
  }
  const auto pair_of = [&](NodeId host) -> PairPaths& { return pairs[at(host) - (host > source ? 1 : 0)]; };
  // Against the flow: what reaches a host is its own once those behind it have theirs.
  for (std::size_t i = order_.size(); i-- > 1;) {
    if (order_[i] >= problem_.hosts) continue;
    pair_of(order_[i]).paths = peel(source, order_[i], flow);
  }
  for (PairPaths& pair : pairs) {
    if (pair.paths.empty()) pair.paths.push_back({shortest_path(source, pair.destination), 1});
    rescale(pair.paths);
  }
}

/// One unit to the destination, as far as the flow brings it.
std::vector<WeightedPath> PathDecomposition::peel(NodeId source, NodeId destination, std::vector<double>& flow) {
  std::vector<WeightedPath> paths;
  double wanted = 1;
  while (wanted > least_weight && walk_back(source, destination, flow)) {
    double amount = wanted;
    for (const std::int32_t link : walk_) amount = std::min(amount, flow[at(link)]);
    for (const std::int32_t link : walk_) {
      flow[at(link)] = flow[at(link)] - amount > least_flow ? flow[at(link)] - amount : 0;
    }
    wanted -= amount;
    std::vector<LinkId> links = walked();
    const auto same =
        std::find_if(paths.begin(), paths.end(), [&](const WeightedPath& path) { return path.links == links; });
    if (same != paths.end()) {
      same->weight += amount;
    } else {
      paths.push_back({std::move(links), amount});
    }
  }
  if (paths.size() == 1 && paths.front().weight > least_weight) return paths;
  std::erase_if(paths, [](const WeightedPath& path) { return path.weight <= least_weight; });
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.links < b.links; });
  // A plan may hold millions of paths.
  paths.shrink_to_fit();
  return paths;
}

std::int32_t PathDecomposition::largest_inflow(NodeId node, const std::vector<double>& flow) const {
  std::int32_t largest = -1;
  double most = 0;
  for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
    if (flow[at(link)] <= most) continue;
    most = flow[at(link)];
    largest = link;
  }
  return largest;
}

/// walk_: a path of positive flow from the destination back to the source. False where there is none. Where noise
/// ends a walk before the source, the link that led there is a dead end and is emptied.
bool PathDecomposition::walk_back(NodeId source, NodeId destination, std::vector<double>& flow) {
  walk_.clear();
  NodeId node = destination;
  while (node != source) {
    const std::int32_t link = largest_inflow(node, flow);
    if (link >= 0) {
      walk_.push_back(link);
      node = problem_.from[at(link)];
    } else if (walk_.empty()) {
      return false;
    } else {
      flow[at(walk_.back())] = 0;
      node = problem_.to[at(walk_.back())];
      walk_.pop_back();
    }
  }
  return true;
}

/// walk_ from the source on, in the topology's ids.
std::vector<LinkId> PathDecomposition::walked() const {
  std::vector<LinkId> links(walk_.size());
  std::transform(walk_.rbegin(), walk_.rend(), links.begin(),
                 [&](std::int32_t link) { return problem_.link_id[at(link)]; });
  return links;
}

/// By breadth-first search.
std::vector<LinkId> PathDecomposition::shortest_path(NodeId source, NodeId destination) const {
  std::vector<std::int32_t> last(at(problem_.nodes), -1);
  std::vector<NodeId> queue{source};
  for (std::size_t head = 0; head < queue.size() && last[at(destination)] < 0; ++head) {
    for (std::int32_t k = problem_.out_begin[at(queue[head])]; k < problem_.out_begin[at(queue[head]) + 1]; ++k) {
      const std::int32_t link = problem_.out_link[at(k)];
      const NodeId to = problem_.to[at(link)];
      if (to == source || last[at(to)] >= 0) continue;
      last[at(to)] = link;
      queue.push_back(to);
    }
  }
  std::vector<LinkId> links;
  for (NodeId node = destination; node != source; node = problem_.from[at(last[at(node)])]) {
    links.push_back(problem_.link_id[at(last[at(node)])]);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

std::vector<PairPaths> decompose(const Topology& topology, NodeId source, const std::vector<double>& flow) {
  const FlowProblem graph = graph_of(topology);
  std::vector<double> in_order;
  in_problem_order(graph, flow, in_order);
  return PathDecomposition(graph).split(source, std::move(in_order));
}

std::vector<PairPaths> decompose(const Topology& topology, std::span<const NodeId> sources,
                                 const std::vector<std::vector<double>>& flow, std::int32_t threads) {
  const FlowProblem graph = graph_of(topology);
  const std::size_t others = at(topology.host_count() - 1);
  std::vector<PairPaths> pairs(sources.size() * others);
  const std::int32_t workers = sources.size() < least_sources_for_threads ? 1 : std::max(1, threads);
  run_on_threads(workers, [&](std::int32_t worker) {
    PathDecomposition decomposition(graph);
    std::vector<double> in_order;
    for (std::size_t i = at(worker); i < sources.size(); i += at(workers)) {
      in_problem_order(graph, flow[i], in_order);
      decomposition.split_into(sources[i], in_order, std::span(pairs).subspan(i * others, others));
    }
  });
  return pairs;
}

}  // namespace libcoll
