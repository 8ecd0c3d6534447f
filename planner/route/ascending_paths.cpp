#include "planner/route/ascending_paths.h"

#include <algorithm>
#include <cstddef>

#include "planner/base/index.h"

namespace libcoll::route {

using namespace topology;

AscendingPaths::AscendingPaths(const Topology& topology, std::span<const std::int32_t> order)
    : before_(order.size()), reached_(at(topology.node_count())) {
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    steps_.push_back({link, topology.link(link).from, topology.link(link).to});
  }
  std::sort(steps_.begin(), steps_.end(),
            [&](const Step& a, const Step& b) { return order[at(a.link)] < order[at(b.link)]; });
}

void AscendingPaths::search(NodeId source, std::span<const double> length) {
  std::fill(reached_.begin(), reached_.end(), Reached{});
  reached_[at(source)].distance = 0;
  // A link that comes later can only be crossed later, so one pass suffices; what reaches a node at first stays the
  // way back from those links that were crossed from there meanwhile. Whether a link leads on is hard to foresee, so
  // that masks are faster than branches.
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Reached from = reached_[at(step.from)];
    Reached& to = reached_[at(step.to)];
    const double candidate = from.distance + length[at(step.link)];
    const std::uint32_t nearer = candidate < to.distance ? ~std::uint32_t{0} : 0;
    before_[i] = from.step;
    to.distance = std::min(to.distance, candidate);
    to.step = (nearer & static_cast<std::uint32_t>(i)) | (~nearer & to.step);
  }
}

void AscendingPaths::path_to(NodeId node, std::vector<LinkId>& links) const {
  links.clear();
  for (std::uint32_t i = reached_[at(node)].step; i != no_step; i = before_[i]) links.push_back(steps_[i].link);
  std::reverse(links.begin(), links.end());
}

}  // namespace libcoll::route
