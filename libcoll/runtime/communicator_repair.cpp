// What a communicator does about links that die: its ranks agree on the call from which they go without them, and on
// new plans.
#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/hierarchy.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/repair.h"
#include "libcoll/runtime/transport_host.h"
#include "planner/index.h"

namespace libcoll {
namespace {

/// A message that is lost may be on its way through this process.
constexpr std::chrono::microseconds longest_sleep{1000};

}  // namespace

bool Communicator::speaks() const { return hierarchy_ == nullptr || hierarchy_->speaks(); }

void Communicator::enrol(const std::string& name) {
  ResilientTransport* transport = runtime_.resilient();
  // Parts are planned for with others as routers, who would not pass on anything.
  if (transport == nullptr || !part_nodes_.empty()) return;
  Crew crew{id_, node_, {}, neighbouring_hosts(runtime_.topology())};
  resends_ = crew.neighbours.size() == place_of_shard_.size();
  if (!resends_ || rank_of_node_.empty()) return;
  for (const std::int32_t rank : rank_of_node_) crew.addresses.push_back(addresses_[at(rank)]);
  const std::lock_guard guard(runtime_.lock());
  // Packets and pings go to neighbours. Later, making a connection over a broken link would block.
  for (const NodeId neighbour : crew.neighbours[at(node_)]) {
    const Result<PeerId> peer = transport->connect(crew.addresses[at(neighbour)], 0);
    if (!peer) log(LogLevel::info, peer.error().message);
  }
  transport->enrol(std::move(crew));
  // The slices share the links: the first one finds out for all of them.
  repair_ = std::make_unique<Repair>(*transport, id_, node_, static_cast<NodeId>(rank_of_node_.size()), speaks(), name);
}

void Communicator::turn(HostCommunicator& host) {
  // Ranks have to have tags beside those of nodes.
  if (!resends_ || broken_ || nodes() + size() > TagSpace::max_sender) return;
  ++turns_;
  const std::set<Cable> before = removed_;
  broken_ = speaks() ? !take_turn(host) : !hear_turn(host);
  if (!broken_ && removed_ != before) plan_again(host);
}

bool Communicator::take_turn(HostCommunicator& host) {
  Turns* node = hierarchy_ ? &hierarchy_->memory()->turns() : nullptr;
  const auto begin = [&] {
    if (repair_->halted()) return false;
    repair_->begin_call();
    return true;
  };
  const auto begin_at_once = [&] {
    const std::lock_guard guard(runtime_.lock());
    return begin();
  };
  const auto meanwhile = [&] {
    if (node != nullptr) node->signs_of_life().fetch_add(1, std::memory_order_relaxed);
    host.progress();
  };
  if (!begin_at_once() && !runtime_.wait(begin, meanwhile)) {
    if (node != nullptr) node->fail();
    return false;
  }
  if (node == nullptr) {
    removed_ = repair_->removed();
  } else {
    // All nodes' lists have room for the same ones.
    node->tell(turns_, repair_->removed());
    removed_ = node->cables(turns_);
  }
  return true;
}

bool Communicator::hear_turn(HostCommunicator& host) {
  Turns& node = hierarchy_->memory()->turns();
  const std::function<void()> other_things = [&] {
    runtime_.progress();
    host.progress();
  };
  const Config& config = runtime_.config();
  const Patience patience{std::chrono::microseconds(config.poll_microseconds),
                          std::chrono::seconds(config.timeout_seconds), longest_sleep, &other_things};
  if (!node.hear(turns_, patience)) return false;
  removed_ = node.cables(turns_);
  return true;
}

/// Along links that are known to work, and within nodes.
std::unique_ptr<HostCommunicator> Communicator::agree_without(HostCommunicator& host) {
  std::vector<NodeId> node_of_rank(addresses_.size());
  std::vector<std::int32_t> speakers = rank_of_node_;
  if (hierarchy_) {
    node_of_rank = hierarchy_->arrangement().node_of_rank;
    speakers = hierarchy_->arrangement().slice(0);
  } else {
    for (std::size_t node = 0; node < speakers.size(); ++node)
      node_of_rank[at(speakers[node])] = static_cast<NodeId>(node);
  }
  const std::vector<int> parents = agreement_tree(node_of_rank, speakers, neighbouring_hosts(*what_is_left_));
  std::vector<TransportHost::Place> places;
  const std::lock_guard guard(runtime_.lock());
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    TransportHost::Place& place = places.emplace_back();
    place.node = node_of_rank[rank];
    place.parent = parents[rank];
    if (place.parent != rank_ && parents[at(rank_)] != static_cast<int>(rank)) continue;
    const Result<PeerId> peer = runtime_.transport().connect(addresses_[rank], 0);
    if (peer) place.peer = *peer;
  }
  const auto nodes = static_cast<NodeId>(speakers.size());
  return std::make_unique<TransportHost>(runtime_, host, std::move(places), nodes,
                                         [this] { return TagSpace(id_, agreements_++); });
}

void Communicator::plan_again(HostCommunicator& host) {
  if (!speaks() && repair_ != nullptr) {
    const std::lock_guard guard(runtime_.lock());
    for (const auto& [a, b] : removed_) runtime_.resilient()->exclude(id_, a, b);
  }
  what_is_left_ = without(runtime_.topology(), removed_);
  const std::unique_ptr<HostCommunicator> agreement = agree_without(host);
  scripts_.clear();
  for (std::size_t collective = 0; collective < collective_count; ++collective) {
    Plan& plan = plans_[collective];
    if (!plan.asked || plan.obstacle != Reason::count_) continue;
    Plan fresh;
    fresh.asked = true;
    fresh.obstacle = distribute_plan(static_cast<Collective>(collective), *agreement, fresh);
    // The old one still serves, with messages that take other ways.
    if (fresh.obstacle == Reason::count_) plan = std::move(fresh);
  }
}

}  // namespace libcoll
