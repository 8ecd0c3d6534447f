#include "libcoll/comm/recovery.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/recover/agreement_tree.h"
#include "libcoll/transport/detours.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace node;
using namespace plan;
using namespace recover;
using namespace schedule;
using namespace topology;
using namespace transport;

namespace {

/// A message that is lost may be on its way through this process.
constexpr std::chrono::microseconds longest_sleep{1000};

/// For a plan that is being made, in nanoseconds: a look takes as long as many messages.
constexpr std::int64_t nanoseconds_between_looks = 5'000'000;

}  // namespace

Recovery::~Recovery() { group_.leave(); }

void Recovery::enrol(HostCommunicator& host) {
  if (!members_.uses_transport()) return;
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
    if (sequence_.is_held() && !members_.is_broken()) return false;
    const CallSequence sequence = next_in_sequence();
    if (opening == Opening::persistent) sequence_.open(sequence);
    return true;
  };
  return wait_for_turn(members_, host, begin) && !members_.is_broken();
}

bool Recovery::hear_turn(HostCommunicator& host) {
  CallOrder& node = members_.hierarchy()->memory()->turns();
  const std::function<bool()> other_things = [&] {
    runtime().engine().progress();
    host.progress();
    return true;
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
  if (group_.repair() == nullptr || replan_.is_under_way() || members_.is_broken() ||
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
  const ReplanRanks ranks(members_);
  Result<std::vector<TreePlace>> places = ranks.places(members_, ranks.parents_on(coming_.left));
  if (!places) return log(LogLevel::warn, members_.name() + ": no new plans: " + places.error().message);
  replan_.begin(
      std::move(keeper), *this, std::move(*places), ranks.own,
      [this] { return replan_tags(members_, ReplanCause::links_died, orders_++); },
      [this] {
        group_.see_next();
        begin_replan();
      });
}

std::uint32_t Recovery::wanted() const { return plans_.asked_for(); }

Topology Recovery::what_remains() const {
  if (plans_.changed()) {
    std::optional<Topology> left = without_dead(plans_.changed()->topology, coming_.removed, members_.nodes());
    if (left) return std::move(*left);
  }
  return coming_.left;
}

ReplanParticipant::Making Recovery::make_plan(Collective collective, std::string& text) {
  const LoweredPlanPointer& plan = plans_.of(collective).usual;
  const bool outside_only =
      coming_.removed.size() == 1 && coming_.removed.contains({members_.nodes(), members_.nodes()});
  if (outside_only && plan != nullptr && !plan->through_nics) return Making::none;
  if (steady_nanoseconds() < next_look_) return Making::under_way;
  std::optional<Result<PlanPair>> plans = plans_.obtain_without(collective, what_remains());
  if (!plans) {
    next_look_ = steady_nanoseconds() + nanoseconds_between_looks;
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
  LoweredPlanPointer fresh = plans_.take_beside(text);
  const bool of_use = fresh != nullptr;
  coming_.plans[static_cast<std::size_t>(collective)] = std::move(fresh);
  return of_use;
}

Standing Recovery::hold() {
  Standing standing = sequence_.hold();
  standing.wanted = wanted();
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
  if (ReplanRanks(members_).own == 0 && !names.empty()) {
    log(LogLevel::info, members_.name() + ": from call " + std::to_string(agreed.call + 1) +
                            " on, and from the next starts of " + std::to_string(agreed.starts.size()) +
                            " persistent calls, plans of " + what_remains().name() + " for " + names);
  }
  sequence_.add(std::exchange(coming_, {}));
}

CallSequence Recovery::begin(PersistentContext* persistent) {
  begin_replan();
  return persistent != nullptr ? sequence_.next_start(*persistent) : next_in_sequence();
}

CallSequence Recovery::next_in_sequence() {
  CallSequence sequence = sequence_.next_call();
  while (sequence.settled) {
    const PlanEpoch* epoch = sequence_.adopt(sequence.number);
    if (epoch == nullptr) break;
    removed_ = epoch->removed;
    plans_.set_left(epoch->left);
    plans_.switch_to(epoch->plans);
  }
  sequence.epochs = sequence_.adopted();
  return sequence;
}

}  // namespace libcoll::comm
