#include "planner/route/ascending_paths.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "planner/index.h"

namespace libcoll {
namespace {

constexpr double unreached = std::numeric_limits<double>::infinity();

}  // namespace

AscendingPaths::AscendingPaths(const Topology& topology, std::span<const std::int32_t> order)
    : topology_(topology), links_(order.size()), before_(order.size()) {
  std::iota(links_.begin(), links_.end(), 0);
  std::sort(links_.begin(), links_.end(), [&](LinkId a, LinkId b) { return order[at(a)] < order[at(b)]; });
}

void AscendingPaths::search(NodeId source, std::span<const double> length) {
  distance_.assign(at(topology_.node_count()), unreached);
  last_.assign(distance_.size(), -1);
  distance_[at(source)] = 0;
  // A link that comes later can only be crossed later, so one pass suffices; what reaches a node at first stays the
  // way back from those links that were crossed from there meanwhile.
  for (const LinkId link : links_) {
    const Link& ends = topology_.link(link);
    if (ends.to == source || distance_[at(ends.from)] == unreached) continue;
    const double candidate = distance_[at(ends.from)] + length[at(link)];
    before_[at(link)] = last_[at(ends.from)];
    if (candidate >= distance_[at(ends.to)]) continue;
    distance_[at(ends.to)] = candidate;
    last_[at(ends.to)] = link;
  }
}

void AscendingPaths::path_to(NodeId node, std::vector<LinkId>& links) const {
  links.clear();
  for (LinkId link = last_[at(node)]; link >= 0; link = before_[at(link)]) links.push_back(link);
  std::reverse(links.begin(), links.end());
}

}  // namespace libcoll
