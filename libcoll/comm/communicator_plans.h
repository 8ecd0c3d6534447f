// The plans of a communicator: wanted, made on rank 0 or elsewhere, handed to all ranks, and lowered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "libcoll/comm/call_choices.h"
#include "libcoll/comm/connections.h"
#include "libcoll/comm/direct_calls.h"
#include "libcoll/comm/membership.h"
#include "libcoll/observe/setup_times.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/select/cost_model.h"
#include "planner/schedule/one_root_time.h"
#include "planner/schedule/schedule.h"

namespace libcoll::comm {

/// How far a collective has come.
struct Prospect {
  bool asked = false;
  std::optional<observe::Reason> obstacle = observe::Reason::no_plan;
  std::uint32_t calls_without = 0;  ///< that came while the plan was being made
  /// What calls go by that begin now. Changes in blocking calls, at the init of persistent ones, and at calls that
  /// the ranks have agreed on: there all of them are at the same place among the communicator's calls. So whatever is
  /// begun between two of these has one plan everywhere, and keeps it, whenever its rounds come to be started.
  plan::Plans plans;
  select::PlanCost cost;                ///< on rank 0, of the usual plan
  schedule::OneRootTime one_root_time;  ///< the same
  bool asked_for_one_root = false;
};

enum class Planning : std::uint8_t {
  as_configured,
  waited_for,
  beside_calls,       ///< by whoever asks again
  for_small_vectors,  ///< the one that came with the usual plan
  for_one_root,       ///< where it is faster than the usual plan; waited for
};

/// What a topology file has changed to, as a communicator's nodes see it.
struct ChangedFabric {
  topology::Topology topology;
  bool hosts_forward = false;  ///< nobody has told the fabric of routes for it
};

/// By collective.
using NewPlans = std::array<plan::LoweredPlanPointer, collective_count>;

class CommunicatorPlans {
 public:
  CommunicatorPlans(Membership& members, Connections& connections, const CallChoices& choices, DirectCalls& calls)
      : members_(members), connections_(connections), choices_(choices), direct_(calls) {}

