// Time-stepped max concurrent flow (paper 003 §3.1.3, (15)–(20)): what crosses which link in which step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/flow/link_classes.h"
#include "planner/planner.h"
#include "planner/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// A path through the time-expanded graph: links[i] is crossed in step steps[i] (1, 2, …, ascending); the data waits
/// where steps leave gaps. No node is met twice.
struct TimedPath {
  std::vector<LinkId> links;
  std::vector<std::int32_t> steps;
  double weight = 0;
};

/// All timed paths of one pair; weights sum to 1.
struct TimedPair {
  NodeId source = 0;
  NodeId destination = 0;
  std::vector<TimedPath> paths;
};

/// `load` = Σ_t U_t, the least there is for this number of steps: the time of synchronous steps in shards per unit
/// capacity. `pairs` are those of rows.sources.
struct TimeSteppedFlow {
  double load = 0;
  std::vector<TimedPair> pairs;
};

/// What a step's largest load U_t is taken over: the classes of links, and, where injection is a bottleneck
/// (Fig. 2), classes of hosts with all they send and all they receive in the step.
LinkClasses step_rows(const Topology& topology, LinkClasses classes);

/// (15)–(20), grouped by source as (6)–(9) group (1)–(5): the flow of a source through the time-expanded graph ends in
/// the demands at its hosts at the last step. `demand` and `seconds` as solve_master_lp. Error when some host is
/// farther away than `steps`, when time is up or the solver gives up.
Result<TimeSteppedFlow> solve_time_stepped(const Topology& topology, const LinkClasses& rows, std::int32_t steps,
                                           std::span<const double> demand, double seconds);

/// "ts-mcf": link-based, hosts store and forward, real steps: options.steps, or the smallest number whose Σ U_t is
/// within 1 % of the fluid bound (from the diameter to twice the diameter and two more; where none is, the one of least
/// Σ U_t). Whole chunks follow by negotiation on links and steps. In the proof, flow is 1/max_link_load and the bound
/// is that of any number of steps. figures.more: "stepped_load" (Σ U_t of the LP), "stepped_load_chunks" (of the
/// schedule), "loss_steps" (of the rate, through steps) and "loss_chunking". Errors as checked_network and
/// solve_time_stepped; switches are refused. When the time limit is hit, the plan has the steps solved so far, and if
/// none, shortest paths.
Result<Schedule> plan_ts_mcf(const Topology& topology, const PlanOptions& options);

}  // namespace libcoll
