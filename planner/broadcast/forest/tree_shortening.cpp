#include "planner/broadcast/forest/tree_shortening.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace topology;

namespace {

constexpr std::int32_t no_arc = -1;
constexpr std::int64_t work_per_edge = 300;  // comparisons for each edge of a tree, all told

/// A tree by host: the arc it comes in over, how deep it is, and what hangs on it.
class HostTree {
 public:
  HostTree(const OutTree& tree, std::span<const CapacityArc> arcs)
      : arcs_(arcs),
        root_(tree.root),
        in_(tree.edges.size() + 1, no_arc),
        depth_(in_.size(), 0),
        below_(in_.size()),
        depths_below_(in_.size()) {
    for (const TreeEdge& edge : tree.edges) {
      in_[at(arcs[at(edge.arc)].to)] = edge.arc;
      order_.push_back(arcs[at(edge.arc)].to);
    }
    sum_up();
  }

  [[nodiscard]] std::int32_t in(NodeId host) const { return in_[at(host)]; }
  [[nodiscard]] std::int32_t depth(NodeId host) const { return depth_[at(host)]; }

  /// What entering `host` over another arc, from a host at this depth, adds to Σ depth².
  [[nodiscard]] std::int64_t cost(NodeId host, std::int32_t tail_depth) const {
    const std::int64_t deeper = tail_depth + 1 - depth_[at(host)];
    return deeper * (2 * depths_below_[at(host)] + deeper * below_[at(host)]);
  }

  /// Whether the way from the root to `node` leads through `host`.
  [[nodiscard]] bool leads_through(NodeId node, NodeId host) const {
    while (depth_[at(node)] > depth_[at(host)]) node = arcs_[at(in_[at(node)])].from;
    return node == host;
  }

  /// Precondition: the arc's tail is not below the host.
  void enter_over(NodeId host, std::int32_t arc) {
    in_[at(host)] = arc;
    sum_up();
  }

  /// In order of depth, and of hosts.
  [[nodiscard]] std::vector<TreeEdge> edges() const {
    std::vector<TreeEdge> edges;
    edges.reserve(order_.size());
    for (const NodeId host : order_) edges.push_back({in_[at(host)], depth_[at(host)]});
    return edges;
  }

 private:
  void sum_up() {
    std::vector<std::int32_t>& known = depth_;
    std::fill(known.begin(), known.end(), no_arc);
    known[at(root_)] = 0;
    std::vector<NodeId> way;
    for (NodeId host = 0; host < static_cast<NodeId>(in_.size()); ++host) {
      for (NodeId node = host; known[at(node)] == no_arc; node = arcs_[at(in_[at(node)])].from) way.push_back(node);
      for (; !way.empty(); way.pop_back()) {
        known[at(way.back())] = known[at(arcs_[at(in_[at(way.back())])].from)] + 1;
      }
    }
    sort_by_depth();
    std::fill(below_.begin(), below_.end(), 1);
    for (std::size_t host = 0; host < in_.size(); ++host) depths_below_[host] = depth_[host];
    for (std::size_t i = order_.size(); i > 0; --i) {
      const NodeId host = order_[i - 1];
      const NodeId parent = arcs_[at(in_[at(host)])].from;
      below_[at(parent)] += below_[at(host)];
      depths_below_[at(parent)] += depths_below_[at(host)];
    }
  }

  /// By counting: this is done for every step of the search.
  void sort_by_depth() {
    std::vector<std::size_t> begin(in_.size() + 1, 0);
    for (const std::int32_t depth : depth_) ++begin[at(depth) + 1];
    for (std::size_t depth = 1; depth < begin.size(); ++depth) begin[depth] += begin[depth - 1];
    for (NodeId host = 0; host < static_cast<NodeId>(in_.size()); ++host) {
      if (host != root_) order_[begin[at(depth_[at(host)])]++ - 1] = host;  // the root is the one of depth 0
    }
  }

  std::span<const CapacityArc> arcs_;
  NodeId root_;
  std::vector<std::int32_t> in_;
  std::vector<std::int32_t> depth_;
  std::vector<std::int64_t> below_;         ///< hosts that hang on a host, itself included
  std::vector<std::int64_t> depths_below_;  ///< Σ of their depths
  std::vector<NodeId> order_;               ///< all hosts but the root, by depth
};

class Shortening {
 public:
  Shortening(std::span<const CapacityArc> arcs, std::vector<OutTree>& trees, const Deadline& deadline)
      : arcs_(arcs), trees_(trees), deadline_(deadline), room_(arcs.size(), 0), users_(arcs.size()) {
    most_trees_ = growth * trees.size();
    for (std::size_t arc = 0; arc < arcs.size(); ++arc) {
      room_[arc] = arcs[arc].capacity;
      if (at(arcs[arc].to) >= in_.size()) in_.resize(at(arcs[arc].to) + 1);
      in_[at(arcs[arc].to)].push_back(static_cast<std::int32_t>(arc));
    }
    for (std::size_t tree = 0; tree < trees.size(); ++tree) {
      shapes_.emplace_back(trees[tree], arcs);
      for (const TreeEdge& edge : trees[tree].edges) {
        room_[at(edge.arc)] -= trees[tree].count;
        users_[at(edge.arc)].push_back(tree);
      }
      work_ += work_per_edge * static_cast<std::int64_t>(trees[tree].edges.size());
    }
    for (std::int64_t& room : room_) room = std::max<std::int64_t>(room, 0);
  }

