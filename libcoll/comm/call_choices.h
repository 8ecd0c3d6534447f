// How a communicator's calls go, as its selection table says.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/comm/membership.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/select/selection_table.h"

namespace libcoll::comm {

/// How a call is to go: as its size and the choices say, or one way for a trial.
enum class Protocol : std::uint8_t { chosen, directly, scattered, planned };

/// The call of equal blocks that a collective serves.
CallKind call_of(schedule::Collective collective);
/// The same of a call, of unequal blocks or with one root where it is such a one.
CallKind call_of(const execute::Call& call);

class CallChoices {
 public:
  explicit CallChoices(Membership& members) : members_(members) {}

  /// For a copy: what is said of the original's calls.
  void inherit(const CallChoices& original);
  /// What settings and the tuning table say, once the ranks are known.
  void learn_settings();
  /// How calls go from now on, where nothing stronger says so; equal on all ranks. Between calls.
  void add(select::RowSource source, const std::vector<select::TuningChoice>& choices);
  void add(select::RowSource source, const std::vector<select::TuningChoice>& choices, bool order_matters);
  [[nodiscard]] const select::SelectionTable& table() const { return *table_; }
  /// Whether rows of such calls, as those of learned_rows.h, were looked for.
  [[nodiscard]] bool has_learned(CallKind call, bool order_matters) const {
    return learned_[order_matters ? 1 : 0][static_cast<std::size_t>(call)];
  }
  /// Whether they were not, until now.
  bool begins_learning(CallKind call, bool order_matters);

  /// The same on all ranks: what becomes of the call where calls that are short enough can go from rank to rank, or
  /// cannot.
  [[nodiscard]] Protocol select(const execute::Call& call, bool can_go_direct) const;
  /// How long segments are where no choice says otherwise: as configured, and longer where all messages go through
  /// memory of one host. The same on all ranks.
  [[nodiscard]] std::int64_t segment_bytes(schedule::Collective collective) const;
  /// The same on every rank between the same two of their calls.
  [[nodiscard]] execute::Tuning tuning_for(const execute::Call& call) const;
  /// Of a call of one size.
  [[nodiscard]] const plan::LoweredPlanPointer& chosen_plan(const execute::Call& call, const plan::Plans& plans) const;

 private:
  /// What is said of a call of equal blocks; null of others.
  [[nodiscard]] const select::SelectionRow* row_for(const execute::Call& call) const;

  Membership& members_;
  std::shared_ptr<const select::SelectionTable> table_ =
      std::make_shared<const select::SelectionTable>();  ///< copies have it, too
  std::array<std::array<bool, call_count>, 2> learned_{};
};

}  // namespace libcoll::comm
