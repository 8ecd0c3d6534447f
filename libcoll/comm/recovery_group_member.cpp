#include "libcoll/comm/recovery_group_member.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "libcoll/base/log.h"
#include "libcoll/transport/detours.h"
#include "planner/base/index.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::comm {

using namespace node;
using namespace recover;
using namespace topology;
using namespace transport;

void RecoveryGroupMember::leave() {
  if (repair_ == nullptr) return;
  const std::lock_guard guard(runtime().lock());
  repair_->ignore(*listener_);
  repair_.reset();
}

void RecoveryGroupMember::enrol(HostCommunicator& host, FailureListener& listener) {
  ResilientTransport* transport = runtime().resilient();
  if (transport == nullptr) return;
  if (join(host, listener)) return;
  const bool is_part = !members_.part_nodes().empty();
  const Topology& topology = is_part ? *members_.part() : runtime().topology();
  RecoveryGroup recovery_group{
      members_.id(), members_.node(), {}, neighbouring_hosts(topology), linked_hosts(topology)};
  members_.set_resends(recovery_group.neighbours.size() == members_.place_of_shard().size());
  if (!members_.resends() || members_.rank_of_node().empty()) return;
  for (const std::int32_t rank : members_.rank_of_node())
    recovery_group.addresses.push_back(members_.addresses()[at(rank)]);
  std::vector<std::string> addresses = recovery_group.addresses;
  const std::lock_guard guard(runtime().lock());
  // Packets and pings go to neighbours. Later, making a connection over a broken link would block.
  for (const NodeId neighbour : recovery_group.neighbours[at(members_.node())]) {
    const Result<PeerId> peer = transport->connect(recovery_group.addresses[at(neighbour)], 0);
    if (!peer) log(LogLevel::info, peer.error().message);
  }
  const std::uint32_t own = recovery_group.communicator;
  std::vector<NodeId> places(recovery_group.addresses.size());
  std::iota(places.begin(), places.end(), 0);
  transport->enrol(std::move(recovery_group));
  transport->annex(own, own, places_of_senders(std::move(places)));
  // The slices share the links: the first one finds out for all of them.
  repair_ = std::make_shared<Repair>(
      *transport, members_.id(), members_.node(), static_cast<NodeId>(members_.rank_of_node().size()),
      members_.speaks(), members_.name(), members_.hierarchy() != nullptr ? members_.hierarchy()->memory() : nullptr);
  listener_ = &listener;
  repair_->listen(listener);
  if (!is_part) runtime().know_recovery_group(repair_, std::move(addresses));
}

/// Nodes come first, then ranks where these may be senders by themselves.
std::vector<NodeId> RecoveryGroupMember::places_of_senders(std::vector<NodeId> of_nodes) const {
  std::vector<NodeId> places = of_nodes;
  if (members_.hierarchy() != nullptr) return places;
  places.resize(of_nodes.size() + members_.rank_of_node().size(), TagSpace::max_sender);
  for (std::size_t node = 0; node < of_nodes.size(); ++node) {
    places[of_nodes.size() + at(members_.rank_of_node()[node])] = of_nodes[node];
  }
  return places;
}

bool RecoveryGroupMember::join(HostCommunicator& host, FailureListener& listener) {
  struct Place {
    std::uint32_t recovery_group;
    std::uint32_t verdicts;
  };
  constexpr std::uint32_t any = std::numeric_limits<std::uint32_t>::max();
  Place mine{any, any};  // of ranks without messages
  std::shared_ptr<Repair> recovery_group;
  std::vector<NodeId> places;
  if (!members_.rank_of_node().empty()) {
    const std::lock_guard guard(runtime().lock());
    recovery_group = runtime().known_recovery_group();
    if (recovery_group != nullptr) mine = {recovery_group->communicator(), recovery_group->verdicts()};
    for (const std::int32_t rank : members_.rank_of_node()) {
      places.push_back(runtime().place_in_known_recovery_group(members_.addresses()[at(rank)]));
      if (places.back() < 0) mine = {};
    }
  }
  std::vector<Place> all(static_cast<std::size_t>(members_.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return false;
  std::uint32_t common = any;
  std::uint32_t verdicts = any;
  for (const Place& each : all) {
    common = std::min(common, each.recovery_group);
    verdicts = std::min(verdicts, each.verdicts);
  }
  // Threads may make several recovery groups at once, in another order on every rank.
  if (common == 0 || std::any_of(all.begin(), all.end(), [&](const Place& each) {
        return each.recovery_group != common && each.recovery_group != any;
      })) {
    return false;
  }
  members_.set_resends(true);
  if (places.empty()) return true;
  const std::lock_guard guard(runtime().lock());
  const NodeId most = *std::max_element(places.begin(), places.end());
  place_in_communicator_.assign(at(most) + 1, -1);
  for (std::size_t place = 0; place < places.size(); ++place) {
    place_in_communicator_[at(places[place])] = static_cast<NodeId>(place);
  }
  runtime().resilient()->annex(members_.id(), common, places_of_senders(std::move(places)));
  repair_ = std::move(recovery_group);
  listener_ = &listener;
  repair_->listen(listener);
  // What some ranks have not heard of yet, all see to when they have.
  seen_ = verdicts;
  return true;
}

std::set<BidirectionalLink> RecoveryGroupMember::cables_here(const std::set<BidirectionalLink>& cables) const {
  if (place_in_communicator_.empty()) return cables;
  const auto place = [this](NodeId node) {
    return at(node) < place_in_communicator_.size() ? place_in_communicator_[at(node)] : NodeId{-1};
  };
  std::set<BidirectionalLink> here;
  for (const auto& [a, b] : cables) {
    const BidirectionalLink cable = std::minmax(place(a), place(b));
    if (cable.first >= 0) {
      here.insert(cable);
    } else if (members_.part_has_routers()) {
      here.emplace(members_.nodes(), members_.nodes());
    }
  }
  return here;
}

/// Nobody has told the fabric of other routes: what the hosts themselves can forward around dead links.
std::optional<Topology> RecoveryGroupMember::what_remains(const std::set<BidirectionalLink>& removed) const {
  if (removed.empty()) return std::nullopt;
  std::set<BidirectionalLink> inside = removed;
  inside.erase({members_.nodes(), members_.nodes()});
  const Topology whole = members_.part() ? without_switches(*members_.part()) : runtime().topology();
  Topology left = inside.empty() ? whole : without(whole, inside);
  if (!check_connected(left)) return std::nullopt;
  return left;
}

}  // namespace libcoll::comm
