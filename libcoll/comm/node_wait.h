// How a call waits for other ranks of its node, in memory that they share.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "libcoll/comm/progress_engine.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/node/phases.h"

namespace libcoll::comm {

/// Moves messages along meanwhile, and warns when the wait is long. Of one call.
class NodeWait {
 public:
  /// `in_words` says for a person which call it is and whom it waits for; it is asked under the runtime's lock.
  NodeWait(Runtime& runtime, ProgressHook hook, std::function<std::string()> in_words);
  NodeWait(const NodeWait&) = delete;
  NodeWait& operator=(const NodeWait&) = delete;

  /// As Phases::wait(), and false when the call waits in vain. `has_messages`: others wait for messages that this rank
  /// has to look after. Not under the lock.
  bool wait(node::Phases& phases, node::Awaited awaited, bool has_messages);

 private:
  /// False when the call waits in vain.
  bool look_after_others();

  Runtime& runtime_;
  const ProgressHook hook_;
  const std::function<std::string()> in_words_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const std::function<bool()> other_things_;
  bool told_ = false;
};

}  // namespace libcoll::comm
