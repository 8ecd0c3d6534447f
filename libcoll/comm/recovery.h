// What a communicator does about links that die: its ranks go by new plans from a call on that they agree on, while
// their calls go on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "libcoll/comm/background_replan.h"
#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/plan_sequence.h"
#include "libcoll/comm/recovery_group_member.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/transport_host.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/recover/repair.h"
#include "libcoll/recover/replan_participant.h"

namespace libcoll::comm {

/// What a call that is waited for begins: itself, or the starts of a persistent call.
enum class Opening : std::uint8_t { call, persistent };

/// Nothing of it has an effect where messages are not sent again.
class Recovery final : private recover::ReplanParticipant, private recover::FailureListener {
 public:
  /// `keeper`: what keeps the communicator; null while it is being made.
  Recovery(Membership& members, CommunicatorPlans& plans, PlanSequence& sequence,
           std::function<std::shared_ptr<void>()> keeper)
      : members_(members), plans_(plans), sequence_(sequence), keeper_(std::move(keeper)), group_(members) {}
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// Before the first call; collective.
  void enrol(HostCommunicator& host);

  /// At the beginning of every call that waits for the others, and at the init of a persistent one: waits while calls
  /// are held up, and goes by new plans from the call on that the ranks have agreed on.
  void sequence(HostCommunicator& host, Opening opening = Opening::call);

  /// The same ranks over our own transport. Where messages are sent again, no link that dies holds them up, as it would
  /// MPI's own.
  std::unique_ptr<TransportHost> agree_around(HostCommunicator& host);
  /// Null: messages are not sent again, or there are no tags for ranks. The same on all of them.
  std::unique_ptr<TransportHost> agree_safely(HostCommunicator& host);

  /// Cables that are done without by now, as the communicator has nodes; the same on all ranks at the same call.
  [[nodiscard]] const std::set<node::BidirectionalLink>& removed() const { return removed_; }

  // Under the runtime's lock.
  /// A call that is not waited for, or a start, begins.
  CallSequence begin(PersistentContext* persistent);

 private:
  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  bool take_turn(HostCommunicator& host, Opening opening);
  /// Of ranks without messages: their node's speaker says what is done without.
  bool hear_turn(HostCommunicator& host);

  // Under the lock.
  void links_died() noexcept override;
  /// Sees to the next verdict, when there is one.
  void begin_replan();
  /// Of what the topology file says, on rank 0; otherwise of what there was at the start.
  [[nodiscard]] topology::Topology what_remains() const;
  [[nodiscard]] std::uint32_t wanted() const override;
  Making make_plan(schedule::Collective collective, std::string& text) override;
  bool take_plan(schedule::Collective collective, const std::string& text) override;
  recover::Standing hold() override;
  void release() override { sequence_.release(); }
  void switch_over(const recover::Switch& agreed) override;
  /// Of a call that begins now.
  CallSequence next_in_sequence();

  Membership& members_;
  CommunicatorPlans& plans_;
  PlanSequence& sequence_;
  const std::function<std::shared_ptr<void>()> keeper_;
  std::uint32_t turns_ = 0;                    ///< of calls that wait for others
  std::set<node::BidirectionalLink> removed_;  ///< done without, by now
  std::uint32_t agreements_ = 0;               ///< messages' tags for agree_around()
  std::uint32_t orders_ = 0;                   ///< messages' tags for replans
  std::int64_t next_look_ = 0;                 ///< for a plan that is being made
  PlanEpoch coming_;                           ///< what the replan is at
  BackgroundReplan replan_{members_};
  RecoveryGroupMember group_;
};

}  // namespace libcoll::comm
