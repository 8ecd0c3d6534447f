#include "libcoll/comm/renewal.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace observe;
using namespace plan;
using namespace recover;
using namespace schedule;

namespace {

constexpr std::int64_t nanoseconds_between_checks = 1'000'000'000;  // nanoseconds
constexpr std::int64_t calls_to_first_look = 4;
/// Calls that take long may follow on short ones, and a look costs no more than one of these.
constexpr std::int64_t most_calls_between_looks = 256;
/// For a plan that is being made, in nanoseconds.
constexpr std::int64_t between_tries = 5'000'000;

std::string names_of(std::uint32_t collectives) {
  std::string names;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((collectives >> each & 1U) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(to_string(static_cast<Collective>(each)));
  }
  return names.empty() ? "no collective" : names;
}

std::string by_new_plans(std::uint32_t collectives, bool links_gone) {
  return names_of(collectives) + " by new plans" + (links_gone ? ", without links that are gone" : "");
}

}  // namespace

std::int64_t LookPace::next(std::int64_t now) {
  const std::int64_t took = now - std::exchange(last_look_, now);
  std::int64_t wanted = 2 * interval_;
  if (took < now) wanted = std::min(wanted, interval_ * nanoseconds_between_checks / std::max<std::int64_t>(1, took));
  return interval_ = std::clamp<std::int64_t>(wanted, 1, most_calls_between_looks);
}

void Renewal::begin() {
  if (!members_.fabric_is_watched() || members_.nodes() < 2) return;
  const std::int64_t first = members_.fabric_has_changed() ? 1 : calls_to_first_look;
  calls_to_look_ = first;
  pace_.begin(first);
  looks_beside_ = members_.ranks_have_tags();
  next_beside_ = static_cast<std::uint64_t>(first);
  pace_beside_.begin(first);
}

// ---- calls that wait for others ---------------------------------------------------------------------------------

void Renewal::look(HostCommunicator& host) {
  const std::unique_ptr<TransportHost> around = recovery_.agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  Finding found;
  if (host.rank() == 0) found = find();
  const bool heard = agreement.broadcast(&found, sizeof found);
  calls_to_look_ = heard ? found.calls_to_look : never;
  if (heard && found.changes != changes_) follow(found, agreement);
  if (around == nullptr || around->good()) return;
  // As for a plan: the ranks are no longer at the same place.
  const std::lock_guard guard(runtime().lock());
  members_.note_failure(nullptr);
}

Renewal::Finding Renewal::find() {
  const std::lock_guard guard(runtime().lock());
  Finding found{pace_.next(steady_nanoseconds()), changes_, 0, 0, 0};
  if (const std::optional<PlansOfChange> fresh = changed_.since(changes_)) {
    found.changes = fresh->changes;
    found.collectives = fresh->collectives;
    found.links_gone = fresh->links_gone ? 1 : 0;
  }
  return found;
}

void Renewal::follow(const Finding& found, HostCommunicator& agreement) {
  changes_ = found.changes;
  runtime().topology_watch().hear_of_change();
  {
    const std::lock_guard guard(runtime().lock());
    plans_.set_links_gone(found.links_gone != 0);
  }
  std::uint32_t adopted = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((found.collectives >> each & 1U) == 0) continue;
    const std::optional<Reason> reason = plans_.adopt(static_cast<Collective>(each), agreement, Planning::waited_for);
    if (!reason) adopted |= 1U << each;
  }
  if (agreement.rank() == 0) {
    log(LogLevel::info,
        members_.name() + ": " + changed_.cause() + "; from now on " + by_new_plans(adopted, found.links_gone != 0));
  }
}

// ---- others -----------------------------------------------------------------------------------------------------

void Renewal::open(HostCommunicator& host) {
  if (!looks_beside_ || members_.rank_of_node().empty()) return;
  const auto begin = [&] {
    // Where messages are sent again, it has begun among all calls.
    if (!members_.resends()) {
      if (sequence_.is_held() && !members_.is_broken()) return false;
      sequence_.open(sequence_.next_call());
    }
    begin_beside();
    return true;
  };
  if (wait_for_turn(members_, host, begin)) return;
  const std::lock_guard guard(runtime().lock());
  members_.note_failure(nullptr);
}

void Renewal::begin_beside() {
  ++begun_beside_;
  look_beside();
}

void Renewal::look_beside() {
  if (begun_beside_ < next_beside_ || replan_.is_under_way() || members_.is_broken()) return;
  std::shared_ptr<void> keeper = keeper_();
  if (keeper == nullptr) return;
  if (!ranks_) {
    ranks_.emplace(members_);
    parents_ = ranks_->parents_on(members_.planned_for());
  }
  Result<std::vector<TreePlace>> places = ranks_->places(members_, parents_);
  if (!places) {
    log(LogLevel::warn, members_.name() + ": " + places.error().message);
    return members_.note_failure(nullptr);
  }
  if (ranks_->own == 0) {
    next_beside_ = begun_beside_ + static_cast<std::uint64_t>(pace_beside_.next(steady_nanoseconds()));
    found_ = changed_.since(changes_beside_);
  }
  replan_.begin(
      std::move(keeper), *this, std::move(*places), ranks_->own,
      [this] { return replan_tags(members_, ReplanCause::file_changed, orders_++); }, [this] { look_beside(); });
}

void Renewal::add_findings(Switch& agreed) const {
  agreed.next_look = next_beside_;
  if (!found_) return;
  agreed.changes = found_->changes;
  agreed.links_gone = found_->links_gone;
  agreed.parents = ranks_->parents_on(changed_.fabric());
}

ReplanParticipant::Making Renewal::make_plan(Collective collective, std::string& text) {
  if (steady_nanoseconds() < next_try_) return Making::under_way;
  const std::optional<bool> there = plans_.make(collective);
  if (!there) {
    next_try_ = steady_nanoseconds() + between_tries;
    return Making::under_way;
  }
  if (!*there) return Making::none;
  text = plans_.announce_made(collective);
  return Making::there;
}

bool Renewal::take_plan(Collective collective, const std::string& text) {
  LoweredPlanPointer fresh = plans_.take_beside(text);
  const bool of_use = fresh != nullptr;
  coming_[static_cast<std::size_t>(collective)] = std::move(fresh);
  return of_use;
}

Standing Renewal::hold() {
  Standing standing = sequence_.hold();
  standing.wanted = wanted();
  return standing;
}

void Renewal::switch_over(const Switch& agreed) {
  next_beside_ = agreed.next_look;
  if (agreed.changes == 0) return;
  changes_beside_ = agreed.changes;
  runtime().topology_watch().hear_of_change();
  const bool all_are_reached = std::count(agreed.parents.begin(), agreed.parents.end(), -1) == 1;
  if (all_are_reached && agreed.parents.size() == parents_.size()) parents_ = agreed.parents;
  NewPlans plans = std::exchange(coming_, {});
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((agreed.collectives >> each & 1U) == 0) plans[each].reset();
  }
  sequence_.add({agreed, std::move(plans), {}, {}});
  if (ranks_->own != 0) return;
  log(LogLevel::info, members_.name() + ": " + changed_.cause() + "; from nonblocking call " +
                          std::to_string(agreed.call + 1) + " on, and from the next starts of " +
                          std::to_string(agreed.starts.size()) + " persistent calls, " +
                          by_new_plans(agreed.collectives, agreed.links_gone));
}

}  // namespace libcoll::comm
