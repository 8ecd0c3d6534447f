#include "planner/flow/paths/path_sets.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <deque>
#include <limits>
#include <string_view>
#include <utility>

#include "planner/base/index.h"
#include "planner/topology/facts.h"

namespace libcoll::flow::paths {

using namespace topology;

namespace {

using Paths = std::vector<std::vector<LinkId>>;

/// Minimum-cost flow of unit capacities by successive shortest paths (Suurballe's and Bhandari's method).
class DisjointPaths {
 public:
  DisjointPaths(const Topology& topology, std::span<const std::int64_t> lengths)
      : topology_(topology),
        cost_(at(topology.link_count()), cost_of_hop),
        use_(cost_.size(), 0),
        taken_(cost_.size()),
        closed_(cost_.size()) {
    if (lengths.empty()) return;
    // Links without a length are not free, so that paths stay short where lengths do not tell.
    constexpr double least = 0.05;
    double mean = 0;
    for (std::size_t i = 0; i < cost_.size(); ++i) mean += static_cast<double>(lengths[i]);
    mean = std::max(mean / static_cast<double>(cost_.size()), 1.0);
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      const double share = least + static_cast<double>(lengths[i]) / mean;
      cost_[i] = static_cast<std::int64_t>(share * static_cast<double>(cost_of_hop));
    }
  }

  /// Those of the pair beside `kept`, whose links they leave alone.
  Paths find(NodeId source, NodeId destination, std::span<const WeightedPath> kept = {}) {
    std::fill(taken_.begin(), taken_.end(), false);
    std::fill(closed_.begin(), closed_.end(), false);
    for (const WeightedPath& path : kept) {
      for (const LinkId link : path.links) closed_[at(link)] = true;
    }
    while (augment(source, destination)) {
    }
    Paths paths;
    for (const LinkId first : topology_.out_links(source)) {
      if (!taken_[at(first)]) continue;
      std::vector<LinkId>& path = paths.emplace_back(1, first);
      while (topology_.link(path.back()).to != destination) path.push_back(follow(topology_.link(path.back()).to));
    }
    for (const std::vector<LinkId>& path : paths) {
      for (const LinkId link : path) ++use_[at(link)];
    }
    return paths;
  }

 private:
  static constexpr std::int64_t cost_of_hop = std::int64_t{1} << 32;

  /// A link out of the node that carries flow; taken away with it, so that paths that meet part again.
  LinkId follow(NodeId node) {
    for (const LinkId link : topology_.out_links(node)) {
      if (!taken_[at(link)]) continue;
      taken_[at(link)] = false;
      return link;
    }
    return -1;
  }

  [[nodiscard]] std::int64_t cost(LinkId link) const { return cost_[at(link)] + use_[at(link)]; }

  /// One more path, by the cheapest way through the residual network (Bellman and Ford, with a queue).
  bool augment(NodeId source, NodeId destination) {
    constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> distance(at(topology_.node_count()), unreached);
    std::vector<LinkId> last(at(topology_.node_count()), -1);
    std::deque<NodeId> queue{source};
    distance[at(source)] = 0;
    const auto relax = [&](NodeId to, std::int64_t length, LinkId link) {
      if (length >= distance[at(to)]) return;
      distance[at(to)] = length;
      last[at(to)] = link;
      queue.push_back(to);
    };
    while (!queue.empty()) {
      const NodeId node = queue.front();
      queue.pop_front();
      for (const LinkId link : topology_.out_links(node)) {
        if (!taken_[at(link)] && !closed_[at(link)])
          relax(topology_.link(link).to, distance[at(node)] + cost(link), link);
      }
      for (const LinkId link : topology_.in_links(node)) {
        if (taken_[at(link)]) relax(topology_.link(link).from, distance[at(node)] - cost(link), link);
      }
    }
    if (distance[at(destination)] == unreached) return false;
    for (NodeId node = destination; node != source;) {
      const LinkId link = last[at(node)];
      const bool forward = topology_.link(link).to == node;
      taken_[at(link)] = forward;
      node = forward ? topology_.link(link).from : topology_.link(link).to;
    }
    return true;
  }

