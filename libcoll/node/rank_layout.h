// Where the ranks of a communicator sit: nodes, places within a node, NUMA domains, leaders.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::node {

/// What is known of one rank of a communicator.
struct RankPlace {
  topology::NodeId node = 0;
  std::int32_t world_rank = 0;
  std::int32_t domain = -1;  ///< NUMA domain within its node; negative: bound to none in particular
};

/// The ranks of one node. Local indices go round the NUMA domains, so that the first few are spread over all of them.
struct NodeRanks {
  std::vector<std::int32_t> ranks;                 ///< by local index: rank in the communicator
  std::vector<std::vector<std::int32_t>> domains;  ///< local indices by NUMA domain, ascending; none is empty
};

/// Equal on all ranks of the communicator. Leader l of every node together are slice l: one rank per node, which moves
/// an l-th part of every message between nodes.
struct RankLayout {
  std::vector<NodeRanks> nodes;
  std::vector<topology::NodeId> node_of_rank;
  std::vector<std::int32_t> local_of_rank;
  std::int32_t most_ranks = 0;  ///< of any node
  std::int32_t leaders = 0;     ///< slices; the leaders of a node are its first local indices

  /// The slice's rank on every node. Precondition: slice < leaders.
  [[nodiscard]] std::vector<std::int32_t> slice(std::int32_t slice) const;
};

/// Ranks in communicator order; each of `nodes` nodes has one at least. As many leaders as the emptiest node has ranks,
/// `most_leaders` (0: no bound) at most. Two communicators of the same processes number a node's ranks alike.
RankLayout arrange(const std::vector<RankPlace>& ranks, topology::NodeId nodes, std::int64_t most_leaders);

/// Elements [begin, end).
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t length() const { return end - begin; }
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// Whether the node's ranks add up by domain first: there are several, and not one for every rank.
bool adds_up_by_domain(const NodeRanks& node);
/// Of the local rank: its NUMA domain, and its stretch of so many elements that the ranks of that share.
const std::vector<std::int32_t>& domain_of(const NodeRanks& node, std::int32_t local);
Stretch stretch_in_domain(const NodeRanks& node, std::int32_t local, std::int64_t elements);

/// How many leaders, of so many, share what a node has for another one: each has enough to be worth its messages.
std::int32_t leaders_for(std::int64_t bytes, std::int32_t leaders);

/// Part `part` of `elements` cut into `parts` stretches whose lengths differ by one at most.
Stretch stretch_of(std::int64_t elements, std::int64_t parts, std::int64_t part);

/// What round k of K takes of n elements: those from n·k/K to n·(k+1)/K.
Stretch share_of(std::int64_t elements, std::int64_t rounds, std::int64_t round);

}  // namespace libcoll::node
