#include "planner/route/lane_completion.h"

#include <array>
#include <cstddef>

#include "planner/base/index.h"
#include "planner/route/table_completion.h"

namespace libcoll::route {

using namespace topology;

/// Whether a link may come before the entry of the node that it leads to; it does from now on.
bool LaneCompletion::precedes(LinkId before, std::span<const LinkId> next) {
  const LinkId after = next[at(topology_.link(before).to)];
  return after == no_entry || lane_.try_add(std::array{before, after});
}

void LaneCompletion::add(std::span<const LinkId> next) {
  for (const LinkId link : next) {
    if (link != no_entry) precedes(link, next);
  }
}

std::optional<std::vector<LinkId>> LaneCompletion::complete(NodeId destination, std::vector<LinkId> given) {
  std::vector<LinkId> next = std::move(given);
  for (const LinkId link : next) {
    if (link != no_entry && !precedes(link, next)) return std::nullopt;
  }
  // Breadth first from everything that has a way.
  std::vector<bool> reached(at(topology_.node_count()), false);
  std::vector<NodeId> order{destination};
  reached[at(destination)] = true;
  for (std::size_t taken = 0; taken < order.size(); ++taken) {
    const NodeId node = order[taken];
    if (node != destination && !forwards_[at(node)]) continue;
    for (const LinkId link : topology_.in_links(node)) {
      const NodeId from = topology_.link(link).from;
      if (reached[at(from)]) continue;
      if (next[at(from)] == no_entry ? !precedes(link, next) : next[at(from)] != link) continue;
      next[at(from)] = link;
      reached[at(from)] = true;
      order.push_back(from);
    }
  }
  for (NodeId host = 0; host < topology_.host_count(); ++host) {
    if (!reached[at(host)]) return std::nullopt;
  }
  return next;
}

}  // namespace libcoll::route
