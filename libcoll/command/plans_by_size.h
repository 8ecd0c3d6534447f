// Which plan serves which sizes of a collective, for `libcoll info --plans`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

/// A plan, the vectors that it serves, and the facts that the boundary follows from.
struct SizedPlan {
  std::string algorithm;
  std::optional<std::int64_t> up_to_bytes;  ///< of the whole vector; nothing: all above the plan before
  std::int32_t steps = 0;
  schedule::LockstepTime time;  ///< T_L, by the links' latencies, and T_B / B
  Rational bandwidth_time;
};

/// By size; empty where calls are left to MPI by a setting.
struct PlansOfCollective {
  schedule::Collective collective = schedule::Collective::allgather;
  std::string setting;  ///< "auto", "native" or a planner's name
  std::vector<SizedPlan> plans;
};

/// What a job on these hosts of the topology has for allreduce, allgather and reduce-scatter. As in a job, plans come
/// from the cache, or are made and kept there. `nodes` as parse_node_ranges() takes them; empty: the whole topology.
/// Errors: the nodes are wrong; there is no plan, for a reason that PlanSource tells.
Result<std::vector<PlansOfCollective>> plans_by_size(const topology::Topology& topology, const std::string& nodes,
                                                     const Config& config);

Json plans_by_size_json(const topology::Topology& topology, const std::string& nodes,
                        const std::vector<PlansOfCollective>& collectives);
std::string plans_by_size_text(const topology::Topology& topology, const std::string& nodes,
                               const std::vector<PlansOfCollective>& collectives);

}  // namespace libcoll::command