  /// For a copy: the original's plans as they are now.
  void inherit(const CommunicatorPlans& original) { prospects_ = original.prospects_; }
  /// Tells the record, if there is one, of the plans that are there already.
  void record_inherited() const;
  [[nodiscard]] Prospect& prospect(schedule::Collective collective) {
    return prospects_[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] const Prospect& prospect(schedule::Collective collective) const {
    return prospects_[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] const plan::Plans& of(schedule::Collective collective) const { return prospect(collective).plans; }
  /// Collectives whose plans were asked for, as bits.
  [[nodiscard]] std::uint32_t asked_for() const;
  /// What plans are made for when links have died; otherwise nothing.
  [[nodiscard]] const std::optional<topology::Topology>& left() const { return left_; }
  void set_left(std::optional<topology::Topology> left) { left_ = std::move(left); }
  /// Links have died, or gone from the topology file: nothing goes without a plan. The same on all ranks.
  [[nodiscard]] bool plans_only() const { return left_ || links_gone_; }
  void set_links_gone(bool gone) { links_gone_ = gone; }
  /// Rank 0's: what plans are made for from now on. Nothing: what the ranks were on from the start. Under the runtime's
  /// lock.
  void set_changed(std::optional<ChangedFabric> changed);
  [[nodiscard]] const std::optional<ChangedFabric>& changed() const { return changed_; }
  /// Collectives that go by plans, as bits.
  [[nodiscard]] std::uint32_t served() const;
  /// Rank 0's: has the plans at hand that adopt() would make. Nothing as long as they are being made; false when there
  /// will be none. Under the runtime's lock.
  std::optional<bool> make(schedule::Collective collective);
  /// Before the first plan: what has gone on until then.
  void set_times(const observe::SetupTimes& times) { times_ = times; }

  /// Has the collective's calls go from now on by its plan, when there is one, and short ones by others: by those of
  /// planners that the tuning table names, which it waits for, and by the one for small vectors that comes with the
  /// usual one. Collective.
  std::optional<observe::Reason> adopt(schedule::Collective collective, HostCommunicator& host, Planning planning);
  /// Has large calls in which one rank has everything (broadcasts), or gets it (reductions), go by a plan for these
  /// from now on, where it takes less time. Collective; precondition: adopt() was good.
  void adopt_one_root(schedule::Collective collective, HostCommunicator& host);
  /// Calls that begin now go by these, where they are served. Under the runtime's lock.
  void switch_to(const NewPlans& plans);

  /// For what is left of the topology, as PlanSource::obtain(); not waited for.
  std::optional<Result<plan::PlanPair>> obtain_without(schedule::Collective collective, const topology::Topology& left);
  /// The plan as others get it.
  std::string announce(schedule::Schedule& schedule) const;
  /// On rank 0, as they get the one that make() has at hand. Under the runtime's lock.
  [[nodiscard]] std::string announce_made(schedule::Collective collective) const;
  /// This rank's part of it, for calls that nobody has begun yet; null when it is of no use here. Under the runtime's
  /// lock.
  plan::LoweredPlanPointer take_beside(const std::string& text);

 private:
  /// A plan that is wanted.
  struct Wanted {
    schedule::Collective collective;
    Planning planning = Planning::as_configured;
    PlannerName algorithm;  ///< empty: as configured
  };

  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// This rank's part of a plan; false when it cannot be read.
  bool lower_text(const std::string& text, plan::LoweredPlan& plan) const;
  /// Collective.
  std::optional<observe::Reason> distribute(const Wanted& wanted, HostCommunicator& host, plan::LoweredPlan& plan);
  void adopt_named(schedule::Collective collective, HostCommunicator& host);
  /// Which plan it is and up to which size it takes less time follow from the topology alone, so that reductions have
  /// the same bits in every run.
  void adopt_small(schedule::Collective collective, HostCommunicator& host);
  /// On rank 0: hosts forward, for nobody has told the fabric of other routes.
  [[nodiscard]] bool hosts_forward() const;
  /// As obtain(), on what the file has changed to.
  std::optional<Result<plan::PlanPair>> obtain_on(const std::optional<ChangedFabric>& changed, const Wanted& wanted);
  /// As obtain_without(), where `changed` has routes as a fabric has at the start.
  std::optional<Result<plan::PlanPair>> obtain_changed(const Wanted& wanted, const ChangedFabric& changed);
  /// Rank 0's, as PlanSource::obtain().
  std::optional<Result<plan::PlanPair>> obtain(const Wanted& wanted);
  /// On rank 0: the plan as all ranks get it; nothing when it is not there yet, an empty text when there will be none.
  std::optional<std::string> plan_text(const Wanted& wanted, HostCommunicator& host);
  /// On rank 0: of the plan for one root; empty where there is none, or the usual one is no slower.
  std::string one_root_plan_text(schedule::Collective collective, Result<plan::PlanPair> plans);
  /// On rank 0: of the plan for small vectors; empty where there is none.
  std::string small_plan_text(schedule::Collective collective);
  bool take(const std::string& text, plan::LoweredPlan& plan);
  /// Which way of all nodes calls may go where `schedule` is usual.
  void lower_spread(const schedule::Schedule& schedule, plan::LoweredPlan& plan) const;
  void record_plan(const schedule::Schedule& schedule, plan::LoweredPlan& plan) const;
  void say_setup_times(schedule::Collective collective, const HostCommunicator& host);

  Membership& members_;
  Connections& connections_;
  const CallChoices& choices_;
  DirectCalls& direct_;
  std::array<Prospect, collective_count> prospects_;
  std::optional<topology::Topology> left_;
  bool links_gone_ = false;
  std::optional<ChangedFabric> changed_;                              ///< on rank 0
  std::array<std::optional<plan::PlanPair>, collective_count> made_;  ///< on rank 0, by make(), until they are adopted
  observe::SetupTimes times_;                                         ///< since a plan was last adopted
  std::optional<schedule::Schedule> small_;  ///< on rank 0, between the usual plan's announcement and its own
  std::int64_t small_up_to_ = 0;             ///< on rank 0, of the small plan that was last announced
  /// On rank 0, of the plan for one root that was last announced.
  struct OneRoot {
    std::int64_t from_bytes;
    schedule::OneRootTime time;
  };
  OneRoot one_root_{};
};

}  // namespace libcoll::comm
