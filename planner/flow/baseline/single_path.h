// All-to-all over one route per pair: what a fabric's own routing allows, as the opponent of mcf-path.
#pragma once

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::baseline {

/// "sssp" and "dor": the block of each pair is one chunk on the pair's route (sssp_routes, dor_routes), all at step 1,
/// all in route class 1. The flow of the proof is what these routes reach, 1/max_link_load, where max_link_load counts
/// what hosts inject as a link if that is the bottleneck; its upper bound is tightest_bound's. bandwidth_time =
/// d/N·max_link_load and bandwidth_bound = d/N·(certified least load) in M/B. Of the options, only `schedule` counts.
/// Errors are those of the routes.
Result<schedule::Schedule> plan_sssp(const topology::Topology& topology, const registry::PlanOptions& options);
Result<schedule::Schedule> plan_dor(const topology::Topology& topology, const registry::PlanOptions& options);

/// "sssp-rerouted", a plan to fall back to: there long before a max concurrent flow, on any topology. The routes of
/// sssp in four layers, or options.max_layers: those that do not fit, or cross the fullest links, take other ways by
/// reroute_into_layers, better ones as long as options.time_limit_seconds lasts. Where pairs are left without a way the
/// layers are those that LASH needs.
Result<schedule::Schedule> plan_sssp_rerouted(const topology::Topology& topology, const registry::PlanOptions& options);

}  // namespace libcoll::flow::baseline
