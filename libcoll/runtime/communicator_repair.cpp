// What a communicator does about links that die: its ranks go by new plans from a call on that they agree on, while
// their calls go on.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/hierarchy.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/replan.h"
#include "libcoll/runtime/transport_host.h"
#include "planner/index.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll {
namespace {

/// A message that is lost may be on its way through this process.
constexpr std::chrono::microseconds longest_sleep{1000};

/// For a plan that is being made, in nanoseconds: a look takes as long as many messages.
constexpr std::int64_t between_looks = 5'000'000;

}  // namespace

/// Keeps the communicator for as long as others may need it, though the program may have freed it.
class Communicator::ReplanErrand final : public Errand {
 public:
  explicit ReplanErrand(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {}
  bool advance() noexcept override { return communicator_->advance_replan(); }

 private:
  std::shared_ptr<Communicator> communicator_;
};

bool Communicator::speaks() const { return hierarchy_ == nullptr || hierarchy_->speaks(); }

// ---- who looks after messages -----------------------------------------------------------------------------------

void Communicator::enrol(HostCommunicator& host) {
  ResilientTransport* transport = runtime_.resilient();
  if (transport == nullptr) return;
  if (join_recovery_group(host)) return;
  const bool is_part = !part_nodes_.empty();
  const Topology& topology = is_part ? *part_ : runtime_.topology();
  RecoveryGroup recovery_group{id_, node_, {}, neighbouring_hosts(topology), linked_hosts(topology)};
  resends_ = recovery_group.neighbours.size() == place_of_shard_.size();
  if (!resends_ || rank_of_node_.empty()) return;
  for (const std::int32_t rank : rank_of_node_) recovery_group.addresses.push_back(addresses_[at(rank)]);
  std::vector<std::string> addresses = recovery_group.addresses;
  const std::lock_guard guard(runtime_.lock());
  // Packets and pings go to neighbours. Later, making a connection over a broken link would block.
  for (const NodeId neighbour : recovery_group.neighbours[at(node_)]) {
    const Result<PeerId> peer = transport->connect(recovery_group.addresses[at(neighbour)], 0);
    if (!peer) log(LogLevel::info, peer.error().message);
  }
  const std::uint32_t own = recovery_group.communicator;
  std::vector<NodeId> places(recovery_group.addresses.size());
  std::iota(places.begin(), places.end(), 0);
  transport->enrol(std::move(recovery_group));
  transport->annex(own, own, places_of_senders(std::move(places)));
  // The slices share the links: the first one finds out for all of them.
  repair_ = std::make_shared<Repair>(*transport, id_, node_, static_cast<NodeId>(rank_of_node_.size()), speaks(), name_,
                                     hierarchy_ ? hierarchy_->memory() : nullptr);
  repair_->listen(*this);
  if (!is_part) runtime_.know_recovery_group(repair_, std::move(addresses));
}

/// Nodes come first, then ranks where these may be senders by themselves.
std::vector<NodeId> Communicator::places_of_senders(std::vector<NodeId> of_nodes) const {
  std::vector<NodeId> places = of_nodes;
  if (hierarchy_) return places;
  places.resize(of_nodes.size() + rank_of_node_.size(), TagSpace::max_sender);
  for (std::size_t node = 0; node < of_nodes.size(); ++node) {
    places[of_nodes.size() + at(rank_of_node_[node])] = of_nodes[node];
  }
  return places;
}

bool Communicator::join_recovery_group(HostCommunicator& host) {
  struct Membership {
    std::uint32_t recovery_group;
    std::uint32_t verdicts;
  };
  constexpr std::uint32_t any = std::numeric_limits<std::uint32_t>::max();
  Membership mine{any, any};  // of ranks without messages
  std::shared_ptr<Repair> recovery_group;
  std::vector<NodeId> places;
  if (!rank_of_node_.empty()) {
    const std::lock_guard guard(runtime_.lock());
    recovery_group = runtime_.known_recovery_group();
    if (recovery_group != nullptr) mine = {recovery_group->communicator(), recovery_group->verdicts()};
    for (const std::int32_t rank : rank_of_node_) {
      places.push_back(runtime_.place_in_known_recovery_group(addresses_[at(rank)]));
      if (places.back() < 0) mine = {};
    }
  }
  std::vector<Membership> all(addresses_.size());
  if (!host.allgather(&mine, sizeof mine, all.data())) return false;
  std::uint32_t common = any;
  std::uint32_t verdicts = any;
  for (const Membership& each : all) {
    common = std::min(common, each.recovery_group);
    verdicts = std::min(verdicts, each.verdicts);
  }
  // Threads may make several recovery groups at once, in another order on every rank.
  if (common == 0 || std::any_of(all.begin(), all.end(), [&](const Membership& each) {
        return each.recovery_group != common && each.recovery_group != any;
      })) {
    return false;
  }
  resends_ = true;
  if (places.empty()) return true;
  const std::lock_guard guard(runtime_.lock());
  const NodeId most = *std::max_element(places.begin(), places.end());
  place_of_recovery_group_.assign(at(most) + 1, -1);
  for (std::size_t place = 0; place < places.size(); ++place) {
    place_of_recovery_group_[at(places[place])] = static_cast<NodeId>(place);
  }
  runtime_.resilient()->annex(id_, common, places_of_senders(std::move(places)));
  repair_ = std::move(recovery_group);
  repair_->listen(*this);
  // What some ranks have not heard of yet, all see to when they have.
  renewed_ = verdicts;
  removed_ = cables_here(repair_->removed(renewed_));
  what_is_left_ = what_remains(removed_);
  return true;
}

std::set<BidirectionalLink> Communicator::cables_here(const std::set<BidirectionalLink>& cables) const {
  if (place_of_recovery_group_.empty()) return cables;
  const auto place = [this](NodeId node) {
    return at(node) < place_of_recovery_group_.size() ? place_of_recovery_group_[at(node)] : NodeId{-1};
  };
  std::set<BidirectionalLink> here;
  for (const auto& [a, b] : cables) {
    const BidirectionalLink cable = std::minmax(place(a), place(b));
    if (cable.first >= 0) {
      here.insert(cable);
    } else if (part_has_routers_) {
      here.emplace(nodes(), nodes());
    }
  }
  return here;
}

/// Nobody has told the fabric of other routes: what the hosts themselves can forward around dead links.
std::optional<Topology> Communicator::what_remains(const std::set<BidirectionalLink>& removed) const {
  if (removed.empty()) return std::nullopt;
  std::set<BidirectionalLink> inside = removed;
  inside.erase({nodes(), nodes()});
  const Topology whole = part_ ? without_switches(*part_) : runtime_.topology();
  Topology left = inside.empty() ? whole : without(whole, inside);
  if (!check_connected(left)) return std::nullopt;
  return left;
}

// ---- calls that wait for others ---------------------------------------------------------------------------------

void Communicator::sequence(HostCommunicator& host, Opening opening) {
  // Ranks have to have tags beside those of nodes.
  if (!resends_ || broken_ || nodes() + size() > TagSpace::max_sender) return;
  ++turns_;
  const bool has_messages = !rank_of_node_.empty();
  const bool taken = !has_messages || take_turn(host, opening);
  if (hierarchy_ && speaks()) {
    CallOrder& node = hierarchy_->memory()->turns();
    // All nodes' lists have room for the same ones.
    if (taken) {
      node.tell(turns_, removed_);
    } else {
      node.fail();
    }
  }
  if (!taken || (!has_messages && !hear_turn(host))) {
    const std::lock_guard guard(runtime_.lock());
    note_failure(nullptr);
  }
}

bool Communicator::take_turn(HostCommunicator& host, Opening opening) {
  const auto begin = [&] {
    begin_replan();  // that was due while this was being made
    if (held_ && !broken_) return false;
    const CallSequence sequence = next_in_sequence();
    if (opening == Opening::persistent) opening_ = sequence;
    return true;
  };
  const auto begin_at_once = [&] {
    const std::lock_guard guard(runtime_.lock());
    return begin();
  };
  const auto meanwhile = [&] {
    if (hierarchy_) {
      hierarchy_->memory()->turns().signs_of_life().fetch_add(1, std::memory_order_relaxed);
      hierarchy_->memory()->phases().signs_of_life().fetch_add(1, std::memory_order_relaxed);
    }
    host.progress();
  };
  return (begin_at_once() ||
          runtime_.wait(begin, meanwhile, [this] { return name_ + ": a call waits for new plans"; })) &&
         !broken_;
}

bool Communicator::hear_turn(HostCommunicator& host) {
  CallOrder& node = hierarchy_->memory()->turns();
  const std::function<void()> other_things = [&] {
    runtime_.progress();
    host.progress();
  };
  const Config& config = runtime_.config();
  const Patience patience{std::chrono::microseconds(config.poll_microseconds),
                          std::chrono::seconds(config.timeout_seconds), longest_sleep, &other_things};
  if (!node.hear(turns_, patience)) return false;
  std::set<BidirectionalLink> removed = node.cables(turns_);
  if (removed == removed_) return true;
  removed_ = std::move(removed);
  what_is_left_ = what_remains(removed_);
  return true;
}

std::unique_ptr<TransportHost> Communicator::agree_safely(HostCommunicator& host) {
  return resends_ && nodes() + size() <= TagSpace::max_sender ? agree_around(host) : nullptr;
}

/// Along links that are not known to be dead, and within nodes.
std::unique_ptr<TransportHost> Communicator::agree_around(HostCommunicator& host) {
  std::vector<NodeId> node_of_rank(addresses_.size());
  std::vector<std::int32_t> speakers = rank_of_node_;
  if (hierarchy_) {
    node_of_rank = hierarchy_->layout().node_of_rank;
    speakers = hierarchy_->layout().slice(0);
  } else {
    for (std::size_t node = 0; node < speakers.size(); ++node)
      node_of_rank[at(speakers[node])] = static_cast<NodeId>(node);
  }
  const Topology& whole = part_ ? *part_ : runtime_.topology();
  const Topology& topology = what_is_left_ ? *what_is_left_ : whole;
  const std::vector<int> parents = agreement_tree(node_of_rank, speakers, neighbouring_hosts(topology));
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

/// A rank that is not heard in time has died: the communicator's calls fail then, as they would without a new plan, and
/// none of them goes to MPI on some ranks alone.
Reason Communicator::ask(Collective collective, HostCommunicator& host, Planning planning) {
  // From which call on there is a plan must not decide a sum's bits.
  if (collective == Collective::allreduce || collective == Collective::reduce_scatter) planning = Planning::waited_for;
  Prospect& asked_for = prospect(collective);
  {
    const std::lock_guard guard(runtime_.lock());
    asked_for.asked = true;
  }
  Reason reason = Reason::count_;
  bool heard = true;
  if (what_is_left_) {
    const std::unique_ptr<TransportHost> around = agree_around(host);
    reason = adopt_distributed(collective, *around, planning);
    heard = around->good();
  } else {
    reason = adopt_distributed(collective, host, planning);
  }
  const std::lock_guard guard(runtime_.lock());
  if (!heard) note_failure(nullptr);
  asked_for.obstacle = reason;
  return reason;
}

// ---- new plans while calls go on --------------------------------------------------------------------------------

void Communicator::links_died() noexcept try { begin_replan(); } catch (...) {  // NOLINT(bugprone-empty-catch)
  // No memory: the old plans still serve, with messages that take other ways.
}

void Communicator::begin_replan() {
  if (repair_ == nullptr || replan_ != nullptr || broken_ || renewed_ == repair_->verdicts()) return;
  // While it is being made, nobody shares it yet; the first call looks again.
  const std::shared_ptr<Communicator> self = weak_from_this().lock();
  if (self == nullptr || nodes() + size() > TagSpace::max_sender) return;
  std::optional<Topology> left;
  while (!left && renewed_ < repair_->verdicts()) {
    coming_ = {};
    coming_.removed = cables_here(repair_->removed(renewed_ + 1));
    if (coming_.removed != cables_here(repair_->removed(renewed_))) left = what_remains(coming_.removed);
    if (!left) ++renewed_;  // equal on all ranks; the old plans still serve, with messages that take other ways
  }
  if (!left) return;
  coming_.left = std::move(*left);
  // All who have messages, the speakers of nodes first.
  std::vector<std::int32_t> ranks = rank_of_node_;
  if (hierarchy_) {
    ranks.clear();
    for (std::int32_t slice = 0; slice < hierarchy_->slices(); ++slice) {
      const std::vector<std::int32_t> more = hierarchy_->layout().slice(slice);
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
  }
  std::vector<NodeId> node_of(ranks.size());
  std::vector<std::int32_t> speakers(at(nodes()));
  for (std::size_t each = 0; each < ranks.size(); ++each) node_of[each] = static_cast<NodeId>(each % speakers.size());
  std::iota(speakers.begin(), speakers.end(), 0);
  const std::vector<int> parents = agreement_tree(node_of, speakers, neighbouring_hosts(coming_.left));
  const int own = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  std::vector<TransportHost::Place> places;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    TransportHost::Place& place = places.emplace_back();
    place.node = node_of[each];
    place.parent = parents[each];
    if (place.parent != own && parents[at(own)] != static_cast<int>(each)) continue;
    const Result<PeerId> peer = runtime_.transport().connect(addresses_[at(ranks[each])], 0);
    if (!peer) return log(LogLevel::warn, name_ + ": no new plans: " + peer.error().message);
    place.peer = *peer;
  }
  ReplanParticipant& party = *this;
  replan_ = std::make_unique<Replan>(party, runtime_.transport(), std::move(places), own, nodes(),
                                     runtime_.config().segment_bytes, [this] { return TagSpace(id_, orders_++); });
  runtime_.run_beside(std::make_shared<ReplanErrand>(self));
}

bool Communicator::advance_replan() noexcept {
  try {
    if (!broken_) replan_->advance();
    if (!broken_ && !replan_->failed()) {
      if (!replan_->over()) return true;
      replan_.reset();
      ++renewed_;
      begin_replan();
      return false;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory
  }
  // Messages may yet arrive in its memory.
  static_cast<void>(replan_.release());
  if (!broken_) note_failure(nullptr);
  return false;
}

std::uint32_t Communicator::wanted() const {
  std::uint32_t collectives = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    const Prospect& asked_for = prospects_[each];
    if (asked_for.asked && asked_for.obstacle != Reason::chosen_native) collectives |= 1U << each;
  }
  return collectives;
}

ReplanParticipant::Making Communicator::make_plan(Collective collective, std::string& text) {
  const LoweredPlanPointer& plan = prospect(collective).plans.usual;
  const bool outside_only = coming_.removed.size() == 1 && coming_.removed.contains({nodes(), nodes()});
  if (outside_only && plan != nullptr && !plan->through_nics) return Making::none;
  if (steady_nanoseconds() < next_look_) return Making::under_way;
  std::optional<Result<PlanPair>> plans = obtain_plan_without(collective, coming_.left);
  if (!plans) {
    next_look_ = steady_nanoseconds() + between_looks;
    return Making::under_way;
  }
  if (!*plans) {
    log(LogLevel::info,
        name_ + ": no new plan for " + std::string(to_string(collective)) + " (" + plans->error().message + ")");
    return Making::none;
  }
  text = announce((*plans)->usual);
  return Making::there;
}

bool Communicator::take_plan(Collective collective, const std::string& text) {
  auto fresh = std::make_shared<LoweredPlan>();
  if (!lower_plan(text, *fresh)) return false;
  const Lanes lanes = lanes_of(*fresh);
  for (std::size_t lane = 0; lane < lanes.peers.size(); ++lane) {
    if (lanes.peers[lane] != awaited_peer) continue;
    const std::int32_t rank = rank_of_node_[lane % rank_of_node_.size()];
    const auto route_class = static_cast<std::int32_t>(lane / rank_of_node_.size());
    const Result<PeerId> peer = runtime_.transport().connect(addresses_[at(rank)], route_class);
    if (!peer) return false;
    lanes.peers[lane] = *peer;
  }
  coming_.plans[static_cast<std::size_t>(collective)] = std::move(fresh);
  return true;
}

Standing Communicator::hold() {
  held_ = true;
  held_from_ = begun_;
  Standing standing{begun_, {}, wanted()};
  if (opening_) standing.started.emplace(opening_->number, 0);
  std::erase_if(persistent_contexts_, [](const auto& each) { return each.expired(); });
  for (const auto& each : persistent_contexts_) {
    const std::shared_ptr<PersistentContext> persistent = each.lock();
    persistent->held_from_ = persistent->starts_;
    standing.started[persistent->sequence_.number] = persistent->starts_;
  }
  return standing;
}

void Communicator::switch_over(const Switch& agreed) {
  coming_.from = agreed;
  std::string names;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((agreed.collectives >> each & 1U) == 0) {
      coming_.plans[each].reset();
    } else {
      names += (names.empty() ? "" : ", ") + std::string(to_string(static_cast<Collective>(each)));
    }
  }
  if (node_ == 0 && speaks() && !names.empty()) {
    log(LogLevel::info, name_ + ": from call " + std::to_string(agreed.call + 1) + " on, and from the next starts of " +
                            std::to_string(agreed.starts.size()) + " persistent calls, plans of " +
                            coming_.left.name() + " for " + names);
  }
  epochs_.push_back(std::exchange(coming_, {}));
  held_ = false;
}

CallSequence Communicator::next_in_sequence() {
  CallSequence sequence;
  sequence.number = begun_++;
  sequence.settled = !held_;
  while (sequence.settled && adopted_ < epochs_.size() && epochs_[adopted_].from.call <= sequence.number) {
    const PlanEpoch& epoch = epochs_[adopted_++];
    removed_ = epoch.removed;
    what_is_left_ = epoch.left;
    for (std::size_t each = 0; each < collective_count; ++each) {
      Prospect& asked_for = prospects_[each];
      const LoweredPlanPointer& fresh = epoch.plans[each];
      if (fresh == nullptr || asked_for.obstacle != Reason::count_) continue;
      asked_for.plans = {fresh, {}, nullptr, 0};
    }
  }
  sequence.epochs = adopted_;
  return sequence;
}

CallSequence Communicator::next_start(PersistentContext& persistent) const {
  CallSequence sequence;
  sequence.number = persistent.starts_++;
  sequence.epochs = persistent.sequence_.epochs;
  sequence.settled = settles(sequence, &persistent);
  return sequence;
}

bool Communicator::settles(const CallSequence& sequence, const PersistentContext* persistent) const {
  return !held_ || sequence.number < (persistent == nullptr ? held_from_ : persistent->held_from_);
}

LoweredPlanPointer Communicator::settled_plan(Collective collective, LoweredPlanPointer plan,
                                              const CallSequence& sequence, const PersistentContext* persistent) const {
  for (std::size_t each = sequence.epochs; each < epochs_.size(); ++each) {
    const auto& [from, plans, removed, left] = epochs_[each];
    const LoweredPlanPointer& fresh = plans[static_cast<std::size_t>(collective)];
    if (fresh == nullptr) continue;
    bool has_come = from.call <= sequence.number;
    if (persistent != nullptr) {
      const auto start = from.starts.find(persistent->sequence_.number);
      has_come = start != from.starts.end() && start->second <= sequence.number;
    }
    if (has_come) plan = fresh;
  }
  return plan;
}

}  // namespace libcoll
