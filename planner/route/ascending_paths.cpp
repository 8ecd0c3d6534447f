#include "planner/route/ascending_paths.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "planner/index.h"

namespace libcoll {
namespace {

constexpr double unreached = std::numeric_limits<double>::infinity();

}  // namespace

AscendingPaths::AscendingPaths(const Topology& topology, std::span<const std::int32_t> order)
    : before_(order.size()), distance_(at(topology.node_count())), last_(distance_.size()) {
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    steps_.push_back({link, topology.link(link).from, topology.link(link).to});
  }
  std::sort(steps_.begin(), steps_.end(),
            [&](const Step& a, const Step& b) { return order[at(a.link)] < order[at(b.link)]; });
}

void AscendingPaths::search(NodeId source, std::span<const double> length) {
  std::fill(distance_.begin(), distance_.end(), unreached);
  std::fill(last_.begin(), last_.end(), -1);
  distance_[at(source)] = 0;
  // A link that comes later can only be crossed later, so one pass suffices; what reaches a node at first stays the
  // way back from those links that were crossed from there meanwhile.
  for (const Step& step : steps_) {
    const double so_far = distance_[at(step.from)];
    if (so_far == unreached || step.to == source) continue;
    const double candidate = so_far + length[at(step.link)];
    before_[at(step.link)] = last_[at(step.from)];
    if (candidate >= distance_[at(step.to)]) continue;
    distance_[at(step.to)] = candidate;
    last_[at(step.to)] = step.link;
  }
}

void AscendingPaths::path_to(NodeId node, std::vector<LinkId>& links) const {
  links.clear();
  for (LinkId link = last_[at(node)]; link >= 0; link = before_[at(link)]) links.push_back(link);
  std::reverse(links.begin(), links.end());
}

}  // namespace libcoll
