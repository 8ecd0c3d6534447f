// A communicator's short calls, where all its ranks are on one node.
#pragma once

#include <cstdint>

#include "libcoll/comm/membership.h"
#include "libcoll/comm/progress_engine.h"
#include "libcoll/execute/call.h"
#include "libcoll/node/short_exchange.h"

namespace libcoll::comm {

class ShortCalls {
 public:
  explicit ShortCalls(Membership& members) : members_(members) {}

  /// Whether a blocking call goes this way. The same on all ranks.
  [[nodiscard]] bool serves(const execute::Call& call) const {
    const node::ShortExchange* const memory = exchange_memory();
    return memory != nullptr && memory->fits(call);
  }
  /// Whether any call goes this way. The same on all ranks.
  [[nodiscard]] bool are_possible() const { return exchange_memory() != nullptr; }

  /// Precondition: serves(call). False when a rank of the node gave up, or gave no sign of life for the configured
  /// time.
  bool exchange(const execute::Call& call, ProgressHook hook);
  /// After an exchange that was good, as Driven has it.
  [[nodiscard]] bool lengths_differ() const { return lengths_differ_; }

 private:
  [[nodiscard]] node::ShortExchange* exchange_memory() const;
  bool wait(node::ShortExchange& memory, schedule::Collective collective, ProgressHook hook);

  Membership& members_;
  bool lengths_differ_ = false;
};

}  // namespace libcoll::comm
