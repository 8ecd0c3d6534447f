#include "libcoll/comm/plan_sequence.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace libcoll::comm {

using namespace plan;
using namespace recover;
using namespace schedule;

namespace {

/// A start goes by them from the agreed one on, or from the first where the init came later.
bool has_come(const Switch& from, const CallSequence& sequence, const PersistentContext* persistent) {
  if (persistent == nullptr) return from.call <= sequence.number;
  const std::uint64_t init = persistent->sequence().number;
  const auto start = from.starts.find(init);
  return from.call <= init || (start != from.starts.end() && start->second <= sequence.number);
}

bool is_by_failure(const PlanEpoch& epoch) { return epoch.from.changes == 0; }

}  // namespace

CallSequence PlanSequence::next_call() {
  CallSequence sequence;
  sequence.number = begun_++;
  sequence.settled = !is_held();
  return sequence;
}

CallSequence PlanSequence::next_start(PersistentContext& persistent) const {
  CallSequence sequence;
  sequence.number = persistent.begin_start();
  sequence.epochs = persistent.sequence().epochs;
  sequence.changes = persistent.sequence().changes;
  sequence.settled = settles(sequence, &persistent);
  return sequence;
}

void PlanSequence::end_opening(const std::shared_ptr<PersistentContext>& persistent) {
  if (persistent != nullptr && opening_) persistent_contexts_.push_back(persistent);
  opening_.reset();
}

Standing PlanSequence::hold() {
  const bool is_first = holds_++ == 0;
  if (is_first) held_from_ = begun_;
  Standing standing{begun_, {}, 0};
  if (opening_) standing.started.emplace(opening_->number, 0);
  std::erase_if(persistent_contexts_, [](const auto& each) { return each.expired(); });
  for (const auto& each : persistent_contexts_) {
    const std::shared_ptr<PersistentContext> persistent = each.lock();
    if (is_first) persistent->hold();
    standing.started[persistent->sequence().number] = persistent->starts();
  }
  return standing;
}

void PlanSequence::add(PlanEpoch epoch) {
  const auto place = [](const PlanEpoch& each) { return std::pair(each.from.call, is_by_failure(each)); };
  const auto later = std::upper_bound(epochs_.begin(), epochs_.end(), epoch,
                                      [&](const PlanEpoch& a, const PlanEpoch& b) { return place(a) < place(b); });
  epochs_.insert(later, std::move(epoch));
  --holds_;
}

/// None is added before one that was adopted: it begins after all calls that had begun when it was held for.
const PlanEpoch* PlanSequence::adopt(std::uint64_t call) {
  const auto next = std::find_if(epochs_.begin() + static_cast<std::ptrdiff_t>(adopted_), epochs_.end(), is_by_failure);
  if (next == epochs_.end() || next->from.call > call) return nullptr;
  adopted_ = static_cast<std::size_t>(next - epochs_.begin()) + 1;
  return &*next;
}

bool PlanSequence::settles(const CallSequence& sequence, const PersistentContext* persistent) const {
  return !is_held() || sequence.number < (persistent == nullptr ? held_from_ : persistent->held_from());
}

void PlanSequence::settle(Collective collective, CallSequence& sequence, LoweredPlanPointer& plan,
                          const PersistentContext* persistent) const {
  const LoweredPlanPointer begun_with = plan;
  for (std::size_t each = 0; each < epochs_.size(); ++each) {
    const PlanEpoch& epoch = epochs_[each];
    const bool by_file = !is_by_failure(epoch);
    // A blocking call in between may have had as much to say, or more.
    if (by_file && epoch.from.changes <= sequence.changes) continue;
    if (!has_come(epoch.from, sequence, persistent)) continue;
    if (by_file) sequence.plans_only = epoch.from.links_gone;
    const LoweredPlanPointer& fresh = epoch.plans[static_cast<std::size_t>(collective)];
    if (fresh == nullptr) continue;
    // What was adopted is what it has begun with, or newer.
    plan = each < sequence.epochs && !by_file ? begun_with : fresh;
  }
  sequence.settled = true;
}

bool PlanSequence::is_mended(const CallSequence& sequence) const {
  return sequence.plans_only || sequence.epochs > 0 ||
         std::any_of(epochs_.begin(), epochs_.end(), [&sequence](const PlanEpoch& epoch) {
           return is_by_failure(epoch) && epoch.from.call <= sequence.number;
         });
}

bool wait_for_turn(const Membership& members, HostCommunicator& host, const std::function<bool()>& begin) {
  const auto begin_at_once = [&] {
    const std::lock_guard guard(members.runtime().lock());
    return begin();
  };
  const auto meanwhile = [&] {
    if (members.hierarchy() != nullptr) {
      members.hierarchy()->memory()->turns().signs_of_life().fetch_add(1, std::memory_order_relaxed);
      members.hierarchy()->memory()->phases().signs_of_life().fetch_add(1, std::memory_order_relaxed);
    }
    host.progress();
  };
  const auto in_words = [&members] { return members.name() + ": a call waits for new plans"; };
  return begin_at_once() || members.runtime().engine().wait(begin, meanwhile, in_words);
}

}  // namespace libcoll::comm
