#include "libcoll/comm/recovery.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/recover/agreement_tree.h"
#include "libcoll/transport/detours.h"
#include "planner/base/index.h"

namespace libcoll {
namespace {

/// A message that is lost may be on its way through this process.
constexpr std::chrono::microseconds longest_sleep{1000};

/// For a plan that is being made, in nanoseconds: a look takes as long as many messages.
constexpr std::int64_t between_looks = 5'000'000;

}  // namespace

/// Keeps the communicator for as long as others may need it, though the program may have freed it.
class Recovery::ReplanErrand final : public Errand {
 public:
  ReplanErrand(std::shared_ptr<void> keeper, Recovery& recovery) : keeper_(std::move(keeper)), recovery_(recovery) {}
  bool advance() noexcept override { return recovery_.advance_replan(); }

 private:
  std::shared_ptr<void> keeper_;
  Recovery& recovery_;
};

Recovery::~Recovery() {
  group_.leave();
  static_cast<void>(replan_.release());  // messages may yet arrive in its memory
}

void Recovery::enrol(HostCommunicator& host) {
  group_.enrol(host, *this);
  if (group_.repair() == nullptr) return;
  const std::lock_guard guard(runtime().lock());
  removed_ = group_.removed_after(group_.seen());
  plans_.set_left(group_.what_remains(removed_));
}

// ---- calls that wait for others ---------------------------------------------------------------------------------

void Recovery::sequence(HostCommunicator& host, Opening opening) {
  // Ranks have to have tags beside those of nodes.
  if (!members_.resends() || members_.is_broken() || !members_.ranks_have_tags()) return;
  ++turns_;
  const bool has_messages = !members_.rank_of_node().empty();
  const bool taken = !has_messages || take_turn(host, opening);
  if (members_.hierarchy() != nullptr && members_.speaks()) {
    CallOrder& node = members_.hierarchy()->memory()->turns();
    // All nodes' lists have room for the same ones.
    if (taken) {
      node.tell(turns_, removed_);
    } else {
      node.fail();
    }
  }
  if (!taken || (!has_messages && !hear_turn(host))) {
    const std::lock_guard guard(runtime().lock());
    members_.note_failure(nullptr);
  }
}

bool Recovery::take_turn(HostCommunicator& host, Opening opening) {
  const auto begin = [&] {
    begin_replan();  // that was due while this was being made
    if (held_ && !members_.is_broken()) return false;
    const CallSequence sequence = next_in_sequence();
    if (opening == Opening::persistent) opening_ = sequence;
    return true;
  };
  const auto begin_at_once = [&] {
    const std::lock_guard guard(runtime().lock());
    return begin();
  };
  const auto meanwhile = [&] {
    if (members_.hierarchy() != nullptr) {
      members_.hierarchy()->memory()->turns().signs_of_life().fetch_add(1, std::memory_order_relaxed);
      members_.hierarchy()->memory()->phases().signs_of_life().fetch_add(1, std::memory_order_relaxed);
    }
    host.progress();
  };
  return (begin_at_once() ||
          runtime().wait(begin, meanwhile, [this] { return members_.name() + ": a call waits for new plans"; })) &&
         !members_.is_broken();
}

bool Recovery::hear_turn(HostCommunicator& host) {
  CallOrder& node = members_.hierarchy()->memory()->turns();
  const std::function<void()> other_things = [&] {
    runtime().progress();
    host.progress();
  };
  const Config& config = runtime().config();
  const Patience patience{std::chrono::microseconds(config.poll_microseconds),
                          std::chrono::seconds(config.timeout_seconds), longest_sleep, &other_things};
  if (!node.hear(turns_, patience)) return false;
  std::set<BidirectionalLink> removed = node.cables(turns_);
  if (removed == removed_) return true;
  removed_ = std::move(removed);
  plans_.set_left(group_.what_remains(removed_));
  return true;
}

std::unique_ptr<TransportHost> Recovery::agree_safely(HostCommunicator& host) {
  if (!members_.resends() || !members_.ranks_have_tags()) return nullptr;
  return agree_around(host);
}

/// Along links that are not known to be dead, and within nodes.
std::unique_ptr<TransportHost> Recovery::agree_around(HostCommunicator& host) {
  std::vector<NodeId> node_of_rank(static_cast<std::size_t>(members_.size()));
  std::vector<std::int32_t> speakers = members_.rank_of_node();
  if (members_.hierarchy() != nullptr) {
    node_of_rank = members_.hierarchy()->layout().node_of_rank;
    speakers = members_.hierarchy()->layout().slice(0);
  } else {
    for (std::size_t node = 0; node < speakers.size(); ++node)
      node_of_rank[at(speakers[node])] = static_cast<NodeId>(node);
  }
  const Topology& whole = members_.part() ? *members_.part() : runtime().topology();
  const Topology& topology = plans_.left() ? *plans_.left() : whole;
  const std::vector<int> parents = agreement_tree(node_of_rank, speakers, neighbouring_hosts(topology));
  std::vector<TreePlace> places;
  const std::lock_guard guard(runtime().lock());
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    TreePlace& place = places.emplace_back();
    place.node = node_of_rank[rank];
    place.parent = parents[rank];
    if (place.parent != members_.rank() && parents[at(members_.rank())] != static_cast<int>(rank)) continue;
    const Result<PeerId> peer = runtime().transport().connect(members_.addresses()[rank], 0);
    if (peer) place.peer = *peer;
  }
  const auto nodes = static_cast<NodeId>(speakers.size());
  return std::make_unique<TransportHost>(runtime(), host, std::move(places), nodes,
                                         [this] { return TagSpace(members_.id(), agreements_++); });
}

