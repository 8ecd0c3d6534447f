// Fully polynomial approximation of max concurrent flow (Garg and Könemann 2007, Fleischer 2000), a baseline.
#pragma once

#include <span>

#include "planner/base/result.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::baseline {

/// Phases in which each source sends its demands along shortest-path trees over lengths that grow by a factor
/// 1 + ε·(load/capacity); the flow of all phases together, scaled, is the plan. Ends when the certified gap is at most
/// `gap`, when the lengths say that it is within the scheme's own promise, or at the deadline, but not before the first
/// phase. Preconditions: hosts reach each other, 0 < epsilon < 1.
lowering::ConcurrentFlow approximate_flow(const topology::Topology& topology, std::span<const double> demand,
                                          double epsilon, double gap, const Deadline& deadline);

/// "fptas": routes from approximate_flow with options.epsilon (0.05, as the paper's comparison) and options.gap
/// (epsilon); lowering and errors as lower_to_routes and checked_network.
Result<schedule::Schedule> plan_fptas(const topology::Topology& topology, const registry::PlanOptions& options);

/// The plan other methods fall back on when their time is over: that of max_concurrent_flow to 5 %, which takes little,
/// or with a demand one phase, or more as the deadline allows. `method` says so.
lowering::FluidPlan plan_in_haste(problem::InjectionNetwork network, const registry::PlanOptions& options,
                                  const Deadline& deadline);

}  // namespace libcoll::flow::baseline
