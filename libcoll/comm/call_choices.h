// What tables and the cost model say of a communicator's calls.
#pragma once

#include <cstdint>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/comm/membership.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/select/tuning_table.h"

namespace libcoll {

/// How a call is to go: as its size and the choices say, or one way for a trial.
enum class Protocol : std::uint8_t { chosen, directly, scattered, planned };

/// The call of equal blocks that a collective serves.
CallKind call_of(Collective collective);

class CallChoices {
 public:
  explicit CallChoices(Membership& members) : members_(members) {}

  /// For a duplicate: what is said of the original's calls.
  void inherit(const CallChoices& original);
  /// What the tuning table says of communicators of this size.
  void learn_table();
  /// How calls go from now on, where the tuning table says nothing; equal on all ranks. Between calls. `order_matters`:
  /// of reductions whose bits depend on the way; otherwise of all other calls.
  void add(const std::vector<TuningChoice>& choices, bool order_matters);
  /// What these say of calls of a size, and what the tuning table says; null: nothing.
  [[nodiscard]] const TuningChoice* modelled(CallKind call, std::int64_t bytes, bool order_matters) const {
    return (order_matters ? by_facts_ : by_measurement_).chosen.find(call, bytes);
  }
  [[nodiscard]] const TuningChoice* tuned(CallKind call, std::int64_t bytes) const { return tuned_.find(call, bytes); }
  /// Planners that the tuning table names.
  [[nodiscard]] std::vector<PlannerName> planners(Collective collective) const {
    return tuned_.algorithms(call_of(collective));
  }

  /// The same on all ranks: what becomes of the call where calls that are short enough can go from rank to rank, or
  /// cannot.
  [[nodiscard]] Protocol select(const Call& call, bool can_go_direct) const;
  /// How long segments are where no choice says otherwise: as configured, and longer where all messages go through
  /// memory of one host. The same on all ranks.
  [[nodiscard]] std::int64_t segment_bytes() const;
  /// The same on every rank between the same two of their calls.
  [[nodiscard]] Tuning tuning_for(const Call& call) const;
  /// Of a call of one size.
  [[nodiscard]] const LoweredPlanPointer& chosen_plan(const Call& call, const Plans& plans) const;

 private:
  /// The cost model's.
  struct Modelled {
    TuningTable table;
    ChoicesByCall chosen;  ///< the same
  };

  /// What is said of a call; null when nothing is.
  [[nodiscard]] const TuningChoice* choice_for(const Call& call) const;

  Membership& members_;
  Modelled by_measurement_;
  Modelled by_facts_;  ///< of reductions whose order matters
  ChoicesByCall tuned_;
};

}  // namespace libcoll
