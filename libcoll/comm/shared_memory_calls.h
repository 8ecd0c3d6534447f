// A communicator's blocking calls that need no messages, where all its ranks share memory.
#pragma once

#include <array>
#include <cstdint>

#include "libcoll/base/calls.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/progress_engine.h"
#include "libcoll/execute/call.h"
#include "libcoll/node/call_phases.h"
#include "libcoll/node/node_memory.h"

namespace libcoll::comm {

/// Short calls go by ShortExchange, and longer ones by SingleCopy where the ranks can read each other's memory.
class SharedMemoryCalls {
 public:
  explicit SharedMemoryCalls(Membership& members) : members_(members) {}

  /// Which calls go this way, once the ranks have agreed on the memory: within a node all, of nodes on one host
  /// those whose way the cost model chooses.
  void learn_settings();
  /// For a copy.
  void inherit(const SharedMemoryCalls& original) { may_go_ = original.may_go_; }

  // The same on all ranks.
  /// Whether a call goes this way where nothing else is chosen, and whether it is a short one.
  [[nodiscard]] bool serves(const execute::Call& call) const { return serves_short(call) || serves_long(call); }
  [[nodiscard]] bool serves_short(const execute::Call& call) const;
  /// Of a blocking call that can go this way as well as in stages: which of the two is faster is found out. Null: it
  /// cannot.
  [[nodiscard]] node::CopyChoice* choice_for(const execute::Call& call) const;
  /// A call that has such a choice begins; serves() says then which way it goes.
  void begin_choice(node::CopyChoice& choice, const execute::Call& call) const;
  /// Whether any other goes in stages through the same memory, though the ranks count as nodes: if so, all of the kind.
  [[nodiscard]] bool serves_in_stages(const execute::Call& call) const;
  [[nodiscard]] bool has_stages(CallKind kind) const;
  /// Most bytes of a vector or block in short calls of the collective; 0: there are none.
  [[nodiscard]] std::int64_t most_short_bytes(schedule::Collective collective) const;

  /// Precondition: serves(call). False when another rank gave up, or gave no sign of life for the configured time, or
  /// memory could not be read.
  bool run(const execute::Call& call, ProgressHook hook);
  /// After a call that was good, as Driven has it.
  [[nodiscard]] bool lengths_differ() const { return lengths_differ_; }

 private:
  /// Null where such calls do not go this way.
  [[nodiscard]] node::NodeMemory* memory_for(CallKind kind) const;
  [[nodiscard]] bool serves_long(const execute::Call& call) const;
  bool run_short(node::ShortExchange& exchange, const execute::Call& call, ProgressHook hook);
  bool run_long(node::SingleCopy& copies, node::CallPhases& phases, const execute::Call& call, ProgressHook hook);
  /// Until all ranks have come to the phase.
  bool wait(node::CallPhases& phases, schedule::Collective collective, ProgressHook hook);

  Membership& members_;
  std::array<bool, call_count> may_go_{};
  bool lengths_differ_ = false;
};

}  // namespace libcoll::comm