// ---- new plans while calls go on --------------------------------------------------------------------------------

void Recovery::links_died() noexcept try { begin_replan(); } catch (...) {  // NOLINT(bugprone-empty-catch)
  // No memory: the old plans still serve, with messages that take other ways.
}

void Recovery::begin_replan() {
  if (group_.repair() == nullptr || replan_ != nullptr || members_.is_broken() ||
      group_.seen() == group_.repair()->verdicts()) {
    return;
  }
  // While it is being made, nobody shares it yet; the first call looks again.
  std::shared_ptr<void> keeper = keeper_();
  if (keeper == nullptr || !members_.ranks_have_tags()) return;
  std::optional<Topology> left;
  while (!left && group_.seen() < group_.repair()->verdicts()) {
    coming_ = {};
    coming_.removed = group_.removed_after(group_.seen() + 1);
    if (coming_.removed != group_.removed_after(group_.seen())) left = group_.what_remains(coming_.removed);
    if (!left) group_.see_next();  // equal on all ranks; the old plans still serve, with messages that take other ways
  }
  if (!left) return;
  coming_.left = std::move(*left);
  // All who have messages, the speakers of nodes first.
  std::vector<std::int32_t> ranks = members_.rank_of_node();
  if (members_.hierarchy() != nullptr) {
    ranks.clear();
    for (std::int32_t slice = 0; slice < members_.hierarchy()->slices(); ++slice) {
      const std::vector<std::int32_t> more = members_.hierarchy()->layout().slice(slice);
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
  }
  std::vector<NodeId> node_of(ranks.size());
  std::vector<std::int32_t> speakers(at(members_.nodes()));
  for (std::size_t each = 0; each < ranks.size(); ++each) node_of[each] = static_cast<NodeId>(each % speakers.size());
  std::iota(speakers.begin(), speakers.end(), 0);
  const std::vector<int> parents = agreement_tree(node_of, speakers, neighbouring_hosts(coming_.left));
  const int own = static_cast<int>(std::find(ranks.begin(), ranks.end(), members_.rank()) - ranks.begin());
  std::vector<TreePlace> places;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    TreePlace& place = places.emplace_back();
    place.node = node_of[each];
    place.parent = parents[each];
    if (place.parent != own && parents[at(own)] != static_cast<int>(each)) continue;
    const Result<PeerId> peer = runtime().transport().connect(members_.addresses()[at(ranks[each])], 0);
    if (!peer) return log(LogLevel::warn, members_.name() + ": no new plans: " + peer.error().message);
    place.peer = *peer;
  }
  ReplanParticipant& party = *this;
  replan_ =
      std::make_unique<Replan>(party, runtime().transport(), std::move(places), own, members_.nodes(),
                               runtime().config().segment_bytes, [this] { return TagSpace(members_.id(), orders_++); });
  runtime().run_beside(std::make_shared<ReplanErrand>(std::move(keeper), *this));
}

