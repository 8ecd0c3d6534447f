// What a communicator does about links that die: its ranks go by new plans from a call on that they agree on, while
// their calls go on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/connections.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/recovery_group_member.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/transport_host.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/recover/repair.h"
#include "libcoll/recover/replan.h"
#include "libcoll/recover/replan_participant.h"

namespace libcoll {

/// What a call that is waited for begins: itself, or the starts of a persistent call.
enum class Opening : std::uint8_t { call, persistent };

/// Nothing of it has an effect where messages are not sent again.
class Recovery final : private ReplanParticipant, private FailureListener {
 public:
  /// `keeper`: what keeps the communicator; null while it is being made.
  Recovery(Membership& members, Connections& connections, CommunicatorPlans& plans,
           std::function<std::shared_ptr<void>()> keeper)
      : members_(members), connections_(connections), plans_(plans), keeper_(std::move(keeper)), group_(members) {}
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// Before the first call; collective.
  void enrol(HostCommunicator& host);

  /// At the beginning of every call that waits for the others, and at the init of a persistent one: waits while calls
  /// are held up, and goes by new plans from the call on that the ranks have agreed on.
  void sequence(HostCommunicator& host, Opening opening = Opening::call);
  /// Of the init of a persistent call under way, and its end.
  [[nodiscard]] CallSequence opening() const { return opening_.value_or(CallSequence()); }
  void end_opening(const std::shared_ptr<PersistentContext>& persistent);

  /// The same ranks over our own transport. Where messages are sent again, no link that dies holds them up, as it would
  /// MPI's own.
  std::unique_ptr<TransportHost> agree_around(HostCommunicator& host);
  /// Null: messages are not sent again, or there are no tags for ranks. The same on all of them.
  std::unique_ptr<TransportHost> agree_safely(HostCommunicator& host);

  /// Cables that are done without by now, as the communicator has nodes; the same on all ranks at the same call.
  [[nodiscard]] const std::set<BidirectionalLink>& removed() const { return removed_; }

  // Under the runtime's lock.
  /// A call that is not waited for, or a start, begins.
  CallSequence begin(PersistentContext* persistent);
  /// Epochs of plans that calls which begin now go by.
  [[nodiscard]] std::size_t epochs() const { return adopted_; }
  /// Whether links have died, or gone from the topology file, before that call.
  [[nodiscard]] bool is_mended(const CallSequence& sequence) const;
  /// Whether all is known that decides its plan.
  [[nodiscard]] bool settles(const CallSequence& sequence, const PersistentContext* persistent) const;
  /// `plan`, or a later one, once that is known.
  [[nodiscard]] LoweredPlanPointer settled_plan(Collective collective, LoweredPlanPointer plan,
                                                const CallSequence& sequence,
                                                const PersistentContext* persistent) const;

 private:
  class ReplanErrand;
  /// New plans, and where they begin.
  struct PlanEpoch {
    Switch from;
    NewPlans plans;
    std::set<BidirectionalLink> removed;
    Topology left;
  };

  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  bool take_turn(HostCommunicator& host, Opening opening);
  /// Of ranks without messages: their node's speaker says what is done without.
  bool hear_turn(HostCommunicator& host);

  // Under the lock.
  void links_died() noexcept override;
  /// Sees to the next verdict, when there is one.
  void begin_replan();
  /// False when it is over.
  bool advance_replan() noexcept;
  [[nodiscard]] std::uint32_t wanted() const override;
  Making make_plan(Collective collective, std::string& text) override;
  bool take_plan(Collective collective, const std::string& text) override;
  Standing hold() override;
  void release() override { held_ = false; }
  void switch_over(const Switch& agreed) override;
  /// Of a call that begins now.
  CallSequence next_in_sequence();
  CallSequence next_start(PersistentContext& persistent) const;

  Membership& members_;
  Connections& connections_;
  CommunicatorPlans& plans_;
  const std::function<std::shared_ptr<void>()> keeper_;
  std::uint32_t turns_ = 0;              ///< of calls that wait for others
  std::uint64_t begun_ = 0;              ///< calls of all kinds, on ranks with messages
  std::set<BidirectionalLink> removed_;  ///< done without, by now
  std::uint32_t agreements_ = 0;         ///< messages' tags for agree_around()
  std::unique_ptr<Replan> replan_;       ///< under way
  std::uint32_t orders_ = 0;             ///< messages' tags for replans
  std::int64_t next_look_ = 0;           ///< for a plan that is being made
  PlanEpoch coming_;                     ///< what the replan is at
  std::vector<PlanEpoch> epochs_;
  std::size_t adopted_ = 0;  ///< those that calls that begin now go by
  bool held_ = false;
  std::uint64_t held_from_ = 0;  ///< calls, while they are held up
  std::vector<std::weak_ptr<PersistentContext>> persistent_contexts_;
  std::optional<CallSequence> opening_;  ///< of the init of a persistent call under way
  RecoveryGroupMember group_;
};

}  // namespace libcoll