  void run() {
    bool changed = true;
    while (changed && !over()) {
      changed = false;
      for (NodeId host = 0; host < static_cast<NodeId>(in_.size()); ++host) {
        for (std::size_t tree = 0; tree < trees_.size() && !over(); ++tree) {
          if (trees_[tree].root != host && shapes_[tree].depth(host) > 1) changed = improve(tree, host) || changed;
        }
      }
    }
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) trees_[tree].edges = shapes_[tree].edges();
    unite();
  }

 private:
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  static constexpr std::size_t growth = 4;  // times as many trees at most

  struct Step {
    std::int64_t cost = 0;   ///< what it adds to Σ count·depth²
    std::int64_t count = 0;  ///< copies that take it
    std::int32_t arc = no_arc;
    std::size_t partner = nobody;  ///< the tree that gives its arc up
  };

  [[nodiscard]] bool over() const { return work_ <= 0 || deadline_.passed(); }

  /// The best step that brings the host nearer to the tree's root, if one is worth it.
  bool improve(std::size_t tree, NodeId host) {
    Step best;
    for (const std::int32_t arc : in_[at(host)]) {
      --work_;
      const NodeId tail = arcs_[at(arc)].from;
      // What is below the host is deeper, too.
      if (shapes_[tree].depth(tail) + 1 >= shapes_[tree].depth(host)) continue;
      const std::int64_t gain = shapes_[tree].cost(host, shapes_[tree].depth(tail));
      const std::int64_t fitting = std::min(room_[at(arc)], trees_[tree].count);
      if (fitting > 0 && can_split(tree, fitting)) consider({fitting * gain, fitting, arc, nobody}, best);
      if (fitting < trees_[tree].count) exchange(tree, host, arc, gain, best);
    }
    if (best.arc == no_arc) return false;
    take(best, tree, host);
    return true;
  }

  static void consider(const Step& step, Step& best) {
    if (step.cost < best.cost) best = step;
  }

  /// Looks for another tree that gives the arc up for the one that this tree has, as many copies as both have.
  void exchange(std::size_t tree, NodeId host, std::int32_t arc, std::int64_t gain, Step& best) {
    const NodeId tail = arcs_[at(shapes_[tree].in(host))].from;
    for (const std::size_t partner : users_[at(arc)]) {
      --work_;
      const std::int64_t count = std::min(trees_[tree].count, trees_[partner].count);
      const std::int64_t cost = count * (gain + shapes_[partner].cost(host, shapes_[partner].depth(tail)));
      if (cost >= best.cost || !can_split(tree, count) || !can_split(partner, count)) continue;
      if (!shapes_[partner].leads_through(tail, host)) consider({cost, count, arc, partner}, best);
    }
  }

  /// Whether so many copies of a tree can have a way of their own.
  [[nodiscard]] bool can_split(std::size_t tree, std::int64_t count) const {
    return count == trees_[tree].count || trees_.size() < most_trees_;
  }

  void take(const Step& step, std::size_t tree, NodeId host) {
    const std::int32_t given = shapes_[tree].in(host);
    split(tree, step.count);
    move(tree, host, given, step.arc);
    if (step.partner == nobody) return;
    split(step.partner, step.count);
    move(step.partner, host, step.arc, given);
  }

  /// The tree keeps `count` of its copies; the others become a tree of their own.
  void split(std::size_t tree, std::int64_t count) {
    const std::int64_t others = trees_[tree].count - count;
    if (others == 0) return;
    trees_[tree].count = count;
    OutTree copy = trees_[tree];
    copy.count = others;
    HostTree shape = shapes_[tree];
    for (const TreeEdge& edge : shape.edges()) users_[at(edge.arc)].push_back(trees_.size());
    work_ -= static_cast<std::int64_t>(copy.edges.size());
    trees_.push_back(std::move(copy));
    shapes_.push_back(std::move(shape));
  }

  void move(std::size_t tree, NodeId host, std::int32_t from, std::int32_t to) {
    room_[at(from)] += trees_[tree].count;
    room_[at(to)] -= trees_[tree].count;
    std::erase(users_[at(from)], tree);
    users_[at(to)].push_back(tree);
    shapes_[tree].enter_over(host, to);
    work_ -= static_cast<std::int64_t>(trees_[tree].edges.size());
  }

  /// Trees that have become the same are one again.
  void unite() {
    const auto arcs_before = [](const TreeEdge& a, const TreeEdge& b) { return a.arc < b.arc; };
    std::stable_sort(trees_.begin(), trees_.end(), [&](const OutTree& a, const OutTree& b) {
      if (a.root != b.root) return a.root < b.root;
      return std::lexicographical_compare(a.edges.begin(), a.edges.end(), b.edges.begin(), b.edges.end(), arcs_before);
    });
    std::vector<OutTree> united;
    for (OutTree& tree : trees_) {
      if (!united.empty() && united.back().root == tree.root && united.back().edges == tree.edges) {
        united.back().count += tree.count;
      } else {
        united.push_back(std::move(tree));
      }
    }
    trees_ = std::move(united);
  }

  std::span<const CapacityArc> arcs_;
  std::vector<OutTree>& trees_;
  Deadline deadline_;
  std::size_t most_trees_ = 0;
  std::vector<HostTree> shapes_;                 ///< by tree
  std::vector<std::int64_t> room_;               ///< by arc: for how many trees more
  std::vector<std::vector<std::size_t>> users_;  ///< by arc: trees
  std::vector<std::vector<std::int32_t>> in_;    ///< by host: arcs
  std::int64_t work_ = 0;                        ///< comparisons left
};

}  // namespace

void shorten_trees(std::span<const CapacityArc> arcs, std::vector<OutTree>& trees, const Deadline& deadline) {
  Shortening(arcs, trees, deadline).run();
}

}  // namespace libcoll::broadcast::forest
