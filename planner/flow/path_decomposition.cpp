#include "planner/flow/path_decomposition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "planner/index.h"

namespace libcoll {
namespace {

// Demands are 1, so these are relative to a pair's data: what is below is noise of the LP solver.
constexpr double least_flow = 1e-9;
constexpr double least_weight = 1e-7;

/// Finds cycles of positive flow by depth-first search and takes their least flow away until none is left.
class CycleCanceller {
 public:
  CycleCanceller(const Topology& topology, std::vector<double>& flow)
      : topology_(topology), flow_(flow), state_(at(topology.node_count()), State::unseen) {}

  void run() {
    for (NodeId node = 0; node < topology_.node_count(); ++node) {
      if (state_[at(node)] == State::unseen) search_from(node);
    }
  }

 private:
  enum class State : std::uint8_t { unseen, on_path, done };

  void search_from(NodeId start) {
    path_.clear();
    NodeId node = start;
    state_[at(node)] = State::on_path;
    for (;;) {
      const LinkId link = next_link(node);
      if (link >= 0) {
        path_.push_back(link);
        const NodeId to = topology_.link(link).to;
        node = state_[at(to)] == State::on_path ? cancel(to) : to;
        state_[at(node)] = State::on_path;
        continue;
      }
      state_[at(node)] = State::done;
      if (path_.empty()) return;
      node = topology_.link(path_.back()).from;
      path_.pop_back();
    }
  }

  [[nodiscard]] LinkId next_link(NodeId node) const {
    for (const LinkId link : topology_.out_links(node)) {
      if (flow_[at(link)] > 0 && state_[at(topology_.link(link).to)] != State::done) return link;
    }
    return -1;
  }

  /// The path ends in `node`, which it has met before: cancels that cycle and steps back to the tail of its first
  /// emptied link, which is returned.
  NodeId cancel(NodeId node) {
    std::size_t first = path_.size() - 1;
    while (topology_.link(path_[first]).from != node) --first;
    double least = flow_[at(path_[first])];
    for (std::size_t i = first; i < path_.size(); ++i) least = std::min(least, flow_[at(path_[i])]);
    std::size_t emptied = path_.size();
    for (std::size_t i = path_.size(); i-- > first;) {
      double& flow = flow_[at(path_[i])];
      flow -= least;
      if (flow > least_flow) continue;
      flow = 0;
      emptied = i;
    }
    const NodeId tail = topology_.link(path_[emptied]).from;
    for (std::size_t i = emptied; i < path_.size(); ++i) state_[at(topology_.link(path_[i]).to)] = State::unseen;
    // The cycle's entry may be the head of the last link; it stays on the path.
    state_[at(node)] = State::on_path;
    path_.resize(emptied);
    return tail;
  }

