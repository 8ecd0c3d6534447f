#include "libcoll/comm/background_replan.h"

#include <algorithm>
#include <utility>

#include "libcoll/recover/agreement_tree.h"
#include "libcoll/transport/detours.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace recover;
using namespace topology;
using namespace transport;

class BackgroundReplan::Running final : public Errand {
 public:
  Running(std::shared_ptr<void> keeper, BackgroundReplan& replan) : keeper_(std::move(keeper)), replan_(replan) {}
  bool advance() noexcept override { return replan_.advance(); }

 private:
  std::shared_ptr<void> keeper_;
  BackgroundReplan& replan_;
};

ReplanRanks::ReplanRanks(const Membership& members) : ranks(members.rank_of_node()) {
  if (members.hierarchy() != nullptr) {
    ranks.clear();
    for (std::int32_t slice = 0; slice < members.hierarchy()->slices(); ++slice) {
      const std::vector<std::int32_t> more = members.hierarchy()->layout().slice(slice);
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
  }
  nodes.resize(ranks.size());
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    nodes[place] = static_cast<NodeId>(place % at(members.nodes()));
  }
  const auto found = std::find(ranks.begin(), ranks.end(), 0);
  if (found != ranks.end()) {
    std::swap(nodes.front(), nodes[at(found - ranks.begin())]);
    std::swap(ranks.front(), *found);
  }
  own = static_cast<int>(std::find(ranks.begin(), ranks.end(), members.rank()) - ranks.begin());
}

std::vector<int> ReplanRanks::parents_on(const Topology& fabric) const {
  const NodeId count = *std::max_element(nodes.begin(), nodes.end()) + 1;
  std::vector<std::int32_t> speakers(at(count));
  for (NodeId node = 0; node < count; ++node) {
    speakers[at(node)] = static_cast<std::int32_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
  }
  return agreement_tree(nodes, speakers, neighbouring_hosts(fabric));
}

Result<std::vector<TreePlace>> ReplanRanks::places(const Membership& members, const std::vector<int>& parents) const {
  std::vector<TreePlace> places;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    TreePlace& place = places.emplace_back();
    place.node = nodes[each];
    place.parent = parents[each];
    if (place.parent != own && parents[at(own)] != static_cast<int>(each)) continue;
    const Result<PeerId> peer = members.runtime().transport().connect(members.addresses()[at(ranks[each])], 0);
    if (!peer) return peer.error();
    place.peer = *peer;
  }
  return places;
}

TagSpace replan_tags(const Membership& members, ReplanCause cause, std::uint32_t order) {
  constexpr std::uint32_t causes = 2;
  return {members.id(), causes * order + static_cast<std::uint32_t>(cause)};
}

BackgroundReplan::~BackgroundReplan() {
  static_cast<void>(replan_.release());  // messages may yet arrive in its memory
}

void BackgroundReplan::begin(std::shared_ptr<void> keeper, ReplanParticipant& party, std::vector<TreePlace> places,
                             int own, std::function<TagSpace()> tags, std::function<void()> over) {
  Runtime& runtime = members_.runtime();
  replan_ = std::make_unique<Replan>(party, runtime.transport(), std::move(places), own, members_.nodes(),
                                     runtime.config().segment_bytes, std::move(tags));
  over_ = std::move(over);
  runtime.engine().run_beside(std::make_shared<Running>(std::move(keeper), *this));
}

bool BackgroundReplan::advance() noexcept {
  try {
    if (!members_.is_broken()) replan_->advance();
    if (!members_.is_broken() && !replan_->failed()) {
      if (!replan_->over()) return true;
      replan_.reset();
      // It may begin another.
      const std::function<void()> over = std::exchange(over_, nullptr);
      over();
      return false;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory
  }
  // Messages may yet arrive in its memory.
  static_cast<void>(replan_.release());
  if (!members_.is_broken()) members_.note_failure(nullptr);
  return false;
}

}  // namespace libcoll::comm
