// Plans for communicators that cover a part of the fabric only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/plan/default_plan.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::default_plan {

/// Plans for the hosts of part_of(), by a planner of `table`; an empty name takes the best of several: breadth-first
/// broadcast or the flow on links among the hosts alone, where they are connected; MultiTree, ForestColl (which is left
/// out for large parts that others can plan) or single paths through the routers. Best is the least T_B, and among
/// equals what goes through no router, as other parts of the fabric are busy with collectives of their own as a rule. A
/// planner that is named may plan either way, whichever is better. Where none is named, allgather, reduce-scatter and
/// allreduce get a plan for small vectors beside that: of the others that were made the one of least T_L.
///
/// Nobody steers messages of a part: a route binding is for the routes of the whole fabric. So whatever the planner's
/// routes are, the schedule's are the shortest paths of default routing (SSSP, class 0), and loads, T_B and F are those
/// that result. Bounds are those of any routing. Error when no planner succeeds: what each of them says.
Result<DefaultPlans> plan_part(std::span<const registry::Planner> table, const topology::Topology& part,
                               schedule::Collective collective, std::string_view algorithm,
                               const registry::PlanOptions& options);

/// Names of the planners that plan_part() tries; an empty one is the first of the collective.
std::vector<std::string> part_planners(const topology::Topology& part, schedule::Collective collective,
                                       std::string_view algorithm);

/// The same transfers on default routes (above), with the proof that belongs to them; the bounds stay. Precondition:
/// the schedule has transfers, and its hosts reach each other.
Result<schedule::Schedule> on_default_routes(schedule::Schedule schedule);

}  // namespace libcoll::default_plan