  const Topology& topology_;
  std::vector<std::int64_t> cost_;  ///< by link
  std::vector<std::int64_t> use_;   ///< paths found so far, by link
  std::vector<bool> taken_;         ///< by the flow of the pair at hand
  std::vector<bool> closed_;        ///< links of paths the pair has already
};

/// Leaves the heaviest path and those that share no link with one before; `used` is false throughout, as afterwards.
void drop_crossing_paths(std::vector<WeightedPath>& paths, std::vector<bool>& used) {
  std::stable_sort(paths.begin(), paths.end(),
                   [](const WeightedPath& a, const WeightedPath& b) { return a.weight > b.weight; });
  std::vector<WeightedPath> kept;
  double total = 0;
  for (WeightedPath& path : paths) {
    if (std::any_of(path.links.begin(), path.links.end(), [&](LinkId link) { return used[at(link)]; })) continue;
    for (const LinkId link : path.links) used[at(link)] = true;
    total += path.weight;
    kept.push_back(std::move(path));
  }
  for (WeightedPath& path : kept) {
    for (const LinkId link : path.links) used[at(link)] = false;
    path.weight /= total;
  }
  paths = std::move(kept);
}

std::vector<WeightedPath> equal_weights(Paths paths) {
  std::vector<WeightedPath> result;
  result.reserve(paths.size());
  for (std::vector<LinkId>& links : paths) {
    result.push_back({std::move(links), 1 / static_cast<double>(paths.size())});
  }
  return result;
}

/// All simple paths within a number of hops, by depth-first search that never strays too far from the destination.
class BoundedPaths {
 public:
  BoundedPaths(const Topology& topology, const DistanceMatrix& distance, std::size_t limit)
      : topology_(topology), distance_(distance), limit_(limit), visited_(at(topology.node_count()), false) {}

  /// At most limit + 1 paths, so that the caller can tell when there are too many.
  Paths find(NodeId source, NodeId destination, std::int32_t hops) {
    paths_.clear();
    search(source, destination, hops);
    return std::move(paths_);
  }

 private:
  void search(NodeId node, NodeId destination, std::int32_t hops) {
    if (paths_.size() > limit_) return;
    if (node == destination) {
      paths_.push_back(links_);
      return;
    }
    visited_[at(node)] = true;
    for (const LinkId link : topology_.out_links(node)) {
      const NodeId to = topology_.link(link).to;
      const std::int32_t rest = distance_[at(to)][at(destination)];
      if (visited_[at(to)] || rest < 0 || rest + 1 > hops) continue;
      links_.push_back(link);
      search(to, destination, hops - 1);
      links_.pop_back();
    }
    visited_[at(node)] = false;
  }

  const Topology& topology_;
  const DistanceMatrix& distance_;
  std::size_t limit_;
  std::vector<bool> visited_;
  std::vector<LinkId> links_;
  Paths paths_;
};

std::string pair_text(const Topology& topology, NodeId source, NodeId destination) {
  return "from node '" + topology.node(source).name + "' to node '" + topology.node(destination).name + "'";
}

}  // namespace

Result<PathSet> parse_path_set(const std::string& text) {
  if (text.empty() || text == "disjoint") return PathSet{};
  if (text == "shortest") return PathSet{PathSet::Kind::shortest, 0};
  constexpr std::string_view all = "all:";
  if (text.starts_with(all)) {
    std::int32_t length = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + all.size(), end, length);
    if (error == std::errc() && stop == end && length > 0) return PathSet{PathSet::Kind::all, length};
  }
  return Error{"found path set '" + text + "', expected disjoint, shortest or all:LENGTH with a length above 0"};
}

Result<std::vector<PairPaths>> candidate_paths(const Topology& topology, const PathSet& set,
                                               std::span<const NodeId> sources, std::span<const std::int64_t> lengths) {
  const DistanceMatrix distance = hop_distances(topology);
  DisjointPaths disjoint(topology, lengths);
  BoundedPaths bounded(topology, distance, static_cast<std::size_t>(max_candidate_paths));
  std::vector<PairPaths> pairs;
  std::int64_t total = 0;
  for (const NodeId source : sources) {
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      if (destination == source) continue;
      const std::int32_t hops = distance[at(source)][at(destination)];
      if (set.kind == PathSet::Kind::all && hops > set.length) {
        return Error{"there is no path " + pair_text(topology, source, destination) + " of at most " +
                     std::to_string(set.length) + " hops, expected a length of at least " + std::to_string(hops)};
      }
      Paths paths = set.kind == PathSet::Kind::disjoint
                        ? disjoint.find(source, destination)
                        : bounded.find(source, destination, set.kind == PathSet::Kind::all ? set.length : hops);
      total += static_cast<std::int64_t>(paths.size());
      if (total > max_candidate_paths) {
        return Error{"the path sets of " + topology.name() + " have more than " + std::to_string(max_candidate_paths) +
                     " paths: use link-disjoint ones or shorter ones"};
      }
      PairPaths& pair = pairs.emplace_back();
      pair.source = source;
      pair.destination = destination;
      pair.paths = equal_weights(std::move(paths));
    }
  }
  return pairs;
}

std::vector<PairPaths> disjoint_sets_around(const Topology& topology, std::vector<PairPaths> flow) {
  DisjointPaths disjoint(topology, {});
  std::vector<bool> used(at(topology.link_count()), false);
  for (PairPaths& pair : flow) {
    drop_crossing_paths(pair.paths, used);
    for (std::vector<LinkId>& links : disjoint.find(pair.source, pair.destination, pair.paths)) {
      pair.paths.push_back({std::move(links), 0});
    }
  }
  return flow;
}

}  // namespace libcoll::flow::paths
