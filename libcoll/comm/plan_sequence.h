// Where a communicator's calls stand among those that all of its ranks count alike, and the new plans that they go by
// from an agreed place on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/recover/replan_participant.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

/// New plans, and where they begin.
struct PlanEpoch {
  recover::Switch from;
  NewPlans plans;
  // After links have died.
  std::set<node::BidirectionalLink> removed;
  topology::Topology left;
};

/// Calls are counted where plans may change: where messages are sent again all of them, where the topology file is
/// watched those that are not waited for. Starts of each persistent call are counted by themselves. Epochs have the
/// order of their calls, on all ranks, whichever a rank hears of first. All members but the constructor are to be
/// called under the runtime's lock.
class PlanSequence {
 public:
  /// Numbers a call that begins, or the init of a persistent one.
  CallSequence next_call();
  /// Numbers a start.
  [[nodiscard]] CallSequence next_start(PersistentContext& persistent) const;
  /// One of these.
  CallSequence next(PersistentContext* persistent) {
    return persistent != nullptr ? next_start(*persistent) : next_call();
  }

  /// Between these two an init is under way: begun, but not yet a persistent call whose starts are counted.
  void open(const CallSequence& sequence) { opening_ = sequence; }
  void end_opening(const std::shared_ptr<PersistentContext>& persistent);
  /// Of the init under way.
  [[nodiscard]] CallSequence opening() const { return opening_.value_or(CallSequence()); }

  /// As ReplanParticipant. What begins from now on is unsettled, until each hold() has had its release() or add().
  recover::Standing hold();
  void release() { --holds_; }
  [[nodiscard]] bool is_held() const { return holds_ > 0; }
  void add(PlanEpoch epoch);  ///< what it was held for

  /// The next epoch after links have died that calls from that one on go by for good; null: none.
  const PlanEpoch* adopt(std::uint64_t call);
  /// Epochs up to the last one that was adopted.
  [[nodiscard]] std::size_t adopted() const { return adopted_; }

  /// Whether all is known that decides the plan of a call, or a start.
  [[nodiscard]] bool settles(const CallSequence& sequence, const PersistentContext* persistent) const;
  /// Has it go by `plan`, which it has begun with, or by the last plan of an epoch that has come by then. Precondition:
  /// settles().
  void settle(schedule::Collective collective, CallSequence& sequence, plan::LoweredPlanPointer& plan,
              const PersistentContext* persistent) const;
  /// Whether links have died, or gone from the topology file, before that call, which is settled.
  [[nodiscard]] bool is_mended(const CallSequence& sequence) const;

 private:
  std::uint64_t begun_ = 0;
  std::vector<PlanEpoch> epochs_;  ///< of the same call, those after links have died come last
  std::size_t adopted_ = 0;
  int holds_ = 0;
  std::uint64_t held_from_ = 0;  ///< calls, while they are held up
  std::vector<std::weak_ptr<PersistentContext>> persistent_contexts_;
  std::optional<CallSequence> opening_;
};

/// Waits until `begin`, under the lock, has begun a call of the communicator. False when nothing moved for the
/// configured time.
bool wait_for_turn(const Membership& members, HostCommunicator& host, const std::function<bool()>& begin);

}  // namespace libcoll::comm
