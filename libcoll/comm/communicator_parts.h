// What a communicator consists of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "libcoll/comm/call_choices.h"
#include "libcoll/comm/call_queue.h"
#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/connections.h"
#include "libcoll/comm/direct_calls.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/plan_sequence.h"
#include "libcoll/comm/recovery.h"
#include "libcoll/comm/renewal.h"
#include "libcoll/comm/shared_memory_calls.h"

namespace libcoll::comm {

/// Each knows those before it.
struct CommunicatorParts {
  /// `keeper`: what keeps them; null while the communicator is being made.
  CommunicatorParts(Runtime& runtime, std::string name, const std::function<std::shared_ptr<void>()>& keeper)
      : members(runtime, std::move(name)),
        recovery(members, plans, sequence, keeper),
        renewal(members, plans, recovery, sequence, keeper) {}
  /// Of a copy. Under the runtime's lock.
  CommunicatorParts(const CommunicatorParts& original, const std::function<std::shared_ptr<void>()>& keeper)
      : members(original.members),
        recovery(members, plans, sequence, keeper),
        renewal(members, plans, recovery, sequence, keeper) {
    queue.inherit(original.queue);
    choices.inherit(original.choices);
    direct.inherit(original.direct);
    shared_memory.inherit(original.shared_memory);
    plans.inherit(original.plans);
  }

  Membership members;
  Connections connections{members};
  CallQueue queue{members};
  CallChoices choices{members};
  DirectCalls direct{members, connections, queue};
  SharedMemoryCalls shared_memory{members};
  CommunicatorPlans plans{members, connections, choices, direct};
  PlanSequence sequence;
  Recovery recovery;
  Renewal renewal;
};

}  // namespace libcoll::comm
