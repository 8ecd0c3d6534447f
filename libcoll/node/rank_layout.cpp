#include "libcoll/node/rank_layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace libcoll::node {

using namespace topology;

namespace {

/// Takes one rank of every domain in turn until there are none left.
NodeRanks go_round(const std::map<std::int32_t, std::vector<std::int32_t>>& ranks_of_domain) {
  NodeRanks node;
  node.domains.resize(ranks_of_domain.size());
  for (std::size_t turn = 0, placed = 1; placed > 0; ++turn) {
    placed = 0;
    std::size_t domain = 0;
    for (const auto& [number, ranks] : ranks_of_domain) {
      if (turn < ranks.size()) {
        node.domains[domain].push_back(static_cast<std::int32_t>(node.ranks.size()));
        node.ranks.push_back(ranks[turn]);
        ++placed;
      }
      ++domain;
    }
  }
  return node;
}

}  // namespace

std::vector<std::int32_t> RankLayout::slice(std::int32_t slice) const {
  std::vector<std::int32_t> ranks;
  ranks.reserve(nodes.size());
  for (const NodeRanks& node : nodes) ranks.push_back(node.ranks[static_cast<std::size_t>(slice)]);
  return ranks;
}

RankLayout arrange(const std::vector<RankPlace>& ranks, NodeId nodes, std::int64_t most_leaders) {
  std::vector<std::pair<std::int32_t, std::int32_t>> order;  // world rank, rank
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    order.emplace_back(ranks[rank].world_rank, static_cast<std::int32_t>(rank));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::map<std::int32_t, std::vector<std::int32_t>>> by_domain(static_cast<std::size_t>(nodes));
  for (const auto& [world_rank, rank] : order) {
    const RankPlace& place = ranks[static_cast<std::size_t>(rank)];
    by_domain[static_cast<std::size_t>(place.node)][place.domain].push_back(rank);
  }

  RankLayout result;
  result.node_of_rank.resize(ranks.size());
  result.local_of_rank.resize(ranks.size());
  std::size_t fewest = ranks.size();
  std::size_t most = 0;
  for (const auto& domains : by_domain) {
    const auto number = static_cast<NodeId>(result.nodes.size());
    const NodeRanks& node = result.nodes.emplace_back(go_round(domains));
    for (std::size_t local = 0; local < node.ranks.size(); ++local) {
      const auto rank = static_cast<std::size_t>(node.ranks[local]);
      result.node_of_rank[rank] = number;
      result.local_of_rank[rank] = static_cast<std::int32_t>(local);
    }
    fewest = std::min(fewest, node.ranks.size());
    most = std::max(most, node.ranks.size());
  }
  result.most_ranks = static_cast<std::int32_t>(most);
  result.leaders = static_cast<std::int32_t>(fewest);
  if (most_leaders > 0)
    result.leaders = static_cast<std::int32_t>(std::min<std::int64_t>(result.leaders, most_leaders));
  return result;
}

std::int32_t leaders_for(std::int64_t bytes, std::int32_t leaders) {
  constexpr std::int64_t smallest_part_bytes = 4096;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(bytes / smallest_part_bytes, 1, leaders));
}

bool adds_up_by_domain(const NodeRanks& node) {
  return node.domains.size() > 1 && node.domains.size() < node.ranks.size();
}

const std::vector<std::int32_t>& domain_of(const NodeRanks& node, std::int32_t local) {
  return *std::find_if(node.domains.begin(), node.domains.end(), [local](const std::vector<std::int32_t>& domain) {
    return std::find(domain.begin(), domain.end(), local) != domain.end();
  });
}

Stretch stretch_in_domain(const NodeRanks& node, std::int32_t local, std::int64_t elements) {
  const std::vector<std::int32_t>& domain = domain_of(node, local);
  const auto place = std::distance(domain.begin(), std::find(domain.begin(), domain.end(), local));
  return stretch_of(elements, static_cast<std::int64_t>(domain.size()), place);
}

Stretch stretch_of(std::int64_t elements, std::int64_t parts, std::int64_t part) {
  const std::int64_t each = elements / parts;
  const std::int64_t longer = elements % parts;  // the first so many have one more
  const std::int64_t begin = part * each + std::min(part, longer);
  return {begin, begin + each + (part < longer ? 1 : 0)};
}

Stretch share_of(std::int64_t elements, std::int64_t rounds, std::int64_t round) {
  __extension__ using Wide = __int128;
  const auto cut = [&](std::int64_t at) { return static_cast<std::int64_t>(Wide{elements} * at / rounds); };
  return {cut(round), cut(round + 1)};
}

}  // namespace libcoll::node
