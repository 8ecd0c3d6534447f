#include "planner/broadcast/classic/double_binary_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::classic {

using namespace bound;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr NodeId no_parent = -1;

struct BinaryTree {
  std::vector<NodeId> parent;  ///< no_parent for the root
  std::vector<NodeId> order;   ///< parents before their children
  std::int32_t height = 0;
};

/// The tree in which an odd rank is a leaf and a rank that is an odd multiple of 2^i has two children at distance
/// 2^(i−1); rank 0 stands above it.
NodeId in_order_parent(NodeId rank, std::int32_t ranks) {
  if (rank == 0) return no_parent;
  const NodeId lowest = rank & -rank;
  const NodeId above = (rank ^ lowest) | (2 * lowest);
  return above < ranks ? above : rank ^ lowest;
}

void complete(BinaryTree& tree) {
  const std::size_t ranks = tree.parent.size();
  std::vector<std::vector<NodeId>> children(ranks);
  std::vector<std::int32_t> depth(ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (tree.parent[rank] == no_parent) {
      tree.order.push_back(static_cast<NodeId>(rank));
    } else {
      children[at(tree.parent[rank])].push_back(static_cast<NodeId>(rank));
    }
  }
  for (std::size_t taken = 0; taken < tree.order.size(); ++taken) {
    const NodeId rank = tree.order[taken];
    if (tree.parent[at(rank)] != no_parent) depth[at(rank)] = depth[at(tree.parent[at(rank)])] + 1;
    tree.height = std::max(tree.height, depth[at(rank)]);
    tree.order.insert(tree.order.end(), children[at(rank)].begin(), children[at(rank)].end());
  }
}

/// The second tree is the first one with its ranks exchanged by `second`.
std::array<BinaryTree, 2> two_trees(std::int32_t ranks, auto second) {
  std::array<BinaryTree, 2> trees;
  trees[1].parent.resize(at(ranks));
  for (NodeId rank = 0; rank < ranks; ++rank) {
    const NodeId parent = in_order_parent(rank, ranks);
    trees[0].parent.push_back(parent);
    trees[1].parent[at(second(rank))] = parent == no_parent ? no_parent : second(parent);
  }
  for (BinaryTree& tree : trees) complete(tree);
  return trees;
}

/// The first tree read from the other end (even N) or moved on by one rank, so that odd ranks, the leaves of the first,
/// change places with even ones.
std::array<BinaryTree, 2> two_trees_of_all(std::int32_t ranks) {
  return two_trees(ranks, [ranks](NodeId rank) { return ranks % 2 == 0 ? ranks - 1 - rank : (rank + 1) % ranks; });
}

/// The same of all ranks but 0, which stays above both.
std::array<BinaryTree, 2> two_trees_below_a_root(std::int32_t ranks) {
  return two_trees(ranks, [ranks](NodeId rank) {
    if (rank == 0) return rank;
    return ranks % 2 == 0 ? rank % (ranks - 1) + 1 : ranks - rank;
  });
}

/// A message of one segment along an edge of one tree.
struct Message {
  std::int32_t tree = 0;
  std::int32_t segment = 0;
  NodeId from = 0;
  NodeId to = 0;
  std::int32_t step = 0;
  TransferKind kind = TransferKind::reduce;
};

/// The steps in which each node's one port out and one port in are taken.
class Ports {
 public:
  explicit Ports(std::int32_t nodes) : out_(at(nodes)), in_(at(nodes)) {}

  /// The first step from `earliest` on in which both ends are free; takes it.
  std::int32_t take(NodeId from, NodeId to, std::int32_t earliest) {
    std::int32_t step = earliest;
    while (is_taken(out_[at(from)], step) || is_taken(in_[at(to)], step)) ++step;
    mark(out_[at(from)], step);
    mark(in_[at(to)], step);
    return step;
  }

 private:
  static bool is_taken(const std::vector<bool>& steps, std::int32_t step) {
    return at(step) < steps.size() && steps[at(step)];
  }
  static void mark(std::vector<bool>& steps, std::int32_t step) {
    if (at(step) >= steps.size()) steps.resize(at(step) + 1, false);
    steps[at(step)] = true;
  }

  std::vector<std::vector<bool>> out_;
  std::vector<std::vector<bool>> in_;
};

/// Allreduce goes up the trees and down again; what it shares with its neighbours is one of the two.
bool goes_up(Collective collective) { return collective != Collective::broadcast; }
bool goes_down(Collective collective) { return collective != Collective::reduce; }

