// New plans for a communicator whose topology file has changed, from a call on that all of its ranks agree on.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/comm/background_replan.h"
#include "libcoll/comm/changed_fabric_plans.h"
#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/plan_sequence.h"
#include "libcoll/comm/recovery.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/recover/replan_participant.h"

namespace libcoll::comm {

/// How many calls it is from one look at the file to the next: those of about a second, by what calls took since the
/// last one.
class LookPace {
 public:
  void begin(std::int64_t calls) { interval_ = calls; }
  [[nodiscard]] std::int64_t interval() const { return interval_; }
  std::int64_t next(std::int64_t now);

 private:
  std::int64_t interval_ = 0;  ///< between the last look and the one before
  std::int64_t last_look_ = 0;
};

/// Rank 0 looks at the file about once a second. Between looks a call costs the counting.
///
/// Calls that wait for the others look together: at every look rank 0 tells what it has found, and how many calls it is
/// to the next one. When the new plans are made, which goes on beside the calls, all ranks change to them at such a
/// look.
///
/// Calls that are not waited for, and starts of persistent ones, have looks of their own: a replan each, for which
/// nobody waits. Where it brings new plans, it holds up what begins until it is agreed from where on these are gone by.
class Renewal final : private recover::ReplanParticipant {
 public:
  /// `keeper`: what keeps the communicator.
  Renewal(Membership& members, CommunicatorPlans& plans, Recovery& recovery, PlanSequence& sequence,
          std::function<std::shared_ptr<void>()> keeper)
      : members_(members), plans_(plans), recovery_(recovery), sequence_(sequence), keeper_(std::move(keeper)) {}

  /// When the ranks have agreed on the communicator.
  void begin();
  /// Blocking calls' plans are not those of the start. The same on all ranks.
  [[nodiscard]] bool has_renewed() const { return changes_ > 0; }
  /// Of the file, that calls' plans are as of which begin now. The same on all ranks.
  [[nodiscard]] std::uint32_t changes() const { return changes_; }
  /// At every call that waits for the others and is served, once it has its place among them. Collective.
  void at_call(HostCommunicator& host) {
    if (--calls_to_look_ <= 0) look(host);
  }

  /// Whether plans may change between calls that wait for the others. The same on all ranks.
  [[nodiscard]] bool looks_beside() const { return looks_beside_; }
  /// At the init of a persistent call: waits while calls are held up.
  void open(HostCommunicator& host);
  /// A call that is not waited for, or a start, begins on a rank with messages. Under the runtime's lock.
  void begin_beside();

 private:
  /// What rank 0 says at a look.
  struct Finding {
    std::int64_t calls_to_look = 0;
    std::uint32_t changes = 0;      ///< that the plans are as of
    std::uint32_t collectives = 0;  ///< that have new plans, as bits
    std::uint32_t links_gone = 0;   ///< that there were at the start
    std::uint32_t reserved = 0;
  };
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// Collective.
  void look(HostCommunicator& host);
  void follow(const Finding& found, HostCommunicator& agreement);
  Finding find();

  // Under the lock.
  void look_beside();
  [[nodiscard]] std::uint32_t wanted() const override { return plans_.served(); }
  [[nodiscard]] bool must_switch() const override { return found_.has_value(); }
  void add_findings(recover::Switch& agreed) const override;
  Making make_plan(schedule::Collective collective, std::string& text) override;
  bool take_plan(schedule::Collective collective, const std::string& text) override;
  recover::Standing hold() override;
  void release() override { sequence_.release(); }
  void switch_over(const recover::Switch& agreed) override;

  Membership& members_;
  CommunicatorPlans& plans_;
  Recovery& recovery_;
  PlanSequence& sequence_;
  const std::function<std::shared_ptr<void>()> keeper_;
  ChangedFabricPlans changed_{members_, plans_, recovery_};  ///< on rank 0
  std::int64_t calls_to_look_ = never;
  std::uint32_t changes_ = 0;  ///< seen to; the same on all ranks
  LookPace pace_;              ///< on rank 0

  bool looks_beside_ = false;
  std::uint64_t begun_beside_ = 0;  ///< calls and starts
  std::uint64_t next_beside_ = 0;   ///< after so many of them is the next look; rank 0 has it when it begins one
  std::uint32_t changes_beside_ = 0;
  std::optional<ReplanRanks> ranks_;
  std::vector<int> parents_;  ///< of these
  NewPlans coming_;
  std::uint32_t orders_ = 0;            ///< messages' tags for replans
  LookPace pace_beside_;                ///< on rank 0
  std::int64_t next_try_ = 0;           ///< on rank 0, for a plan that is being made
  std::optional<PlansOfChange> found_;  ///< on rank 0, by the look under way
  BackgroundReplan replan_{members_};
};

}  // namespace libcoll::comm