bool Recovery::advance_replan() noexcept {
  try {
    if (!members_.is_broken()) replan_->advance();
    if (!members_.is_broken() && !replan_->failed()) {
      if (!replan_->over()) return true;
      replan_.reset();
      group_.see_next();
      begin_replan();
      return false;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory
  }
  // Messages may yet arrive in its memory.
  static_cast<void>(replan_.release());
  if (!members_.is_broken()) members_.note_failure(nullptr);
  return false;
}

std::uint32_t Recovery::wanted() const { return plans_.asked_for(); }

ReplanParticipant::Making Recovery::make_plan(Collective collective, std::string& text) {
  const LoweredPlanPointer& plan = plans_.of(collective).usual;
  const bool outside_only =
      coming_.removed.size() == 1 && coming_.removed.contains({members_.nodes(), members_.nodes()});
  if (outside_only && plan != nullptr && !plan->through_nics) return Making::none;
  if (steady_nanoseconds() < next_look_) return Making::under_way;
  std::optional<Result<PlanPair>> plans = plans_.obtain_without(collective, coming_.left);
  if (!plans) {
    next_look_ = steady_nanoseconds() + between_looks;
    return Making::under_way;
  }
  if (!*plans) {
    log(LogLevel::info, members_.name() + ": no new plan for " + std::string(to_string(collective)) + " (" +
                            plans->error().message + ")");
    return Making::none;
  }
  text = plans_.announce((*plans)->usual);
  return Making::there;
}

bool Recovery::take_plan(Collective collective, const std::string& text) {
  auto fresh = std::make_shared<LoweredPlan>();
  if (!plans_.lower_text(text, *fresh)) return false;
  if (!connections_.connect_awaited(connections_.lanes_of(*fresh))) return false;
  coming_.plans[static_cast<std::size_t>(collective)] = std::move(fresh);
  return true;
}

Standing Recovery::hold() {
  held_ = true;
  held_from_ = begun_;
  Standing standing{begun_, {}, wanted()};
  if (opening_) standing.started.emplace(opening_->number, 0);
  std::erase_if(persistent_contexts_, [](const auto& each) { return each.expired(); });
  for (const auto& each : persistent_contexts_) {
    const std::shared_ptr<PersistentContext> persistent = each.lock();
    persistent->hold();
    standing.started[persistent->sequence().number] = persistent->starts();
  }
  return standing;
}

void Recovery::switch_over(const Switch& agreed) {
  coming_.from = agreed;
  std::string names;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((agreed.collectives >> each & 1U) == 0) {
      coming_.plans[each].reset();
    } else {
      names += (names.empty() ? "" : ", ") + std::string(to_string(static_cast<Collective>(each)));
    }
  }
  if (members_.node() == 0 && members_.speaks() && !names.empty()) {
    log(LogLevel::info, members_.name() + ": from call " + std::to_string(agreed.call + 1) +
                            " on, and from the next starts of " + std::to_string(agreed.starts.size()) +
                            " persistent calls, plans of " + coming_.left.name() + " for " + names);
  }
  epochs_.push_back(std::exchange(coming_, {}));
  held_ = false;
}

CallSequence Recovery::begin(PersistentContext* persistent) {
  begin_replan();
  return persistent != nullptr ? next_start(*persistent) : next_in_sequence();
}

bool Recovery::is_mended(const CallSequence& sequence) const {
  return sequence.plans_only || sequence.epochs > 0 ||
         std::any_of(epochs_.begin(), epochs_.end(),
                     [&sequence](const PlanEpoch& epoch) { return epoch.from.call <= sequence.number; });
}

void Recovery::end_opening(const std::shared_ptr<PersistentContext>& persistent) {
  const std::lock_guard guard(runtime().lock());
  if (persistent != nullptr && opening_) persistent_contexts_.push_back(persistent);
  opening_.reset();
}

CallSequence Recovery::next_in_sequence() {
  CallSequence sequence;
  sequence.number = begun_++;
  sequence.settled = !held_;
  while (sequence.settled && adopted_ < epochs_.size() && epochs_[adopted_].from.call <= sequence.number) {
    const PlanEpoch& epoch = epochs_[adopted_++];
    removed_ = epoch.removed;
    plans_.set_left(epoch.left);
    plans_.switch_to(epoch.plans);
  }
  sequence.epochs = adopted_;
  return sequence;
}

CallSequence Recovery::next_start(PersistentContext& persistent) const {
  CallSequence sequence;
  sequence.number = persistent.begin_start();
  sequence.epochs = persistent.sequence().epochs;
  sequence.settled = settles(sequence, &persistent);
  return sequence;
}

bool Recovery::settles(const CallSequence& sequence, const PersistentContext* persistent) const {
  return !held_ || sequence.number < (persistent == nullptr ? held_from_ : persistent->held_from());
}

LoweredPlanPointer Recovery::settled_plan(Collective collective, LoweredPlanPointer plan, const CallSequence& sequence,
                                          const PersistentContext* persistent) const {
  for (std::size_t each = sequence.epochs; each < epochs_.size(); ++each) {
    const auto& [from, plans, removed, left] = epochs_[each];
    const LoweredPlanPointer& fresh = plans[static_cast<std::size_t>(collective)];
    if (fresh == nullptr) continue;
    bool has_come = from.call <= sequence.number;
    if (persistent != nullptr) {
      const auto start = from.starts.find(persistent->sequence().number);
      has_come = start != from.starts.end() && start->second <= sequence.number;
    }
    if (has_come) plan = fresh;
  }
  return plan;
}

}  // namespace libcoll
