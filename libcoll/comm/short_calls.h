// A communicator's short calls, where all its ranks share memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "libcoll/comm/membership.h"
#include "libcoll/comm/progress_engine.h"
#include "libcoll/execute/call.h"
#include "libcoll/node/short_exchange.h"

namespace libcoll::comm {

class ShortCalls {
 public:
  explicit ShortCalls(Membership& members) : members_(members) {}

  /// Which collectives go this way, once the ranks have agreed on the memory: within a node all, of nodes on one host
  /// those whose way the cost model chooses.
  void learn_settings();
  /// For a copy.
  void inherit(const ShortCalls& original) { may_go_ = original.may_go_; }

  // The same on all ranks: whether a blocking call goes this way where nothing else is chosen, and most bytes of a
  // vector or block in such calls of the collective (0: there are none).
  [[nodiscard]] bool serves(const execute::Call& call) const {
    return may_go(call.collective) && exchange_memory()->fits(call);
  }
  [[nodiscard]] std::int64_t most_bytes(schedule::Collective collective) const;

  /// Precondition: serves(call). False when another rank gave up, or gave no sign of life for the configured
  /// time.
  bool exchange(const execute::Call& call, ProgressHook hook);
  /// After an exchange that was good, as Driven has it.
  [[nodiscard]] bool lengths_differ() const { return lengths_differ_; }

 private:
  [[nodiscard]] bool may_go(schedule::Collective collective) const {
    return may_go_[static_cast<std::size_t>(collective)] && exchange_memory() != nullptr;
  }
  [[nodiscard]] node::ShortExchange* exchange_memory() const;
  bool wait(node::ShortExchange& memory, schedule::Collective collective, ProgressHook hook);

  Membership& members_;
  std::array<bool, collective_count> may_go_{};
  bool lengths_differ_ = false;
};

}  // namespace libcoll::comm
