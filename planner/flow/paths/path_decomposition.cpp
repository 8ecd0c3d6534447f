#include "planner/flow/paths/path_decomposition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/run_on_threads.h"
#include "planner/flow/problem/link_classes.h"

namespace libcoll::flow::paths {

using namespace problem;
using namespace topology;

namespace {

constexpr double least_weight = 1e-7;  // of a pair's data: what is below is noise, as least_flow is
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

PathDecomposition::PathDecomposition(const FlowProblem& problem, WholeUnits* whole_units)
    : problem_(problem),
      whole_units_(whole_units),
      cycles_(problem),
      outflows_(at(problem.nodes)),
      queued_(at(problem.nodes)) {}

std::vector<PairPaths> PathDecomposition::split(NodeId source, std::vector<double> flow) {
  std::vector<PairPaths> pairs(at(problem_.hosts - 1));
  split_into(source, flow, pairs);
  return pairs;
}

void PathDecomposition::split_into(NodeId source, std::vector<double>& flow, std::span<PairPaths> pairs) {
  start(source, flow);
  for (std::size_t head = 0; head + 1 < at(problem_.nodes); ++head) {
    // Where every node that is left has outflow, some of it goes round in circles.
    if (head == ready_.size()) cancel_cycles(flow);
    const NodeId node = ready_[head];
    if (node < problem_.hosts) {
      PairPaths& pair = pairs[at(node) - (node > source ? 1 : 0)];
      pair.source = source;
      pair.destination = node;
      peel(node, flow, pair.paths);
    }
    drop_inflow(node, flow);
  }
}

void PathDecomposition::start(NodeId source, std::vector<double>& flow) {
  source_ = source;
  if (whole_units_ != nullptr) whole_units_->start(source);
  for (double& amount : flow) amount = amount > least_flow ? amount : 0;
  // Flow back into the source is part of a cycle by definition.
  std::fill(flow.begin() + problem_.in_begin[at(source)], flow.begin() + problem_.in_begin[at(source) + 1], 0.0);
  inflow_.assign(at(problem_.nodes), -1);
  std::fill(queued_.begin(), queued_.end(), std::uint8_t{0});
  queued_[at(source)] = 1;
  ready_.clear();
  count_outflows(flow);
}

/// outflows_, and the nodes that have none.
void PathDecomposition::count_outflows(const std::vector<double>& flow) {
  std::fill(outflows_.begin(), outflows_.end(), 0);
  for (std::size_t link = 0; link < flow.size(); ++link) outflows_[at(problem_.from[link])] += flow[link] > 0 ? 1 : 0;
  for (NodeId node = 0; node < problem_.nodes; ++node) {
    if (outflows_[at(node)] > 0 || queued_[at(node)] != 0) continue;
    queued_[at(node)] = 1;
    ready_.push_back(node);
  }
}

/// Leaves no cycle, and no flow where the source's own does not come: that is noise, and could go round in circles.
void PathDecomposition::cancel_cycles(std::vector<double>& flow) {
  cycles_.run(source_, flow, order_);
  if (order_.size() < at(problem_.nodes)) {
    std::vector<bool> reached(at(problem_.nodes), false);
    for (const NodeId node : order_) reached[at(node)] = true;
    for (std::size_t link = 0; link < flow.size(); ++link) {
      if (!reached[at(problem_.from[link])]) flow[link] = 0;
    }
  }
  count_outflows(flow);
}

void PathDecomposition::empty(std::int32_t link, std::vector<double>& flow) {
  flow[at(link)] = 0;
  const NodeId from = problem_.from[at(link)];
  if (--outflows_[at(from)] > 0 || queued_[at(from)] != 0) return;
  queued_[at(from)] = 1;
  ready_.push_back(from);
}

/// What reaches a node beyond what it and those behind it need.
void PathDecomposition::drop_inflow(NodeId node, std::vector<double>& flow) {
  for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
    if (flow[at(link)] > 0) empty(link, flow);
  }
}

/// One unit to the destination, as far as the flow brings it. No two of its paths are the same, as each empties a link.
void PathDecomposition::peel(NodeId destination, std::vector<double>& flow, std::vector<WeightedPath>& paths) {
  peeled_.clear();
  double wanted = 1;
  while (wanted > least_weight && walk_back(destination, wanted, flow)) {
    const double amount = take_walk(wanted, flow);
    wanted -= amount;
    if (amount > least_weight) peeled_.push_back({walked(), amount});
  }
  if (peeled_.empty()) peeled_.push_back({shortest_path(destination), 1});
  if (peeled_.size() > 1) {
    std::sort(peeled_.begin(), peeled_.end(), [](const auto& a, const auto& b) { return a.links < b.links; });
  }
  rescale(peeled_);
  // Memory for just so many, as a plan may hold millions.
  paths.reserve(peeled_.size());
  for (WeightedPath& path : peeled_) paths.push_back(std::move(path));
}

/// Off the flow on the walk's links: what is wanted, or what they have.
double PathDecomposition::take_walk(double wanted, std::vector<double>& flow) {
  double amount = wanted;
  for (const std::int32_t link : walk_) amount = std::min(amount, flow[at(link)]);
  if (amount <= 0) return 0;  // on a cycle, whole units can be gathered from the walk itself
  for (const std::int32_t link : walk_) {
    flow[at(link)] -= amount;
    if (flow[at(link)] <= least_flow) empty(link, flow);
  }
  return amount;
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

/// The largest, after it was made as large as is wanted where that can be.
std::int32_t PathDecomposition::inflow_of(NodeId node, double wanted, std::vector<double>& flow) {
  const std::int32_t largest = largest_inflow(node, flow);
  if (whole_units_ == nullptr || largest < 0 || flow[at(largest)] >= wanted - least_weight) return largest;
  const std::int32_t gathered = whole_units_->gather(node, wanted, flow);
  for (const std::int32_t link : whole_units_->emptied()) empty(link, flow);
  return gathered;
}

/// walk_: a path of positive flow from the destination back to the source, by links that carry what is wanted where
/// there are any. False where there is no path. Where noise ends a walk before the source, the link that led there is a
/// dead end and is emptied.
bool PathDecomposition::walk_back(NodeId destination, double wanted, std::vector<double>& flow) {
  walk_.clear();
  NodeId node = destination;
  while (node != source_) {
    std::int32_t& link = inflow_[at(node)];
    if (link < 0 || flow[at(link)] < wanted) link = inflow_of(node, wanted, flow);
    if (link >= 0) {
      walk_.push_back(link);
      node = problem_.from[at(link)];
      // Every node has one way back, so that a walk that meets a node again never ends.
      if (walk_.size() < at(problem_.nodes)) continue;
      cancel_cycles(flow);
      walk_.clear();
      node = destination;
    } else if (walk_.empty()) {
      return false;
    } else {
      node = problem_.to[at(walk_.back())];
      empty(walk_.back(), flow);
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
std::vector<LinkId> PathDecomposition::shortest_path(NodeId destination) const {
  std::vector<std::int32_t> last(at(problem_.nodes), -1);
  std::vector<NodeId> queue{source_};
  for (std::size_t head = 0; head < queue.size() && last[at(destination)] < 0; ++head) {
    for (std::int32_t k = problem_.out_begin[at(queue[head])]; k < problem_.out_begin[at(queue[head]) + 1]; ++k) {
      const std::int32_t link = problem_.out_link[at(k)];
      const NodeId to = problem_.to[at(link)];
      if (to == source_ || last[at(to)] >= 0) continue;
      last[at(to)] = link;
      queue.push_back(to);
    }
  }
  std::vector<LinkId> links;
  for (NodeId node = destination; node != source_; node = problem_.from[at(last[at(node)])]) {
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

std::vector<PairPaths> decompose_into_whole_units(const FlowProblem& problem, double most_load,
                                                  std::vector<std::vector<double>>& flow) {
  const std::size_t others = at(problem.hosts - 1);
  std::vector<PairPaths> pairs(problem.sources.size() * others);
  WholeUnits whole_units(problem, most_load, flow);
  PathDecomposition decomposition(problem, &whole_units);
  for (std::size_t i = 0; i < flow.size(); ++i) {
    decomposition.split_into(problem.sources[i], flow[i], std::span(pairs).subspan(i * others, others));
  }
  return pairs;
}

}  // namespace libcoll::flow::paths