/// List scheduling: segments in order, both trees in turn, every message as early as its data and the ports allow.
std::vector<Message> pipeline(Collective collective, const std::array<BinaryTree, 2>& trees, std::int32_t segments) {
  const std::size_t ranks = trees[0].parent.size();
  Ports ports(static_cast<std::int32_t>(ranks));
  std::vector<Message> messages;
  for (std::int32_t segment = 0; segment < segments; ++segment) {
    for (const std::int32_t which : {0, 1}) {
      const BinaryTree& tree = trees[at(which)];
      std::vector<std::int32_t> ready(ranks, 0);  // step in which the last contribution, later the result, arrives
      for (auto rank = tree.order.rbegin(); rank != tree.order.rend(); ++rank) {
        const NodeId parent = tree.parent[at(*rank)];
        if (parent == no_parent || !goes_up(collective)) continue;
        const std::int32_t step = ports.take(*rank, parent, ready[at(*rank)] + 1);
        ready[at(parent)] = std::max(ready[at(parent)], step);
        messages.push_back({which, segment, *rank, parent, step, TransferKind::reduce});
      }
      for (const NodeId rank : tree.order) {
        const NodeId parent = tree.parent[at(rank)];
        if (parent == no_parent || !goes_down(collective)) continue;
        ready[at(rank)] = ports.take(parent, rank, ready[at(parent)] + 1);
        messages.push_back({which, segment, parent, rank, ready[at(rank)], TransferKind::copy});
      }
    }
  }
  return messages;
}

std::int32_t steps_of(const std::vector<Message>& messages) {
  std::int32_t steps = 0;
  for (const Message& message : messages) steps = std::max(steps, message.step);
  return steps;
}

/// Allreduce: a segment is shards [first, last) of the hosts, of which each tree has one chunk of two.
Pattern whole_shards(const std::vector<Message>& messages, std::int32_t hosts, std::int32_t segments) {
  Pattern pattern;
  pattern.chunks_per_shard = 2;
  for (const Message& message : messages) {
    const auto first = static_cast<ShardId>(std::int64_t{message.segment} * hosts / segments);
    const auto last = static_cast<ShardId>((std::int64_t{message.segment} + 1) * hosts / segments);
    for (ShardId shard = first; shard < last; ++shard) {
      pattern.transfers.push_back(
          {shard, message.tree, 1, message.from, message.to, message.step, direct, message.kind});
    }
  }
  return pattern;
}

/// Broadcast and reduce: a segment is one chunk of the first half of the vector and one of the second; ranks are
/// counted from the root.
Pattern parts_of_vector(const std::vector<Message>& messages, std::int32_t hosts, std::int32_t segments, NodeId root) {
  Pattern pattern;
  pattern.chunks_per_shard = 2 * segments;
  for (const Message& message : messages) {
    pattern.transfers.push_back({root, message.tree * segments + message.segment, 1, (message.from + root) % hosts,
                                 (message.to + root) % hosts, message.step, direct, message.kind});
  }
  return pattern;
}

}  // namespace

Result<Schedule> plan_double_binary_tree(Collective collective, const Topology& topology, const PlanOptions& options) {
  const std::string where = "double-binary-tree on " + topology.name() + ": ";
  const bool rooted = is_rooted(collective);
  if (collective != Collective::allreduce && !rooted) {
    return Error{where + "only allreduce, broadcast and reduce have this form"};
  }
  if (const Status status = check_connected(topology); !status) return Error{where + status.error().message};
  if (rooted) {
    if (const Status status = check_root(topology, options.root); !status) return Error{where + status.error().message};
  }
  const std::int32_t hosts = topology.host_count();
  const std::array<BinaryTree, 2> trees = rooted ? two_trees_below_a_root(hosts) : two_trees_of_all(hosts);
  std::int32_t segments = hosts;
  std::vector<Message> messages = pipeline(collective, trees, segments);
  while (options.steps > 0 && steps_of(messages) > options.steps && segments > 1) {
    segments /= 2;
    messages = pipeline(collective, trees, segments);
  }
  Pattern pattern =
      rooted ? parts_of_vector(messages, hosts, segments, options.root) : whole_shards(messages, hosts, segments);
  pattern.steps = steps_of(messages);
  if (options.figures != nullptr) {
    options.figures->more = {{"segments", std::int64_t{segments}},
                             {"tree_height", std::int64_t{std::max(trees[0].height, trees[1].height)}}};
  }
  return lay_out(topology, collective, "double-binary-tree", std::move(pattern), options);
}

}  // namespace libcoll::broadcast::classic
