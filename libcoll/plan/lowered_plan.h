// A collective's plan as one rank runs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/base/planner_name.h"
#include "libcoll/plan/pair_loads.h"
#include "libcoll/plan/plan_links.h"
#include "libcoll/transport/transport.h"
#include "planner/schedule/one_root_time.h"
#include "planner/schedule/program.h"

namespace libcoll::plan {

/// Does not change any more once calls go by it. They keep it until they are over, for another may take its place
/// meanwhile.
struct LoweredPlan {
  std::string algorithm;  ///< its planner's name
  schedule::Program program;
  std::vector<transport::PeerId> peers;  ///< by route class and node
  bool forwards = false;      ///< all-to-all: blocks pass through ranks that are neither source nor destination
  bool through_nics = false;  ///< some message crosses several links
  /// Predicted time of one byte of every shard, where messages are steered; 0 elsewhere.
  double nanoseconds_per_shard_byte = 0;
  PlanLinks links;                                ///< with a record
  std::optional<schedule::OneRootTime> one_root;  ///< of a plan for one root: decides how its messages are cut
  // These two of an all-to-all that calls of unequal blocks may leave for one by way of all nodes.
  std::shared_ptr<LoweredPlan> spread;  ///< that one; null: it is not wanted
  PairLoads loads;
};

using LoweredPlanPointer = std::shared_ptr<const LoweredPlan>;

/// What calls of one collective go by, the same on every rank.
struct Plans {
  LoweredPlanPointer usual;
  std::vector<std::pair<PlannerName, LoweredPlanPointer>> named;  ///< of planners that the tuning table names
  LoweredPlanPointer small;                                       ///< of fewer steps and more T_B; null: none
  std::int64_t small_up_to = 0;    ///< bytes of the vectors that take it where no planner is named
  LoweredPlanPointer one_root;     ///< of calls in which one rank has, or gets, everything; null: none
  std::int64_t one_root_from = 0;  ///< bytes of the vectors that take it

  /// The usual one where there is none by that name.
  [[nodiscard]] const LoweredPlanPointer& by(const PlannerName& algorithm) const {
    const auto found =
        std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == algorithm; });
    return found == named.end() ? usual : found->second;
  }
};

}  // namespace libcoll::plan