  const Topology& topology_;
  std::vector<double>& flow_;
  std::vector<State> state_;
  std::vector<LinkId> path_;
};

/// Hops from the source, and the last link of a shortest path (-1: none), by node.
struct ShortestTree {
  std::vector<std::int32_t> hops;
  std::vector<LinkId> last_link;
};

ShortestTree shortest_tree(const Topology& topology, NodeId source) {
  ShortestTree tree{std::vector<std::int32_t>(at(topology.node_count()), -1),
                    std::vector<LinkId>(at(topology.node_count()), -1)};
  std::vector<NodeId> queue{source};
  tree.hops[at(source)] = 0;
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    for (const LinkId link : topology.out_links(queue[taken])) {
      const NodeId to = topology.link(link).to;
      if (tree.hops[at(to)] >= 0) continue;
      tree.hops[at(to)] = tree.hops[at(queue[taken])] + 1;
      tree.last_link[at(to)] = link;
      queue.push_back(to);
    }
  }
  return tree;
}

std::vector<LinkId> shortest_path(const Topology& topology, const ShortestTree& tree, NodeId destination) {
  std::vector<LinkId> links;
  for (NodeId node = destination; tree.last_link[at(node)] >= 0; node = topology.link(links.back()).from) {
    links.push_back(tree.last_link[at(node)]);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

/// Takes paths off an acyclic single-source flow.
class Peeler {
 public:
  Peeler(const Topology& topology, NodeId source, std::vector<double>& flow)
      : topology_(topology), source_(source), flow_(flow) {}

  /// One unit to the destination, as far as the flow brings it.
  std::vector<WeightedPath> peel(NodeId destination) {
    std::vector<WeightedPath> paths;
    double wanted = 1;
    while (wanted > least_weight && walk_back(destination)) {
      double amount = wanted;
      for (const LinkId link : walk_) amount = std::min(amount, flow_[at(link)]);
      for (const LinkId link : walk_) take(link, amount);
      wanted -= amount;
      const auto same = std::find_if(paths.begin(), paths.end(), [&](const WeightedPath& path) {
        return std::equal(path.links.begin(), path.links.end(), walk_.rbegin(), walk_.rend());
      });
      if (same != paths.end()) {
        same->weight += amount;
      } else {
        // Of the right size: a plan may hold millions of paths.
        paths.push_back({{walk_.rbegin(), walk_.rend()}, amount});
      }
    }
    if (paths.size() == 1 && paths.front().weight > least_weight) return paths;
    paths.erase(
        std::remove_if(paths.begin(), paths.end(), [](const auto& path) { return path.weight <= least_weight; }),
        paths.end());
    std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.links < b.links; });
    paths.shrink_to_fit();
    return paths;
  }

 private:
  void take(LinkId link, double amount) {
    double& flow = flow_[at(link)];
    flow = flow - amount > least_flow ? flow - amount : 0;
  }

  [[nodiscard]] LinkId largest_inflow(NodeId node) const {
    LinkId largest = -1;
    for (const LinkId link : topology_.in_links(node)) {
      if (flow_[at(link)] > 0 && (largest < 0 || flow_[at(link)] > flow_[at(largest)])) largest = link;
    }
    return largest;
  }

  /// walk_: a path of positive flow from the destination back to the source. False where there is none. Where noise
  /// ends a walk before the source, the link that led there is a dead end and is emptied.
  bool walk_back(NodeId destination) {
    walk_.clear();
    NodeId node = destination;
    while (node != source_) {
      const LinkId link = largest_inflow(node);
      if (link >= 0) {
        walk_.push_back(link);
        node = topology_.link(link).from;
      } else if (walk_.empty()) {
        return false;
      } else {
        flow_[at(walk_.back())] = 0;
        node = topology_.link(walk_.back()).to;
        walk_.pop_back();
      }
    }
    return true;
  }

  const Topology& topology_;
  NodeId source_;
  std::vector<double>& flow_;
  std::vector<LinkId> walk_;
};

void rescale(std::vector<WeightedPath>& paths) {
  double total = 0;
  for (const WeightedPath& path : paths) total += path.weight;
  for (WeightedPath& path : paths) path.weight /= total;
}

}  // namespace

std::vector<PairPaths> decompose(const Topology& topology, NodeId source, std::vector<double> flow) {
  for (double& amount : flow) amount = amount > least_flow ? amount : 0;
  // Flow back into the source is part of a cycle by definition.
  for (const LinkId link : topology.in_links(source)) flow[at(link)] = 0;
  CycleCanceller(topology, flow).run();

  std::vector<PairPaths> pairs;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    if (host != source) pairs.push_back({source, host, {}});
  }
  const ShortestTree tree = shortest_tree(topology, source);
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  // Far destinations have the fewest alternatives left to them by the others.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tree.hops[at(pairs[a].destination)] > tree.hops[at(pairs[b].destination)];
  });
  Peeler peeler(topology, source, flow);
  for (const std::size_t i : order) {
    pairs[i].paths = peeler.peel(pairs[i].destination);
    if (pairs[i].paths.empty()) pairs[i].paths.push_back({shortest_path(topology, tree, pairs[i].destination), 1});
    rescale(pairs[i].paths);
  }
  return pairs;
}

}  // namespace libcoll
