// Time-stepped max concurrent flow (paper 003 §3.1.3, (15)–(20)): what crosses which link in which step.
#pragma once

#include <cstdint>
#include <span>

#include "planner/base/result.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/flow/timed_paths.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// What a step's largest load U_t is taken over: the classes of links, and, where injection is a bottleneck
/// (Fig. 2), classes of hosts with all they send and all they receive in the step.
problem::LinkClasses step_rows(const topology::Topology& topology, problem::LinkClasses classes);

/// (15)–(20), grouped by source as (6)–(9) group (1)–(5): the flow of a source through the time-expanded graph ends in
/// the demands at its hosts at the last step, with the least Σ U_t there is for so many steps. `demand` and `seconds`
/// as solve_master_lp. Error when some host is farther away than `steps`, when time is up or the solver gives up.
Result<TimeSteppedFlow> solve_time_stepped(const topology::Topology& topology, const problem::LinkClasses& rows,
                                           std::int32_t steps, std::span<const double> demand, double seconds);

/// "ts-mcf": link-based, hosts store and forward, real steps: options.steps, or the smallest number whose Σ U_t is
/// within 1 % of the fluid bound (from the diameter to twice the diameter and two more; where none is, the one of least
/// Σ U_t). Whole chunks follow by negotiation on links and steps. In the proof, flow is 1/max_link_load and the bound
/// is that of any number of steps. figures.more: "stepped_load" (Σ U_t of the LP), "stepped_load_chunks" (of the
/// schedule), "loss_steps" (of the rate, through steps) and "loss_chunking". Errors as checked_network and
/// solve_time_stepped; switches are refused. When the time limit is hit, the plan is the best of the steps solved so
/// far and of the paths of a link MCF put in time (paths_in_time), and if there are none, shortest paths.
Result<schedule::Schedule> plan_ts_mcf(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow
