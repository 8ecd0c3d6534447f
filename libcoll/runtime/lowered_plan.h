// A collective's plan as one rank runs it.
#pragma once

#include <memory>
#include <vector>

#include "libcoll/runtime/plan_links.h"
#include "libcoll/transport/transport.h"
#include "planner/schedule/program.h"

namespace libcoll {

/// Does not change any more once calls go by it. They keep it until they are over, for another may take its place
/// meanwhile.
struct LoweredPlan {
  Program program;
  std::vector<PeerId> peers;  ///< by route class and node
  bool forwards = false;      ///< all-to-all: blocks pass through ranks that are neither source nor destination
  bool through_nics = false;  ///< some message crosses several links
  /// Predicted time of one byte of every shard, where messages are steered; 0 elsewhere.
  double nanoseconds_per_shard_byte = 0;
  PlanLinks links;  ///< with a record
};

using LoweredPlanPointer = std::shared_ptr<const LoweredPlan>;

}  // namespace libcoll
