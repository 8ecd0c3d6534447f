// The calls of a communicator that are under way: their order, their numbers and their memory.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "libcoll/comm/call_rounds.h"
#include "libcoll/comm/membership.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/execution.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/lowered_plan.h"

namespace libcoll::comm {

/// A call whose rounds are numbered in the order in which the calls begin.
class QueuedCall {
 public:
  /// Whether all of its rounds have numbers, and whether it is settled what plan it goes by, and so how many they are.
  [[nodiscard]] virtual bool is_numbered() const = 0;
  [[nodiscard]] virtual bool is_settled() const = 0;
  /// Whether the round that it is at has a number, and the number.
  [[nodiscard]] virtual bool has_number() const = 0;
  [[nodiscard]] virtual std::uint32_t number() const = 0;
  /// Gives numbers to the rounds that it is known to have, from `next` on, which comes to be the one after them.
  virtual void take_numbers(std::uint32_t& next) = 0;
  /// Null: it is not a start of a persistent call, whose rounds are numbered by themselves.
  [[nodiscard]] virtual PersistentContext* persistent() const = 0;

 protected:
  ~QueuedCall() = default;
};

/// What one round of a call under way needs; kept for the next one.
struct Flight {
  std::shared_ptr<const execute::TaskGraph> task_graph;
  execute::Tuning tuning;
  execute::Workspace workspace;
  std::optional<execute::Execution> execution;
};

/// All members are to be called under the runtime's lock.
class CallQueue {
 public:
  explicit CallQueue(Membership& members) : members_(members) {}

  /// For a copy, which goes by the same plans: the task graphs that there are.
  void inherit(const CallQueue& original) { task_graphs_ = original.task_graphs_; }

  void enter(QueuedCall& call);
  /// Gives numbers to the rounds of calls under way, as far as it is known how many those before them have.
  void number_calls();
  /// Whether its next round may begin.
  [[nodiscard]] bool admits(const QueuedCall& call) const;
  void leave(const QueuedCall& call) noexcept;
  /// The number of a round of a call that is not in the queue.
  std::uint32_t take_number() { return next_++; }
  /// The same where its tags do not repeat those of a call that is still under way.
  std::optional<std::uint32_t> take_number_in_turn();
  [[nodiscard]] std::uint32_t next_number() const { return next_; }

  std::unique_ptr<Flight> prepare(const execute::Call& call, const plan::LoweredPlanPointer& plan,
                                  const Portion& portion, const execute::Tuning& tuning, transport::TagSpace tags);
  void keep(std::unique_ptr<Flight> flight);

 private:
  struct CachedTaskGraph {
    plan::LoweredPlanPointer plan;
    execute::Shape shape;
    std::int64_t segment_bytes;
    std::shared_ptr<const execute::TaskGraph> task_graph;
  };

  std::shared_ptr<const execute::TaskGraph> task_graph_for(const plan::LoweredPlanPointer& plan,
                                                           const execute::Shape& shape, const execute::Tuning& tuning);
  [[nodiscard]] execute::Pace pace_of(const plan::LoweredPlan& plan, const execute::Shape& shape) const;

  Membership& members_;
  std::uint32_t next_ = 0;              ///< rounds that were numbered so far
  std::vector<QueuedCall*> under_way_;  ///< in the order of their beginnings
  std::vector<std::unique_ptr<Flight>> idle_flights_;
  std::list<CachedTaskGraph> task_graphs_;  ///< most recently used first
};

}  // namespace libcoll::comm
