#include "planner/topology/random_regular.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "planner/base/index.h"

namespace libcoll::topology {
namespace {

using Edge = std::pair<NodeId, NodeId>;

constexpr int most_attempts = 10'000;             // degree 2 is connected least often: about once in √N attempts
constexpr std::size_t switches_per_fault = 1000;  // then the pairing is drawn anew

/// SplitMix64 (Steele, Lea, Flood 2014): a counter whose bits are mixed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform in 0..limit−1. What would favour small numbers is drawn again.
  std::size_t below(std::size_t limit) {
    const std::uint64_t whole = UINT64_MAX - UINT64_MAX % limit;
    std::uint64_t drawn = next();
    while (drawn >= whole) drawn = next();
    return drawn % limit;
  }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

Edge ordered(NodeId a, NodeId b) { return a < b ? Edge(a, b) : Edge(b, a); }

/// A simple graph in the making.
class GraphDraft {
 public:
  bool try_add(const Edge& edge) {
    if (edge.first == edge.second || !set_.insert(edge).second) return false;
    edges_.push_back(edge);
    return true;
  }

  /// Takes a random cable away and joins its ends with those of `fault`, which is no cable of a simple graph.
  bool try_switch(const Edge& fault, Random& random) {
    if (edges_.empty()) return false;
    Edge& chosen = edges_[random.below(edges_.size())];
    const bool crossed = random.below(2) == 1;
    const Edge one = ordered(fault.first, crossed ? chosen.second : chosen.first);
    const Edge other = ordered(fault.second, crossed ? chosen.first : chosen.second);
    if (one.first == one.second || other.first == other.second || one == other) return false;
    if (set_.count(one) != 0 || set_.count(other) != 0) return false;
    set_.erase(chosen);
    set_.insert({one, other});
    chosen = one;
    edges_.push_back(other);
    return true;
  }

  [[nodiscard]] const std::set<Edge>& edges() const { return set_; }

 private:
  std::set<Edge> set_;
  std::vector<Edge> edges_;  ///< the same, to draw from
};

/// Every node's cable ends in random order, joined two by two.
std::vector<Edge> pairing(std::int32_t nodes, std::int32_t degree, Random& random) {
  std::vector<NodeId> ends;
  for (NodeId node = 0; node < nodes; ++node) ends.insert(ends.end(), at(degree), node);
  for (std::size_t i = ends.size(); i > 1; --i) std::swap(ends[i - 1], ends[random.below(i)]);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) edges.push_back(ordered(ends[i], ends[i + 1]));
  return edges;
}

/// Nothing when a fault withstands the switches.
std::optional<std::set<Edge>> draw(std::int32_t nodes, std::int32_t degree, Random& random) {
  GraphDraft draft;
  std::vector<Edge> faults;
  for (const Edge& edge : pairing(nodes, degree, random)) {
    if (!draft.try_add(edge)) faults.push_back(edge);
  }
  for (const Edge& fault : faults) {
    std::size_t tries = 0;
    while (!draft.try_switch(fault, random)) {
      if (++tries == switches_per_fault) return std::nullopt;
    }
  }
  return draft.edges();
}

std::set<Edge> complement(std::int32_t nodes, const std::set<Edge>& edges) {
  std::set<Edge> others;
  for (NodeId a = 0; a < nodes; ++a) {
    for (NodeId b = a + 1; b < nodes; ++b) {
      if (edges.count({a, b}) == 0) others.emplace_hint(others.end(), a, b);
    }
  }
  return others;
}

bool connected(std::int32_t nodes, const std::set<Edge>& edges) {
  std::vector<std::vector<NodeId>> neighbours(at(nodes));
  for (const auto& [a, b] : edges) {
    neighbours[at(a)].push_back(b);
    neighbours[at(b)].push_back(a);
  }
  std::vector<bool> seen(at(nodes), false);
  std::vector<NodeId> queue{0};
  seen[0] = true;
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    for (const NodeId next : neighbours[at(queue[taken])]) {
      if (seen[at(next)]) continue;
      seen[at(next)] = true;
      queue.push_back(next);
    }
  }
  return queue.size() == at(nodes);
}

}  // namespace

std::optional<std::vector<Edge>> random_regular_edges(std::int32_t nodes, std::int32_t degree, std::uint64_t seed) {
  Random random(seed);
  const bool dense = 2 * std::int64_t{degree} > nodes - 1;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::optional<std::set<Edge>> edges = draw(nodes, dense ? nodes - 1 - degree : degree, random);
    if (edges && dense) edges = complement(nodes, *edges);
    if (edges && connected(nodes, *edges)) return std::vector<Edge>(edges->begin(), edges->end());
  }
  return std::nullopt;
}

}  // namespace libcoll::topology
