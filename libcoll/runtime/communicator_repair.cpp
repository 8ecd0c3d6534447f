// What a communicator does about links that die: its ranks agree on the call from which they go without them, and on
// new plans.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
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

void Communicator::enrol(HostCommunicator& host) {
  ResilientTransport* transport = runtime_.resilient();
  if (transport == nullptr) return;
  const bool is_part = !part_nodes_.empty();
  if (is_part && join_crew(host)) return;
  Crew crew{id_, node_, {}, is_part ? part_neighbours_ : neighbouring_hosts(runtime_.topology())};
  resends_ = crew.neighbours.size() == place_of_shard_.size();
  if (!resends_ || rank_of_node_.empty()) return;
  for (const std::int32_t rank : rank_of_node_) crew.addresses.push_back(addresses_[at(rank)]);
  const std::string name = host.name();
  const std::lock_guard guard(runtime_.lock());
  // Packets and pings go to neighbours. Later, making a connection over a broken link would block.
  for (const NodeId neighbour : crew.neighbours[at(node_)]) {
    const Result<PeerId> peer = transport->connect(crew.addresses[at(neighbour)], 0);
    if (!peer) log(LogLevel::info, peer.error().message);
  }
  if (!is_part) runtime_.know_crew(id_, crew.addresses);
  transport->enrol(std::move(crew));
  // The slices share the links: the first one finds out for all of them. Parts may reach each other through nodes that
  // are none of theirs: what they find out does not say which link is gone.
  repair_ = std::make_unique<Repair>(*transport, id_, node_, static_cast<NodeId>(rank_of_node_.size()),
                                     !is_part && speaks(), name);
}

bool Communicator::join_crew(HostCommunicator& host) {
  constexpr std::uint32_t any = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t mine = any;  // of ranks without messages
  std::vector<NodeId> places;
  if (!rank_of_node_.empty()) {
    const std::lock_guard guard(runtime_.lock());
    mine = runtime_.known_crew();
    for (const std::int32_t rank : rank_of_node_) {
      places.push_back(runtime_.place_in_known_crew(addresses_[at(rank)]));
      if (places.back() < 0) mine = 0;
    }
  }
  std::vector<std::uint32_t> all(addresses_.size());
  if (!host.allgather(&mine, sizeof mine, all.data())) return false;
  const std::uint32_t crew = *std::min_element(all.begin(), all.end());
  // Threads may make several crews at once, in another order on every rank.
  if (crew == 0 || std::any_of(all.begin(), all.end(), [&](auto each) { return each != crew && each != any; })) {
    return false;
  }
  resends_ = true;
  const std::lock_guard guard(runtime_.lock());
  if (!places.empty()) runtime_.resilient()->annex(id_, crew, std::move(places));
  return true;
}

void Communicator::turn(HostCommunicator& host) {
  // Ranks have to have tags beside those of nodes.
  if (!resends_ || broken_ || !part_nodes_.empty() || nodes() + size() > TagSpace::max_sender) return;
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
  for (std::size_t each = 0; each < collective_count; ++each) {
    const auto collective = static_cast<Collective>(each);
    if (!prospect(collective).asked || prospect(collective).obstacle != Reason::count_) continue;
    // Without a new plan the old one still serves, with messages that take other ways.
    static_cast<void>(adopt_distributed(collective, *agreement));
  }
  const std::lock_guard guard(runtime_.lock());
  scripts_.clear();
}

}  // namespace libcoll
