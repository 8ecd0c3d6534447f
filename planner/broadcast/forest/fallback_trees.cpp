#include "planner/broadcast/forest/fallback_trees.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bfb/bfb.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/classic/bidirectional_ring.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/broadcast/classic/ring.h"
#include "planner/broadcast/classic/rooted_trees.h"
#include "planner/broadcast/forest/multitree.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::forest {

using namespace bfb;
using namespace bound;
using namespace classic;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

/// Who sends a shard of one chunk on need not wait for the others of the step it came in.
void advance(Pattern& pattern, std::int32_t hosts) {
  std::vector<std::int32_t> arrival(at(hosts) * at(hosts), 0);  // by shard and host; transfers come in order of steps
  pattern.steps = 0;
  for (Transfer& transfer : pattern.transfers) {
    const std::size_t shard = at(transfer.shard) * at(hosts);
    transfer.step = arrival[shard + at(transfer.from)] + 1;
    arrival[shard + at(transfer.to)] = transfer.step;
    pattern.steps = std::max(pattern.steps, transfer.step);
  }
}

void pipeline(Schedule& schedule) {
  schedule.pipelined = true;
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
}

Result<Schedule> by_pattern(AllgatherPattern make, const Topology& topology, const PlanOptions& options) {
  Result<Pattern> pattern = make(topology, options);
  if (!pattern) return pattern.error();
  if (pattern->chunks_per_shard == 1) advance(*pattern, topology.host_count());
  return on_links_and_routes(topology, Collective::allgather, "", std::move(pattern).value());
}

Result<Schedule> quick_ring(const Topology& topology, const PlanOptions& options) {
  return by_pattern(ring_pattern, topology, options);
}

Result<Schedule> quick_bidirectional_ring(const Topology& topology, const PlanOptions& options) {
  return by_pattern(bidirectional_ring_pattern, topology, options);
}

Result<Schedule> quick_multitree(const Topology& topology, const PlanOptions& options) {
  return by_pattern(multitree_pattern, topology, options);
}

struct Candidate {
  std::string_view method;
  Result<Schedule> (*make)(const Topology& topology, const PlanOptions& options);
};

constexpr std::array candidates = {Candidate{"ring", quick_ring}, Candidate{"bfb", plan_bfb_allgather},
                                   Candidate{"bidirectional-ring", quick_bidirectional_ring},
                                   Candidate{"multitree", quick_multitree}};

}  // namespace

Result<QuickPlan> quick_allgather(const Topology& topology, const Rational& least_load, const PlanOptions& options,
                                  const Deadline& deadline) {
  if (Status status = check_connected(topology); !status) return status.error();
  PlanOptions wanted = options;
  wanted.figures = nullptr;
  std::optional<QuickPlan> best;
  for (const Candidate& candidate : candidates) {
    if (best && (deadline.passed() || best->schedule.proof.max_link_load <= least_load)) break;
    wanted.time_limit_seconds = deadline.remaining();
    Result<Schedule> schedule = candidate.make(topology, wanted);
    if (!schedule) {
      if (!best) return schedule.error();
      continue;
    }
    if (best && options.max_chunks > 0 && schedule->chunks_per_shard > options.max_chunks) continue;
    if (best && best->schedule.proof.max_link_load <= schedule->proof.max_link_load) continue;
    pipeline(*schedule);
    best = QuickPlan{std::move(schedule).value(), candidate.method};
  }
  return *std::move(best);
}

Result<QuickPlan> quick_broadcast(const Topology& topology, const PlanOptions& options) {
  if (Status status = check_connected(topology); !status) return status.error();
  if (Status status = check_root(topology, options.root); !status) return status.error();
  QuickPlan plan{
      on_links_and_routes(topology, Collective::broadcast, "", chain_pattern(topology, options.root), options.root),
      "pipelined-chain"};
  pipeline(plan.schedule);
  return plan;
}

}  // namespace libcoll::broadcast::forest
