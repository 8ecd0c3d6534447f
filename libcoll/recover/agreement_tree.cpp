#include "libcoll/recover/agreement_tree.h"

#include <deque>

#include "planner/base/index.h"

namespace libcoll::recover {

using namespace topology;

std::vector<int> agreement_tree(const std::vector<NodeId>& node_of_rank, const std::vector<std::int32_t>& speakers,
                                const std::vector<std::vector<NodeId>>& neighbours) {
  std::vector<int> parents(node_of_rank.size(), -1);
  std::vector<bool> reached(neighbours.size(), false);
  std::deque<NodeId> open = {node_of_rank.front()};
  reached[at(open.front())] = true;
  for (; !open.empty(); open.pop_front()) {
    for (const NodeId next : neighbours[at(open.front())]) {
      if (reached[at(next)]) continue;
      reached[at(next)] = true;
      open.push_back(next);
      parents[at(speakers[at(next)])] = speakers[at(open.front())];
    }
  }
  for (std::size_t rank = 1; rank < parents.size(); ++rank) {
    const NodeId node = node_of_rank[rank];
    const std::int32_t head = node == node_of_rank.front() ? 0 : speakers[at(node)];
    if (head != static_cast<std::int32_t>(rank) && reached[at(node)]) parents[rank] = head;
  }
  return parents;
}

}  // namespace libcoll::recover
